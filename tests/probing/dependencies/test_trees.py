"""Trees: which words are cases of which relations, what a causal mask leaves, what offsets get, and what is no tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.annotations import Annotated
from headcount.errors import DataProblem, InvalidOption
from headcount.probing.dependencies.trees import NO_HEAD, OFFSETS, check_tree, read_trees


def sentence(heads: list[int], deprels: list[str]) -> Annotated:
    size = len(heads)
    return Annotated("s", tuple(f"w{n}" for n in range(size)), ("X",) * size, tuple(deprels), tuple(heads), {})


ONE = sentence([2, 0, 4, 2, 2], ["nsubj:pass", "root", "det", "obj", "punct"])


def test_cases() -> None:
    trees = read_trees([ONE], [[True] * 5], ["nsubj", "nsubj:pass", "det"])
    assert trees.relations == ("all", "nsubj", "nsubj:pass", "det")
    assert trees.heads[0].tolist() == [1, NO_HEAD, 3, 1, NO_HEAD]
    assert trees.cases(causal=False)[0].tolist() == [[3, 1, 1, 1]] * 2
    # Before its dependent stands the head of `obj` alone.
    assert trees.cases(causal=True)[0].tolist() == [[1, 0, 0, 0], [2, 1, 1, 1]]


def test_offsets() -> None:
    trees = read_trees([ONE], [[True] * 5], ["det"])
    hits = trees.offset_hits(causal=False)[0]
    assert hits.shape == (len(OFFSETS), 2, 2)
    by_offset = dict(zip(OFFSETS, hits.tolist(), strict=True))
    assert by_offset[1] == [[2, 1]] * 2
    assert by_offset[-2] == [[1, 0]] * 2
    assert hits.sum() == 8
    # Under a causal mask the first direction has the heads that come before, the second those that come after.
    by_offset = dict(zip(OFFSETS, trees.offset_hits(causal=True)[0].tolist(), strict=True))
    assert by_offset[1] == [[0, 0], [2, 1]]
    assert by_offset[-2] == [[1, 0], [0, 0]]


def test_words_without_pieces_of_their_own_are_no_cases() -> None:
    heads = read_trees([ONE], [[True, True, True, False, True]], ["nsubj"]).heads[0]
    assert heads.tolist() == [1, NO_HEAD, NO_HEAD, NO_HEAD, NO_HEAD], "nor are words whose head is lost"


def test_relations_need_cases() -> None:
    trees = read_trees([ONE] * 100, [[True] * 5] * 100)
    assert trees.relations == ("all", "det", "nsubj", "nsubj:pass", "obj")
    assert read_trees([ONE] * 99, [[True] * 5] * 99).relations == ("all",)
    with pytest.raises(InvalidOption, match="'dobj', which never occurs; the sentences have"):
        read_trees([ONE], [[True] * 5], ["dobj"])
    with pytest.raises(DataProblem, match="no dependencies but roots"):
        read_trees([sentence([0, 1], ["root", "punct"])], [[True] * 2])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10))
def test_a_circle_is_found(heads: list[int]) -> None:
    heads = [min(head, len(heads)) for head in heads]
    tree = sentence(heads, ["dep"] * len(heads))

    def leads_to_a_root(word: int) -> bool:
        for _ in heads:
            if not heads[word]:
                return True
            word = heads[word] - 1
        return False

    if all(leads_to_a_root(word) for word in range(len(heads))):
        check_tree(tree)
    else:
        with pytest.raises(DataProblem, match="sentence s: the heads go round in a circle"):
            check_tree(tree)


def test_a_batch_is_padded() -> None:
    short = sentence([0, 1], ["root", "det"])
    heads, labels = read_trees([ONE, short], [[True] * 5, [True] * 2], ["det"]).batch([1, 0], 5, "cpu")
    assert heads.tolist() == [[-1, 0, -1, -1, -1], [1, -1, 3, 1, -1]]
    assert labels[0].sum() == 2
    np.testing.assert_array_equal(labels[1, :, 1], [0, 0, 1, 0, 0])
