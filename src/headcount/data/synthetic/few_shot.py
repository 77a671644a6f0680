"""A word task by examples: "big -> small\\nhot -> cold\\nlong ->" is followed by " short"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.source_notes import add_notes
from headcount.data.synthetic.contract import Source, choices, number
from headcount.data.synthetic.pairs import Filled, Pair, draw_pairs, fill
from headcount.data.synthetic.single_tokens import left_out_note, single_tokens
from headcount.data.synthetic.word_tasks import WORD_TASKS
from headcount.errors import DataProblem

Words = list[tuple[str, str]]
"""Words with their labels."""


@dataclass(frozen=True)
class FewShot(Source):
    """`shots` words with their labels, and one more word, whose label is due; rows take turns through the tasks.

    In the counterpart the labels are permuted such that no shot keeps its own: the same words and labels, which no
    longer show the task. Its right answer is not defined, so `wrong` is the label of one of the shots: a word of the
    right sort that both inputs hold, so that neither knowing the sort of answer nor copying from the input favours the
    right answer. Columns beside those of pairs: `task`. Spans: `word-1`, `label-1` and so on, and `query`.
    """

    name = "few-shot"
    summary = 'a word task by examples: "big -> small, hot -> cold, long ->", one to a line'

    task: tuple[str, ...] = choices(tuple(WORD_TASKS), "opposites/plural")
    shots: int = number(5, 2)

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        words, notes = {}, []
        for task in self.task:
            labels = set(single_tokens(tokenizer, [label for _, label in WORD_TASKS[task]]))
            words[task] = [pair for pair in WORD_TASKS[task] if pair[1] in labels]
            kept, of = len(words[task]), len(WORD_TASKS[task])
            if kept <= self.shots:
                raise DataProblem(
                    f"{type(tokenizer).__name__} has {kept} of {of} labels of the task {task!r} as single tokens; "
                    f"{self.shots} shots of 'synthetic:few-shot' need {self.shots + 1} of them; give fewer shots, or "
                    "another task"
                )
            notes += left_out_note(self.name, kept, of, f"words of the task {task}")
        return add_notes(draw_pairs(self.name, tokenizer, count, seed, partial(self._draw, words)), notes)

    def _draw(self, words: dict[str, Words], generator: np.random.Generator, row: int) -> Pair:
        task = self.task[row % len(self.task)]
        *shots, (query, due) = (words[task][at] for at in generator.permutation(len(words[task]))[: self.shots + 1])
        labels = [label for _, label in shots]
        shuffled = [labels[at] for at in _derange(len(labels), generator)]
        clean, corrupted = (_prompt([word for word, _ in shots], each, query) for each in (labels, shuffled))
        wrong = labels[int(generator.integers(len(labels)))]
        return Pair(clean, corrupted, f" {due}", f" {wrong}", {"task": task})


def _prompt(words: list[str], labels: list[str], query: str) -> Filled:
    numbers = range(1, len(words) + 1)
    template = "\n".join([*(f"{{word-{at}}} -> {{label-{at}}}" for at in numbers), "{query} ->"])
    fields = {f"word-{at}": word for at, word in zip(numbers, words, strict=True)}
    fields |= {f"label-{at}": label for at, label in zip(numbers, labels, strict=True)}
    return fill(template, fields | {"query": query})


def _derange(count: int, generator: np.random.Generator) -> np.ndarray:
    """A random permutation that leaves nothing in its place; about every third permutation is one."""
    while True:
        order = generator.permutation(count)
        if not (order == np.arange(count)).any():
            return order
