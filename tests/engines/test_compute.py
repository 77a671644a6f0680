"""Do the options of a run leave its numbers as they are?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.engines.compute import Compute
from tests import planted


@pytest.mark.parametrize("compute", [Compute(batch_tokens=9), Compute(memory="50MB"), Compute(memory=10**8)])
def test_the_numbers_stay(compute: Compute, tmp_path: Path) -> None:
    tokenizer, texts = planted.tokenizer(tmp_path), planted.texts(12)
    plain, found = (
        hc.sweep(planted.classifier(), tokenizer, texts, task="sst2", compute=given) for given in (None, compute)
    )
    np.testing.assert_allclose(found["logits"], plain["logits"], atol=1e-6)
    assert plain.attrs["how"] == "zero", "the same default in every verb"
