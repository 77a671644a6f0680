from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import Texts, at, others
from tests.measures.planted import PAIRS, ROLES, SENTENCES

OFFSET = {"previous": -1, "same": 0, "next": 1}


def test_is_the_formula(texts: Texts) -> None:
    def trusted(variable: str, text: naive.Text) -> np.ndarray:
        """Where two weights are the same, either place is the largest one's."""
        clear = naive.clear(text.maps)
        assert clear.sum() >= 2
        return clear if variable == "largest_at" else np.ones_like(clear)

    found = texts.compare("position", lambda text: naive.position(text.maps), trusted)
    assert found.offset.values.tolist() == list(naive.OFFSETS)


@pytest.fixture(scope="module")
def found(planted_texts: Texts) -> xr.Dataset:
    return planted_texts.measured("position")["position"].to_dataset()


@pytest.mark.parametrize("role", OFFSET)
def test_finds_the_planted_head(found: xr.Dataset, role: str) -> None:
    values, place = found[role], ROLES[role]
    assert at(values, place) > 0.999
    assert at(found.best_offset, place) == OFFSET[role]
    assert at(found.best_share, place) > 0.999
    assert at(found.positional, place) == 1
    # A word that stands once in its text is the one like itself: that head looks at the same token too.
    alike = [ROLES["repeated word"]] if role == "same" else []
    assert others(values, place, *alike).max() < 0.4
    assert at(found.attention.sel(offset=OFFSET[role]), place) == at(values, place)
    for offset in set(naive.OFFSETS) - {OFFSET[role]}:
        assert (
            at(found.attention.sel(offset=offset), place) < 0.15
        )  # the one token that has no token there looks around


def test_no_other_head_is_positional(found: xr.Dataset) -> None:
    places = [ROLES[role] for role in (*OFFSET, "repeated word")]
    assert others(found.positional, *places).max() == 0


def test_a_uniform_head_gives_each_offset_one_share(planted_texts: Texts) -> None:
    values = planted_texts.measured("position")["position"].values_attention
    for row in range(len(SENTENCES)):
        length = len(planted_texts.seen(row))
        given = at(values.sel(example=row), ROLES["uniform"])
        known = np.abs(values.offset.values) < length
        np.testing.assert_allclose(given[known], 1 / length, atol=1e-6)
        assert np.isnan(given[~known]).all()


def test_no_head_is_positional_because_texts_are_short(planted_model: Any) -> None:
    """A head that looks at [CLS] from everywhere, and one that looks nowhere, have no offset."""
    found = measure(*planted_model, pd.DataFrame({"text": ["He ran to her."] * 3}), only="position")["position"]
    assert [at(found.positional, ROLES[role]) for role in ("first", "separator", "uniform")] == [0, 0, 0]


def test_intervals_hold_the_mean(found: xr.Dataset) -> None:
    for name in (*OFFSET, "attention", "largest_at"):
        known = found[name].notnull()
        assert known.any()
        assert (
            ((found[f"{name}_low"] <= found[name] + 1e-6) & (found[name] <= found[f"{name}_high"] + 1e-6)) | ~known
        ).all()
        values = found[f"values_{name}"].mean("example")
        np.testing.assert_allclose(values, found[name], atol=1e-6)


def test_pairs_are_one_row_of_tokens(planted_pairs: Texts) -> None:
    found = planted_pairs.measured("position")["position"]
    assert found.sizes["example"] == len(PAIRS)
    assert at(found.previous, ROLES["previous"]) > 0.999
