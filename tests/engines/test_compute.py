"""Do the options of a run leave its numbers as they are?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.engines.compute import Compute
from headcount.errors import InvalidOption
from tests import planted


@pytest.mark.parametrize("compute", [Compute(batch_tokens=9), Compute(memory="50MB"), Compute(memory=10**8)])
def test_the_numbers_stay(compute: Compute, tmp_path: Path) -> None:
    tokenizer, texts = planted.tokenizer(tmp_path), planted.texts(12)
    plain, found = (
        hc.sweep(planted.classifier(), tokenizer, texts, task="sst2", compute=given) for given in (None, compute)
    )
    np.testing.assert_allclose(found["logits"], plain["logits"], atol=1e-6)
    assert plain.attrs["how"] == "zero", "the same default in every verb"


@pytest.mark.parametrize("verb", ["measure", "compare", "find_patterns", "importance"])
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (Compute(memory="1GB"), "got memory=, which has no effect here: only sweeps repeat"),
        (Compute(compiled=True), "got compiled=, which has no effect here: only sweeps run"),
        (Compute(shard="1/2"), "got shard=, which has no effect without out="),
        (Compute(shard="5/4"), "got the shard '5/4'; expected i/n"),
        (Compute(batch_tokens=0), "got batch_tokens=0; expected at least 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    verb: str, compute: Compute, expected: str, tmp_path: Path
) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer")
    models = (model, model) if verb == "compare" else (model,)
    more: dict[str, Any] = {"task": "sst2"} if verb == "importance" else {"text": "sentence"}
    out = None if "without out=" in expected else tmp_path / "study"
    with pytest.raises(InvalidOption) as caught:
        getattr(hc, verb)(*models, tokenizer, planted.texts(8), compute=compute, out=out, **more)
    assert str(caught.value).startswith(expected)
    assert not (tmp_path / "study").exists()
