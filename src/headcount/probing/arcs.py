"""Example sentences of each relation: the word that its best head connects each word with, and the true one."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import xarray as xr

from headcount.core.heads import Head, Layout
from headcount.core.results import Labelled
from headcount.probing.words.contract import WordQuestion
from headcount.probing.words.sentences import Sentences

SHOWN = 4
"""Sentences of a relation."""
WORDS = (4, 24)
"""The fewest and the most words of a sentence that can be taken in at a glance."""
Predict = Callable[[int], dict[Head, np.ndarray]]
"""For an encoded text, by head: [direction, word], the word that the head connects each word with."""


def take_arcs(
    sentences: Sentences, question: WordQuestion, probed: xr.Dataset, layout: Layout, predict: Predict, seed: int
) -> Labelled:
    """`words` and `arcs` [relation, shown] as JSON, empty where there are fewer sentences; `head` [relation].

    An arc is [word, predicted word, true word], all counted from 0. The sentences are of the half that did not select
    the head, drawn at random.
    """
    relations = [str(name) for name in probed["relation"].values]
    directions = [str(name) for name in probed["direction"].values]
    asked = [
        (relation, directions.index(str(direction)) if str(direction) else 0)
        for relation, direction in zip(relations, probed["best_direction"].values, strict=True)
    ]
    chosen = _choose(sentences, question, asked, seed)
    words = np.full((len(relations), SHOWN), "", dtype=object)
    arcs = words.copy()
    predicted = {number: predict(number) for number in sorted({number for row in chosen for number in row})}
    for at, (relation, direction) in enumerate(asked):
        name = str(probed["best_head"].values[at])
        if not name:
            continue
        [head] = layout.find(name)
        for shown, number in enumerate(chosen[at]):
            said = predicted[number][head][direction]
            arcs_of_text = [
                (word, int(said[word]), int(said[word]) if said[word] in right else right[0])
                for word, right in question.true_arcs(number, relation, direction)
            ]
            words_shown, arcs_shown = question.shown(number, sentences.annotated[number].words, arcs_of_text)
            words[at, shown] = json.dumps(words_shown, ensure_ascii=False)
            arcs[at, shown] = json.dumps(arcs_shown)
    return {
        "head": (("relation",), probed["best_head"].values.astype(object)),
        "words": (("relation", "shown"), words),
        "arcs": (("relation", "shown"), arcs),
    }


def _choose(sentences: Sentences, question: WordQuestion, asked: list[tuple[str, int]], seed: int) -> list[list[int]]:
    """For each relation and the direction of its best head, the numbers of some encoded sentences that have it."""
    held_out = question.held_out(sentences.inputs.ids, seed)
    shuffled = [int(number) for number in np.random.default_rng(seed).permutation(held_out)]
    short = [number for number in shuffled if WORDS[0] <= len(sentences.annotated[number].words) <= WORDS[1]]
    fitting = short if short and not question.excerpts else shuffled
    chosen = []
    for relation, direction in asked:
        having = (number for number in fitting if question.true_arcs(number, relation, direction))
        chosen.append([number for number, _ in zip(having, range(SHOWN), strict=False)])
    return chosen
