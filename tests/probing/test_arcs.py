"""Example sentences: of the half that did not select, with what the best head says beside the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.probing.arcs import SHOWN
from headcount.probing.selection.accuracies import halves
from tests.measures.planted import planted_attention
from tests.measures.tiny import causal
from tests.probing.treebank import sentences

TREES = sentences(60)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arcs") / "study"
    hc.probe(*planted_attention(), TREES, relations="det", control=False, out=folder)
    return folder


@pytest.fixture(scope="module")
def arcs(study: Path) -> xr.Dataset:
    return hc.open_study(study)["arcs/dependencies"].to_dataset().load()


def shown(arcs: xr.Dataset, relation: str) -> list[tuple[list[str], list[list[int]]]]:
    row = arcs.sel(relation=relation)
    return [
        (json.loads(words), json.loads(said))
        for words, said in zip(row["words"].values.tolist(), row["arcs"].values.tolist(), strict=True)
    ]


def test_true_arcs_are_those_of_the_tree(arcs: xr.Dataset) -> None:
    rows = {tuple(row["tokens"]): row for _, row in TREES.iterrows()}
    for words, said in shown(arcs, "det"):
        row = rows[tuple(words)]
        expected = [(word, row["heads"][word] - 1) for word, deprel in enumerate(row["deprels"]) if deprel == "det"]
        assert [(word, gold) for word, _, gold in said] == expected


def test_the_planted_head_points_from_the_determiner_to_the_noun(arcs: xr.Dataset) -> None:
    assert arcs["head"].sel(relation="det").item() == "L0H3"
    examples = shown(arcs, "det")
    assert len(examples) == SHOWN
    for words, said in examples:
        assert [predicted for _, predicted, _ in said] == [words.index("dog")]


def test_they_did_not_select_the_head(arcs: xr.Dataset) -> None:
    held_out = {tuple(TREES["tokens"][number]) for number in np.flatnonzero(~halves(len(TREES), 0))}
    selecting = {tuple(TREES["tokens"][number]) for number in np.flatnonzero(halves(len(TREES), 0))} - held_out
    for relation in ("all", "det"):
        assert all(tuple(words) not in selecting for words, _ in shown(arcs, relation))


def test_the_same_call_again_reads_them(study: Path, arcs: xr.Dataset) -> None:
    hc.probe(*planted_attention(), TREES, relations="det", control=False, out=study)
    xr.testing.assert_identical(hc.open_study(study)["arcs/dependencies"].to_dataset().load(), arcs)


def test_relations_without_sentences_are_empty(tmp_path: Path) -> None:
    """Of three sentences one half has one, perhaps without the relation."""
    rows: Any = sentences(3)
    hc.probe(*planted_attention(), rows, relations="det", control=False, out=tmp_path / "study")
    arcs = hc.open_study(tmp_path / "study")["arcs/dependencies"]
    assert arcs["words"].values[:, -1].tolist() == ["", ""]


def test_of_a_causal_model_only_arcs_that_its_best_direction_can_find(tmp_path: Path) -> None:
    probed = hc.probe(*causal(), TREES, relations="det", control=False, out=tmp_path / "study")
    arcs = hc.open_study(tmp_path / "study")["arcs/dependencies"].to_dataset().load()
    for relation in ("all", "det"):
        back = probed["best_direction"].sel(relation=relation).item() == "dependent to head"
        every = [arc for _, said in shown(arcs, relation) for arc in said]
        assert every
        assert all((true < word) == back for word, _, true in every)
