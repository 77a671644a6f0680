from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headcount.measures.measure import measure
from headcount.story.roles import find_roles
from tests.measures.planted_decoder import ROLES, WORDS, planted_decoder

LETTERS = np.array(WORDS[3:])


def repeated(seed: int, length: int, times: int = 2) -> str:
    """Random letters, none of them twice, and all of them again."""
    return " ".join(np.tile(np.random.default_rng(seed).permutation(LETTERS)[:length], times))


@pytest.fixture(scope="module")
def tree() -> xr.DataTree:
    """Texts of unequal length in one padded batch."""
    data = pd.DataFrame({"text": [repeated(seed, length) for seed, length in enumerate((5, 20, 26, 9, 14))]})
    return measure(*planted_decoder(), data, only=("induction", "duplicate", "position", "special"))


def at(array: xr.DataArray, place: str) -> float:
    layer, head = map(int, place[1:].split("H"))
    return float(array.sel(stack="decoder", layer=layer, head=head))


def test_the_planted_head_has_score_one(tree: xr.DataTree) -> None:
    found = tree["induction"]
    assert at(found.attention, ROLES["induction"]) == pytest.approx(1, abs=1e-4)
    assert at(found.gain, ROLES["induction"]) == pytest.approx(1, abs=1e-4)
    others = found.gain.where(found.gain < 0.9)
    assert int(others.notnull().sum()) == 7
    assert float(others.max()) < 1e-4


def test_the_previous_token_head_is_no_induction_head(tree: xr.DataTree) -> None:
    assert at(tree["position"].previous, ROLES["previous"]) > 0.99
    assert at(tree["induction"].gain, ROLES["previous"]) < 0


def test_uniform_heads_gain_nothing(tree: xr.DataTree) -> None:
    for place in ("L0H0", "L0H3", "L1H0", "L1H2", "L1H3"):
        assert at(tree["induction"].attention, place) > 0.02
        assert at(tree["induction"].gain, place) == pytest.approx(0, abs=1e-6)


def test_successors_of_several_occurrences_are_summed() -> None:
    data = pd.DataFrame({"text": [repeated(0, 8, 4)]})
    found = measure(*planted_decoder(), data, only="induction")["induction"]
    assert at(found.attention, ROLES["induction"]) == pytest.approx(1, abs=1e-4)


def test_its_role(tree: xr.DataTree) -> None:
    measures = {name: node.to_dataset() for name, node in tree.children.items()}
    heads = [f"L{layer}H{head}" for layer in range(2) for head in range(4)]
    found = find_roles(measures, lambda array: array.values.ravel().tolist())
    named = {head: [role.name for role in roles or ()] for head, roles in zip(heads, found, strict=True)}
    assert named[ROLES["induction"]][0] == "induction"
    assert named[ROLES["previous"]][0] == "previous token"
    assert named["L0H0"] == named["L1H2"] == []
