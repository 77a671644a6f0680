"""What classifiers are trained on: sentences with their trees, word vectors, and who trains, stops and evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headcount.core.heads import Head
from headcount.core.probe_names import MOST_WORDS
from headcount.data.annotations import Annotated, base_relation
from headcount.errors import DataProblem
from headcount.probing.classifiers.cases import NO_CASE, Case
from headcount.probing.classifiers.training import split_sentences
from headcount.probing.classifiers.word_attention import RootedWords, add_root
from headcount.probing.classifiers.word_vectors import WordVectors
from headcount.probing.dependencies.trees import check_tree
from headcount.probing.words.sentences import Sentences

LEAST = 10
"""Sentences that are needed: one stops the training, one evaluates, the others train."""
PUNCTUATION = "punct"
"""Words with this relation are not predicted, as in the paper, but they can be chosen."""


@dataclass(frozen=True)
class ClassifierJob:
    """Sentences are numbered as they were encoded."""

    sentences: Sentences
    too_long: int
    """Sentences that were left out."""
    rooted: RootedWords
    golds: list[np.ndarray]
    """[M] for each sentence: the candidate that is the head of each, or `NO_CASE`."""
    vectors: WordVectors
    heads: list[Head]
    training: np.ndarray
    development: np.ndarray
    test: np.ndarray

    @property
    def test_words(self) -> np.ndarray:
        """Of each test sentence, how many words are predicted."""
        return np.array([(self.golds[number] != NO_CASE).sum() for number in self.test], dtype=float)

    @property
    def right_branching(self) -> np.ndarray:
        """Of each test sentence, how many words have the next word as head; the last word is to have ROOT."""
        return np.array([count_right_branching(self.golds[number]) for number in self.test], dtype=float)

    @property
    def lost(self) -> int:
        """Words without a token of their own: they are neither predicted nor chosen."""
        return sum(not flag for flags in self.sentences.known for flag in flags)

    def cases(self, numbers: Sequence[int] | np.ndarray, attention: Sequence[Tensor] | None) -> list[Case]:
        """Some sentences as a classifier takes them, with the attention of all sentences or without."""
        return [self._case(number, None if attention is None else attention[number]) for number in numbers]

    def _case(self, number: int, attention: Tensor | None) -> Case:
        vectors = self.vectors.rows[number]
        device = vectors.device
        return Case(
            torch.from_numpy(self.golds[number]).to(device),
            torch.tensor([True, *self.rooted.known[number][1:]], device=device),
            torch.cat([vectors.new_zeros(1, vectors.shape[1]), vectors]),
            attention,
        )


def prepare_job(
    sentences: Sentences, too_long: int, vectors: WordVectors, heads: list[Head], seed: int
) -> ClassifierJob:
    """The sentences, split; an error where there are too few of them or a tree is none."""
    count = len(sentences.annotated)
    if count < LEAST:
        raise DataProblem(
            f"got {count} sentences of at most {MOST_WORDS} words; expected at least {LEAST}: most train the "
            "classifiers, a tenth stops the training and a tenth evaluates; give more"
        )
    golds = [gold_heads(sentence, known) for sentence, known in zip(sentences.annotated, sentences.known, strict=True)]
    # Split in the order of the data: that in which sentences are encoded has no meaning.
    order = np.argsort(sentences.inputs.ids)
    split = split_sentences(count, seed)
    parts = (order[part] for part in (split.train, split.development, split.test))
    job = ClassifierJob(sentences, too_long, add_root(sentences), golds, vectors, heads, *parts)
    if not job.test_words.sum():
        raise DataProblem("the test sentences have no words but punctuation; expected others; give more sentences")
    return job


def without_long(sentences: Sentences) -> tuple[Sentences, int]:
    """The sentences of at most `MOST_WORDS` words, and how many others there are."""
    kept = [number for number, one in enumerate(sentences.annotated) if len(one.words) <= MOST_WORDS]
    inputs = sentences.inputs
    some = replace(
        inputs,
        rows=[inputs.rows[number] for number in kept],
        facts=[inputs.facts[number] for number in kept],
        targets=None if inputs.targets is None else [inputs.targets[number] for number in kept],
        lengths=inputs.lengths[kept],
        ids=inputs.ids[kept],
        texts=[inputs.texts[number] for number in kept],
    )
    shorter = Sentences(
        [sentences.annotated[number] for number in kept],
        some,
        [sentences.words[number] for number in kept],
        [sentences.known[number] for number in kept],
        sentences.lost,
    )
    return shorter, len(sentences.annotated) - len(kept)


def gold_heads(sentence: Annotated, known: Sequence[bool]) -> np.ndarray:
    """[M]: the head of each word, 0 for ROOT; `NO_CASE` for ROOT itself, punctuation, and where a word is lost."""
    check_tree(sentence)
    gold = np.full(len(sentence.words) + 1, NO_CASE, dtype=np.int64)
    for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
        if base_relation(deprel) != PUNCTUATION and known[word] and (head == 0 or known[head - 1]):
            gold[word + 1] = head
    return gold


def count_right_branching(gold: np.ndarray) -> int:
    """For how many words the head is the next word, for the last one ROOT."""
    following = (np.arange(len(gold)) + 1) % len(gold)
    return int(((gold == following) & (gold != NO_CASE)).sum())
