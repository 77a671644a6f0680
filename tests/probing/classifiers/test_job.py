"""Which words are predicted, what right-branching gets, who trains and who evaluates, and what is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headcount.data.annotations import Annotated
from headcount.errors import DataProblem
from headcount.probing.classifiers import job as classifier_job
from headcount.probing.classifiers.cases import NO_CASE
from headcount.probing.classifiers.job import (
    ClassifierJob,
    count_right_branching,
    gold_heads,
    prepare_job,
    without_long,
)
from headcount.probing.classifiers.word_vectors import own_vectors
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.words.sentences import Sentences, encode_sentences
from tests.measures.tiny import masked
from tests.probing.treebank import sentences

MODEL, TOKENIZER = masked()


def encoded(table: pd.DataFrame, limit: int | None = None) -> Sentences:
    return encode_sentences(DependencyTrees().read(table, TOKENIZER, 64), MODEL, TOKENIZER, limit, 0, 64)


def prepared(table: pd.DataFrame, seed: int = 0) -> ClassifierJob:
    some = encoded(table)
    return prepare_job(some, 0, own_vectors(MODEL, some), [], seed)


def test_punctuation_and_lost_words_are_not_predicted() -> None:
    words = ("she", "saw", "him", "!", "then")
    sentence = Annotated("1", words, ("X",) * 5, ("nsubj", "root", "obj", "punct", "advmod"), (2, 0, 2, 2, 2), {})
    assert gold_heads(sentence, [True] * 5).tolist() == [NO_CASE, 2, 0, 2, NO_CASE, 2]
    assert gold_heads(sentence, [True, True, False, True, True]).tolist() == [NO_CASE, 2, 0, NO_CASE, NO_CASE, 2]
    assert gold_heads(sentence, [True, False, True, True, True]).tolist() == [NO_CASE] * 6, "the head of all is lost"


def test_right_branching() -> None:
    assert count_right_branching(np.array([NO_CASE, 2, 3, 0])) == 3, "the last word hangs on ROOT"
    assert count_right_branching(np.array([NO_CASE, 0, 1, 2])) == 0
    assert count_right_branching(np.array([NO_CASE, 2, NO_CASE, 2])) == 1


def test_the_parts_are_those_of_the_data() -> None:
    job = prepared(sentences(40))
    parts = [job.training, job.development, job.test]
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    again, other = prepared(sentences(40)), prepared(sentences(40), seed=1)
    assert (again.test == job.test).all()
    assert (other.test != job.test).any()
    [case] = job.cases(job.test[:1], None)
    assert case.heads.tolist() == job.golds[job.test[0]].tolist()
    assert job.test_words[0] == (case.heads != NO_CASE).sum()
    assert not case.vectors[0].any()


def test_long_sentences_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sentences(40)
    monkeypatch.setattr(classifier_job, "MOST_WORDS", 8)
    some, too_long = without_long(encoded(table))
    short = table["tokens"].map(len) <= 8
    assert too_long == (~short).sum() > 0
    assert sorted(some.inputs.ids.tolist()) == np.flatnonzero(short).tolist(), "rows keep their numbers"
    assert all(len(one.words) == len(known) <= 8 for one, known in zip(some.annotated, some.known, strict=True))


def test_too_few_sentences() -> None:
    with pytest.raises(DataProblem, match="got 9 sentences of at most 60 words; expected at least 10"):
        prepared(sentences(9))


def test_nothing_to_evaluate() -> None:
    row = (["dog", "."], ["X"] * 2, [0, 1], ["punct", "punct"])
    table = pd.DataFrame([row] * 12, columns=["tokens", "upos", "heads", "deprels"])
    with pytest.raises(DataProblem, match="no words but punctuation"):
        prepared(table)
