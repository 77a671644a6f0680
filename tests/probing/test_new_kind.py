"""The recipe for a kind of annotations, followed once: its result, its row on the page and its example sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import headcount as hc
from headcount.core.heads import Layout
from headcount.probing.dependencies.dependencies import Dependencies, DependencyTrees
from headcount.probing.dependencies.trees import read_trees
from headcount.probing.kinds import KINDS
from headcount.probing.words.sentences import Sentences
from headcount.reporting.probes import find_probes
from headcount.reporting.view import read_view
from tests.measures.planted import planted_attention
from tests.probing.treebank import RIGHT, sentences


class Links(Dependencies):
    name, summary, paper = "links", "how often the most attended word is the linked one", "nobody"


@dataclass(frozen=True)
class LinkedWords(DependencyTrees):
    """Trees by another name: what is added is a question with schemas of its own kind."""

    name: ClassVar[str] = "links"

    def ask(self, sentences: Sentences, layout: Layout, source: str, control: bool) -> Links:
        trees = read_trees(sentences.annotated, sentences.known, self.relations)
        return Links(trees, sentences.inputs.ids, layout, source, control)


def test_a_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(KINDS, "links", LinkedWords)
    study = tmp_path / "study"
    probed = hc.probe(*planted_attention(), sentences(), kind="links", relations="det", out=study)
    accuracy = probed["accuracy"].sel(stack="encoder", layer=0, head=3, direction="dependent to head", relation="det")
    assert float(accuracy) == RIGHT
    [shown] = find_probes(read_view(study))
    assert shown["name"] == "links"
    row = next(row for row in shown["rows"] if row["relation"] == "det")
    assert row["spelled"] == "L0H3"
    assert row["examples"], "sentences with arcs"
