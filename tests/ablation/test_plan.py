"""The plan of a sweep, without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headcount.ablation.plan import RandomSets, choose_head_sets, plan_sweep, plan_units, read_sets, widest_group
from headcount.core.heads import Layout
from headcount.errors import DataProblem

BERT = Layout.even({"encoder": (12, 12)})
MARIAN = Layout.even({"encoder": (6, 8), "decoder": (6, 8), "cross": (6, 8)})


def test_choices_of_all_kinds() -> None:
    assert len(choose_head_sets(BERT).sets) == 144
    assert len(choose_head_sets(BERT, "layer").sets) == 12
    assert {len(one) for one in choose_head_sets(BERT, "all-but-one").sets} == {11}
    assert len(choose_head_sets(MARIAN, stack="cross").sets) == 48
    assert (
        choose_head_sets(BERT, sets=RandomSets(3, 5), seed=1).names()
        == choose_head_sets(BERT, sets=RandomSets(3, 5), seed=1).names()
    )


def test_arrays_lie_along_the_axes() -> None:
    choices = choose_head_sets(MARIAN, "layer", stack="decoder")
    arranged = choices.arrange(list(range(6)))
    assert arranged.shape == (3, 6)
    assert arranged[1].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(arranged[0]).all()


def test_every_variant_starts_at_its_layer() -> None:
    lengths = np.sort(np.random.default_rng(0).integers(5, 60, 100))[::-1]
    choices = choose_head_sets(MARIAN)
    plan = plan_sweep(choices, lengths, 128, 5, plan_units(lengths, 128))
    assert sorted(number for _, numbers in plan.passes for number in numbers) == list(range(144))
    for start, numbers in plan.passes:
        assert len(numbers) <= 5
        for number in numbers:
            head = choices.keys[number]
            assert start == head.layer + (0 if head.stack == "encoder" else 6)
    assert [row for a, b in plan.batches for row in range(a, b)] == list(range(100))
    assert all(any(start <= a and b <= stop for start, stop in plan.units) for a, b in plan.batches)
    assert widest_group(choices) == 16


def test_units_are_alike() -> None:
    units = plan_units(np.full(1000, 10), 100)
    assert len(units) <= 64
    assert len({stop - start for start, stop in units[:-1]}) == 1
    assert len(plan_units(np.full(3, 10), 10_000)) == 1


def test_a_layer_with_one_head_is_unchanged_by_all_but_one() -> None:
    choices = choose_head_sets(Layout({"encoder": ((0,), (0, 1))}), "all-but-one")
    plan = plan_sweep(choices, np.array([3]), 10, 4, [(0, 1)])
    assert plan.unchanged == (0,)


def test_sets_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("L0H1, L2\n\nL3H4\n")
    (tmp_path / "a.json").write_text('[["L0H1", "L2"], "L3H4"]')
    assert [str(one) for one in choose_head_sets(BERT, sets=read_sets(tmp_path / "a.txt")).sets] == ["L0H1, L2", "L3H4"]
    assert [str(one) for one in choose_head_sets(BERT, sets=read_sets(tmp_path / "a.json")).sets] == [
        "L0H1, L2",
        "L3H4",
    ]
    with pytest.raises(DataProblem, match="there is no file .*none.txt; expected one with a set of heads on each line"):
        read_sets(tmp_path / "none.txt")
