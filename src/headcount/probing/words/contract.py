"""What a kind of annotations is: texts made of words, and a question about the attention between these words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from headcount.core.heads import Layout
from headcount.core.probe_names import causal_stacks
from headcount.data.in_memory import InMemory
from headcount.measures.contract import Question, Setting, Values
from headcount.probing.selection.accuracies import halves
from headcount.probing.words.between_words import WordPieces, between_words, from_words, to_words
from headcount.probing.words.sentences import Sentences
from headcount.trace.view import AttentionView

Arc = tuple[int, int, int]
"""A word, the word that a head connects it with, and the one that it should be connected with."""


@dataclass
class SeenWords:
    """One layer in one batch: its attention, the words of the tokens, and the annotations of the texts."""

    view: AttentionView
    pieces: WordPieces
    gold: Any
    """What the question's `batch` returned."""

    @property
    def causal(self) -> bool:
        """Whether words see only those before them."""
        return causal_stacks([self.view.block.stack])

    def between_words(self) -> Tensor:
        """[B, H, N, N]: the attention from word to word, zero from and to words that are not known."""
        return between_words(self.view, self.pieces)

    def from_words(self, chosen: Tensor) -> Tensor:
        """[B, H, C, N]: the attention from some words, `chosen` [B, C], to every word."""
        return from_words(self.view, self.pieces, chosen)

    def to_words(self, chosen: Tensor) -> Tensor:
        """[B, H, C, N]: the attention to some words, `chosen` [B, C], from every word."""
        return to_words(self.view, self.pieces, chosen)


class WordQuestion(Question):
    """A question about attention between words; `whole` gets the counts of every text, in the order of the data.

    With a control, the model with random weights answers it too: its counts are called `random_` and the name. What
    the best head of a relation gets is called `best_accuracy`, what it must be compared with `baseline_` and a name:
    [relation], with schemas (`baseline`) from which page and figure take their words.
    """

    averaged: ClassVar[bool] = False
    excerpts: ClassVar[bool] = False
    """Whether `shown` cuts long texts, so that texts of any length serve as examples."""

    def __init__(self, source: str, control: bool) -> None:
        self.source, self.control = source, control
        self.lost_words: dict[str, int] = {}
        """How many words the tokenizer lost, and how; `probe` enters them."""

    @abstractmethod
    def counts(self) -> dict[str, tuple[str, ...]]:
        """What `see` gives for every text and head: the names and their dimensions after the head."""

    @abstractmethod
    def batch(self, numbers: Sequence[int], words: int, device: Any) -> Any:
        """The annotations of some of the encoded texts, for `words` words a text."""

    @abstractmethod
    def see(self, seen: SeenWords) -> Values:
        """The counts of the texts of a batch and the heads of a layer."""

    def predicted(self, seen: SeenWords) -> Tensor:
        """[B, H, direction, N]: for each word the word that a head connects it with."""
        raise NotImplementedError

    def true_arcs(self, number: int, relation: str, direction: int) -> list[tuple[int, tuple[int, ...]]]:
        """Of an encoded text: the words that a head is asked for in a direction, each with all words that are right.

        The first of these is shown where a head says another one.
        """
        raise NotImplementedError

    def shown(self, number: int, words: Sequence[str], arcs: list[Arc]) -> tuple[list[str], list[Arc]]:
        """Of an encoded text as an example: the words and arcs that are shown."""
        return list(words), arcs

    def held_out(self, ids: np.ndarray, seed: int) -> np.ndarray:
        """The numbers of the encoded texts, whose numbers in the data are `ids`, that did not select the best heads."""
        order = np.argsort(ids)
        held_out: np.ndarray = order[~halves(len(order), seed)]
        return held_out

    @property
    def lost(self) -> dict[str, int]:
        """How many annotations are no cases, and why, beside the words that the tokenizer lost."""
        return {}

    def notes(self) -> dict[str, Any]:
        return {"from_word": self.source, "lost": {**self.lost_words, **self.lost}}

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        counted = self.counts()
        return {**counted, **({f"random_{name}": dims for name, dims in counted.items()} if self.control else {})}


@dataclass(frozen=True)
class Kind(ABC):
    """One kind of annotations, with its own options."""

    name: ClassVar[str]
    least: ClassVar[int] = 2
    """Texts that it needs: one half selects, the other evaluates."""

    @abstractmethod
    def read(self, data: str | Path | InMemory, tokenizer: Any, longest: int) -> list[Any]:
        """The texts, each with a `name` and `words`, checked; what is longer than `longest` tokens may be cut here."""

    @abstractmethod
    def ask(self, sentences: Sentences, layout: Layout, source: str, control: bool) -> WordQuestion:
        """The question about the texts that were encoded; `sentences.inputs.ids` are their numbers in the data."""
