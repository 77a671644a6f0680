"""Sentences on roles say what held-out examples show, and no more."""

from __future__ import annotations

import pytest
import xarray as xr

from headcount.core.claims import judge_role
from headcount.story.gate_roles import COLUMNS, role_rows, role_sentences
from tests import planted
from tests.choosing.planted_roles import roles


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    return roles(planted.tokenizer(tmp_path_factory.mktemp("tokenizer")))


def with_change(found: xr.Dataset, role: str, low: float, high: float) -> xr.Dataset:
    """The same result with another interval of the change without the heads of a role."""
    other, at = found.copy(deep=True), list(found["checked"].values).index(role)
    for name, value in (("change", (low + high) / 2), ("change_low", low), ("change_high", high)):
        other[name].values[at] = value
    other["verdict"].values[at] = judge_role(role, low, high)
    return other


def test_what_was_planted(found: xr.Dataset) -> None:
    lines = role_sentences(found)
    assert "find 1 facilitating, 1 interfering and 6 irrelevant heads among the 8 of " in lines[0]
    assert lines[0].endswith("; none is unclear.")
    assert lines[1].startswith("Without the interfering head (L1H2), the loss of 40 held-out examples falls, as it")
    assert "this one can be removed more safely than those" in lines[2]
    assert "the 6 irrelevant heads, the loss of 40 held-out examples does not rise by more than 0.01" in lines[3]
    rows = role_rows(found)
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert rows[0][:2] == ("L0H0", "facilitating")
    assert ("L1H2", "interfering") in [row[:2] for row in rows]


@pytest.mark.parametrize(
    ("role", "low", "high", "said"),
    [
        ("interfering", -0.1, 0.1, "is not shown to fall"),
        ("interfering", 0.1, 0.2, "does not fall, which refutes the role"),
        ("irrelevant", -0.1, 0.1, "may rise by more than 0.01"),
        ("irrelevant", 0.1, 0.2, "rises, so together they are not irrelevant"),
        ("irrelevant", -0.2, -0.1, "falls: "),
    ],
)
def test_nothing_is_claimed_without_evidence(found: xr.Dataset, role: str, low: float, high: float, said: str) -> None:
    lines = " ".join(role_sentences(with_change(found, role, low, high)))
    assert f"held-out examples {said}" in lines
    assert ("Not enough examples to tell." in lines) == (low < 0 < high)


def test_random_heads_that_are_no_worse(found: xr.Dataset) -> None:
    other = found.copy(deep=True)
    other["beyond_random_low"].values[:], other["beyond_random_high"].values[:] = -1, 1
    assert " ".join(role_sentences(other)).count("a difference is not shown") == 2
    other["beyond_random_low"].values[:] = 0.5
    assert "removing this one is worse than that" in " ".join(role_sentences(other))
    other["random_shared"].values[:] = 1
    assert "would be the same ones" in " ".join(role_sentences(other))


@pytest.mark.parametrize(("seeds", "why"), [(1, "no score is above one half"), (3, "the 3 seeds do not agree")])
def test_heads_without_a_role(found: xr.Dataset, seeds: int, why: str) -> None:
    other = found.copy(deep=True).assign_attrs(seeds=seeds)
    other["role"].values[0, 0, :2] = 3
    assert f"2 are unclear: {why}" in role_sentences(other)[0]


def test_a_role_that_no_head_has(found: xr.Dataset) -> None:
    other = found.copy(deep=True)
    other["checked_size"].values[0] = 0
    assert "No head is interfering in every seed" in " ".join(role_sentences(other))
