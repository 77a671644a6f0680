"""The question itself: which word is attended most, with what is masked, and under a causal mask."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from headcount.core.heads import Layout
from headcount.data.annotations import Annotated
from headcount.probing.dependencies.dependencies import Dependencies
from headcount.probing.dependencies.trees import read_trees
from headcount.probing.words.between_words import as_word_pieces
from headcount.probing.words.contract import SeenWords

SENTENCE = Annotated("1", ("a", "b", "c", "d"), ("X",) * 4, ("dep", "root", "dep", "obj"), (2, 0, 2, 1), {})
TREES = read_trees([SENTENCE], [[True] * 4], ["dep", "obj"])


def see(rows: list[list[float]], stack: str = "encoder") -> np.ndarray:
    """[direction, relation]: the hits of one head whose attention from word to word is `rows`, [CLS] first."""
    weights = torch.tensor([[[[1.0, 0, 0, 0, 0], *([0.0, *row] for row in rows)]]])
    view: Any = SimpleNamespace(unnormalised=weights, total=weights.sum(-1), block=SimpleNamespace(stack=stack))
    pieces = as_word_pieces([[None, 0, 1, 2, 3]], [[True] * 4], "cpu")
    question = Dependencies(TREES, np.array([0]), Layout.even({stack: (1, 1)}), "mean", control=False)
    return question.see(SeenWords(view, pieces, question.batch([0], 4, "cpu")))["hits"][0, 0].numpy()


def test_each_direction() -> None:
    """a -> b, c -> b, d -> a; the most attended word of each row, and of each column the row that attends most."""
    rows = [[0.1, 0.8, 0.0, 0.1], [0.4, 0.2, 0.3, 0.1], [0.0, 0.4, 0.5, 0.1], [0.2, 0.3, 0.3, 0.2]]
    hits = see(rows)
    # Rows: a attends b (right), c attends itself most and b next (right: itself is left out), d attends b (wrong).
    assert hits[0].tolist() == [2, 2, 0]
    # Columns: a is attended most by b (right), c by b and d alike, of which b comes first (right), d by a (right).
    assert hits[1].tolist() == [3, 2, 1]


def test_causal_attention_is_not_asked_for_the_future() -> None:
    rows = [[1.0, 0, 0, 0], [0.9, 0.1, 0, 0], [0.1, 0.8, 0.1, 0], [0.7, 0.1, 0.1, 0.1]]
    hits = see(rows, "decoder")
    assert hits[0].tolist() == [2, 1, 1], "c -> b and d -> a"
    assert hits[1].tolist() == [1, 1, 0], "a <- b"


def test_another_tree_is_another_result() -> None:
    other = read_trees([SENTENCE], [[True] * 4], ["dep"])
    layout = Layout.even({"encoder": (1, 1)})
    notes = [Dependencies(trees, np.array([0]), layout, "mean", False).notes() for trees in (TREES, other, TREES)]
    assert notes[0] == notes[2] != notes[1]
    assert notes[0]["from_word"] == "mean"


def test_a_control_is_a_variable_of_its_own() -> None:
    layout = Layout.even({"encoder": (1, 1)})
    setting: Any = None
    for control, expected in ((True, {"hits", "random_hits"}), (False, {"hits"})):
        assert set(Dependencies(TREES, np.array([0]), layout, "mean", control).variables(setting)) == expected
