"""What a sweep leaves out, without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headcount.ablation.choices import By, Every, RandomSets, choose_head_sets, read_sets
from headcount.core.heads import Layout
from headcount.core.provenance import fingerprint
from headcount.errors import DataProblem, InvalidOption

BERT = Layout.even({"encoder": (12, 12)})
MARIAN = Layout.even({"encoder": (6, 8), "decoder": (6, 8), "cross": (6, 8)})


def test_choices_of_all_kinds() -> None:
    assert len(choose_head_sets(BERT).sets) == 144
    assert len(choose_head_sets(BERT, "layer").sets) == 12
    assert {len(one) for one in choose_head_sets(BERT, "all-but-one").sets} == {11}
    assert [str(one) for one in choose_head_sets(BERT, ["L0H1, L2", ["L3H4"]]).sets] == ["L0H1, L2", "L3H4"]


@pytest.mark.parametrize("what", ["head", "layer", "all-but-one"])
def test_a_string_is_short_for_every(what: str) -> None:
    assert choose_head_sets(MARIAN, what) == choose_head_sets(MARIAN, Every(what))
    both = choose_head_sets(MARIAN, Every(what, "cross"))
    assert (both.by, both.stack) == (what, "cross")
    assert {head.stack for heads in both.sets for head in heads} == {"cross"}


def test_random_sets_follow_the_seed_and_keep_to_their_stack() -> None:
    drawn = choose_head_sets(MARIAN, RandomSets(3, 5), seed=1)
    assert drawn == choose_head_sets(MARIAN, RandomSets(3, 5), seed=1)
    assert drawn.sets != choose_head_sets(MARIAN, RandomSets(3, 5), seed=2).sets
    assert [len(heads) for heads in drawn.sets] == [5, 5, 5]
    crossing = choose_head_sets(MARIAN, RandomSets(3, 48, "cross"))
    assert {head.stack for heads in crossing.sets for head in heads} == {"cross"}
    with pytest.raises(InvalidOption, match="size= from 1 to 48; got 3 and 49"):
        choose_head_sets(MARIAN, RandomSets(3, 49, "cross"))


@pytest.mark.parametrize(
    ("layout", "by", "known"),
    [
        (MARIAN, Every("head", "cross"), ("head", "cross", "313cdc389d9fe280")),
        (MARIAN, "layer", ("layer", None, "e53f56dae1c5b708")),
        (MARIAN, Every("all-but-one", "decoder"), ("all-but-one", "decoder", "7737b2db5dfefab2")),
        (BERT, ["L0H1, L2", "L3H4"], ("sets", None, "0ef7a8dab6222feb")),
        (MARIAN, RandomSets(3, 5, "cross"), ("draws", "cross", "06321950b3ede288")),
        (MARIAN, RandomSets(3, 5), ("draws", None, "727c932b57f4681e")),
    ],
)
def test_a_sweep_that_an_earlier_version_began_is_known_again(layout: Layout, by: By, known: tuple[str, ...]) -> None:
    """What was said as by=, stack=, sets= and draws= before: a study tells sweeps apart by these three."""
    choices = choose_head_sets(layout, by, seed=1)
    assert (choices.by, choices.stack, fingerprint([str(heads) for heads in choices.sets])) == known


def test_arrays_lie_along_the_axes() -> None:
    choices = choose_head_sets(MARIAN, Every("layer", "decoder"))
    arranged = choices.arrange(list(range(6)))
    assert arranged.shape == (3, 6)
    assert arranged[1].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(arranged[0]).all()


def test_sets_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("L0H1, L2\n\nL3H4\n")
    (tmp_path / "a.json").write_text('[["L0H1", "L2"], "L3H4"]')
    assert [str(one) for one in choose_head_sets(BERT, read_sets(tmp_path / "a.txt")).sets] == ["L0H1, L2", "L3H4"]
    assert [str(one) for one in choose_head_sets(BERT, read_sets(tmp_path / "a.json")).sets] == [
        "L0H1, L2",
        "L3H4",
    ]
    with pytest.raises(DataProblem, match="there is no file .*none.txt; expected one with a set of heads on each line"):
        read_sets(tmp_path / "none.txt")
