"""Applicability, productivity, coverage: planted values, the naive loop, p-values, and what must not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from headcount.statistical_cues.presence import find_cues
from headcount.statistical_cues.productivity import (
    choice_entries,
    choice_statistics,
    label_counts,
    label_statistics,
    rank_tested,
)
from headcount.statistical_cues.tokenize import split_texts
from tests.statistical_cues.planted import naive_choice


def statistics(
    table: pd.DataFrame, columns: list[str], applicable: str = "exactly-one"
) -> tuple[dict[str, np.ndarray], list[str]]:
    rows = len(table)
    presence = find_cues(split_texts([text for column in columns for text in table[column]], "whitespace"))
    parts = [presence.matrix[number * rows : (number + 1) * rows] for number in range(len(columns))]
    entries = choice_entries(parts, table["label"].to_numpy(), applicable)
    return choice_statistics(entries, rows), presence.names.tolist()


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    columns = draw(st.integers(2, 4))
    rows = draw(
        st.lists(st.tuples(st.lists(st.text("ab "), min_size=columns, max_size=columns)), min_size=1, max_size=9)
    )
    table = pd.DataFrame([row[0] for row in rows], columns=[f"c{number}" for number in range(columns)])
    return table.assign(label=[draw(st.integers(0, columns - 1)) for _ in rows])


@settings(deadline=None)
@given(tables(), st.sampled_from(["exactly-one", "any"]))
def test_as_a_loop(table: pd.DataFrame, applicable: str) -> None:
    columns = [name for name in table if name != "label"]
    found, names = statistics(table, columns, applicable)
    for at, name in enumerate(names):
        if found["applicability"][at]:
            expected = naive_choice(table, columns, tuple(name.split(" ")), applicable)
            values = (found["applicability"][at], found["productivity"][at], found["coverage"][at])
            assert values == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(tables())
def test_the_order_of_rows_and_choices_does_not_matter(table: pd.DataFrame) -> None:
    columns = [name for name in table if name != "label"]
    turned = columns[::-1]
    other = table.iloc[::-1].rename(columns=dict(zip(columns, turned, strict=True)))
    other = other.assign(label=len(columns) - 1 - other["label"])[[*columns, "label"]]
    (found, names), (again, same) = statistics(table, columns), statistics(other, columns)
    assert names == same
    for key, values in found.items():
        np.testing.assert_allclose(values, again[key], err_msg=key, atol=1e-12)


def test_p_values_are_those_of_scipy() -> None:
    table = pd.DataFrame({"c0": ["k"] * 14 + ["z"] * 6, "c1": ["z"] * 14 + ["k"] * 6, "label": 0})
    found, names = statistics(table, ["c0", "c1"])
    assert found["p"][names.index("k")] == pytest.approx(binomtest(14, 20, 0.5).pvalue)
    assert found["chance"].tolist() == [0.5, 0.5]
    three = table.assign(c2="y")
    found, names = statistics(three, ["c0", "c1", "c2"])
    tail = binomtest(14, 20, 1 / 3, alternative="greater").pvalue
    assert found["p"][names.index("k")] == pytest.approx(2 * tail)


def test_a_cue_of_every_choice_says_nothing() -> None:
    table = pd.DataFrame({"c0": ["k a"] * 8, "c1": ["k b"] * 8, "label": [0] * 6 + [1] * 2})
    found, names = statistics(table, ["c0", "c1"], "any")
    at = names.index("k")
    assert (found["productivity"][at], found["chance"][at], found["p"][at]) == (1, 1, 1)
    assert found["alone"][at] == 0.5
    assert statistics(table, ["c0", "c1"])[0]["applicability"][at] == 0


def test_alone_takes_the_other_choice_where_a_cue_points_away() -> None:
    table = pd.DataFrame({"c0": ["k"] * 10, "c1": ["z"] * 10, "label": [1] * 8 + [0] * 2})
    found, names = statistics(table, ["c0", "c1"])
    at = names.index("k")
    assert (found["productivity"][at], found["alone"][at], found["useful"][at]) == (0.2, 0.8, False)


def test_labels() -> None:
    """12 of 16 texts with "k" have the label 2; the base rates are 1/4, 1/4 and 1/2."""
    labels = np.array([2] * 12 + [0] * 4 + [0] * 6 + [1] * 10 + [2] * 8)
    presence = find_cues(split_texts(["k"] * 16 + ["z"] * 24, "whitespace"))
    counts = label_counts(presence.matrix, labels, 3)
    assert counts.tolist() == [[4, 6], [0, 10], [12, 8]]
    found = label_statistics(counts, np.bincount(labels))
    assert (found["label_of_cue"].tolist(), found["productivity"].tolist()) == ([2, 1], [0.75, 10 / 24])
    assert found["coverage"].tolist() == [0.4, 0.6]
    assert found["chance"].tolist() == [0.5, 0.25]
    assert found["alone"].tolist() == [22 / 40, 22 / 40]
    one_sided = binomtest(12, 16, 0.5, alternative="greater").pvalue
    assert found["p"][0] == pytest.approx(3 * 2 * one_sided)


def test_rare_cues_are_not_tested_and_the_strongest_come_first() -> None:
    table = {
        "applicability": np.array([3, 50, 40]),
        "p": np.array([1e-9, 0.04, 0.001]),
        "alone": np.array([0.9, 0.6, 0.7]),
    }
    order, q = rank_tested(table, np.array(["rare", "b", "a"], dtype=object), 10)
    assert order.tolist() == [2, 1]
    assert q.tolist() == pytest.approx([0.002, 0.04])
