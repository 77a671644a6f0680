"""Probing on a GPU gives what it gives on a CPU; classifiers train there too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from tests.gpu.device import DEVICE, GPU
from tests.measures.tiny import masked
from tests.probing.documents import documents
from tests.probing.framebank import frames
from tests.probing.treebank import sentences

pytestmark = GPU

DATA: dict[str, Callable[[], pd.DataFrame]] = {"dependencies": sentences, "coreference": documents, "frames": frames}


@pytest.mark.parametrize("kind", DATA)
def test_single_heads(kind: str) -> None:
    """In float64, so that no tie between two words is broken by rounding."""
    model, tokenizer = masked()
    model.double()
    expected = hc.probe(model, tokenizer, DATA[kind](), kind=kind)
    probed = hc.probe(model.to(DEVICE), tokenizer, DATA[kind](), kind=kind)
    for name in [str(name) for name in expected.data_vars if str(name).startswith("values_")]:
        np.testing.assert_allclose(probed[name].values, expected[name].values, atol=1e-6, err_msg=name)
    assert probed["best_head"].values.tolist() == expected["best_head"].values.tolist()


def test_classifiers() -> None:
    """Training rounds differently on another device: scores agree, not bits."""
    model, tokenizer = masked()
    options = {"kind": "classifiers", "seeds": 1, "control": False}
    expected = hc.probe(model, tokenizer, sentences(), **options)
    probed = hc.probe(model.to(DEVICE), tokenizer, sentences(), **options)
    np.testing.assert_allclose(probed["uas"].values, expected["uas"].values, atol=0.05)
