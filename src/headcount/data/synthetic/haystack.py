"""Text to hide a fact in: the sentences of a file, or of the bundled texts, with their lengths in tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headcount.data.tables import read_table
from headcount.data.text_lines import read_lines
from headcount.errors import DataProblem
from headcount.zoo.bundled import bundled_pairs

LONGEST = 40
"""Words of a sentence at most; a longer one, as in a text without full stops, is divided."""


@dataclass(frozen=True)
class Haystack:
    """Sentences in their order, and how many tokens each has after a space."""

    name: str
    sentences: list[str]
    lengths: np.ndarray

    def draw(self, room: int, generator: np.random.Generator) -> tuple[list[str], np.ndarray]:
        """Consecutive sentences from a random one on, as many as fit into `room` tokens, and their lengths.

        After the last sentence of the text follows its first; no sentence is used twice.
        """
        total = int(self.lengths.sum())
        if total < room:
            raise DataProblem(
                f"{self.name} has {total:,} tokens, too few for a text of {room:,}; give a longer one, such as "
                "'synthetic:needle,text=novel.txt', or a smaller number of tokens"
            )
        order = np.roll(np.arange(len(self.sentences)), -int(generator.integers(len(self.sentences))))
        count = int((self.lengths[order].cumsum() <= room).sum())
        return [self.sentences[number] for number in order[:count]], self.lengths[order[:count]]


def read_haystack(path: Path | None, tokenizer: Any) -> Haystack:
    """The sentences of a text file; without one, those of the bundled pairs."""
    if path is None:
        name, sentences = "the bundled text", read_table(bundled_pairs())["sentence"].tolist()
    else:
        name, sentences = str(path), split_sentences("\n".join(read_lines(path, "some text")))
    encoded = tokenizer([f" {sentence}" for sentence in sentences], add_special_tokens=False, verbose=False)
    return Haystack(name, sentences, np.array([len(ids) for ids in encoded["input_ids"]]))


def split_sentences(text: str) -> list[str]:
    """Sentences, roughly: up to a full stop, question mark or exclamation mark, with single spaces.

    >>> split_sentences("It rained. We\\nstayed at home!")
    ['It rained.', 'We stayed at home!']
    """
    sentences = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        words = sentence.split()
        sentences += [" ".join(words[start : start + LONGEST]) for start in range(0, len(words), LONGEST)]
    return sentences
