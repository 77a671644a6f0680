from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headcount.measures import copying
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.logit_cases import TEXTS, decoder, take_apart
from tests.measures.planted_decoder import ROLES, planted_decoder
from tests.measures.test_direct_effect import FAMILIES, WITHIN
from tests.measures.test_induction import at, repeated


@pytest.mark.parametrize("name", FAMILIES)
def test_is_the_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a padded batch, few tokens at a time; Llama with grouped keys and values."""
    monkeypatch.setattr(copying, "TOKENS", 5)
    model, tokenizer = decoder(name)
    found = measure(model, tokenizer, pd.DataFrame({"text": TEXTS}), only="copying")["copying"]
    for row, text in enumerate(TEXTS):
        parts = take_apart(model, tokenizer, text)
        expected = naive.copying(parts.maps, parts.values, parts.projections, parts.reader, parts.ids)
        for variable, values in expected.items():
            given = found[f"values_{variable}"].sel(example=row, stack="decoder").values
            np.testing.assert_allclose(given, values, atol=WITHIN, rtol=1e-4, err_msg=f"{text} {variable}")
    assert found.values_rank.sel(example=1).isnull().all()  # no query with a token before it but the first
    assert found.values_rank.sel(example=[0, 2]).notnull().all()


@pytest.mark.parametrize("compared", [4, 32])
def test_planted_heads(compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "COMPARED", compared)
    data = pd.DataFrame({"text": [repeated(seed, length) for seed, length in ((0, 12), (1, 20), (2, 5))]})
    found = measure(*planted_decoder(), data, only="copying")["copying"]
    assert at(found["rank"], ROLES["induction"]) == 1
    assert at(found["rank"], ROLES["suppressing"]) == 0
    assert at(found.gain_low, ROLES["induction"]) > 1
    assert at(found.gain_high, ROLES["suppressing"]) < -1
    for role in ("previous", "duplicate"):  # one writes nothing, the other nothing that is read as logits
        assert at(found["rank"], ROLES[role]) == 0.5
        assert at(found.rise, ROLES[role]) == pytest.approx(0, abs=1e-6)
