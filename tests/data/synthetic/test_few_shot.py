"""Word tasks by examples: right labels in the prompt, permuted ones in the counterpart, words that are left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.data.source_notes import notes_of
from headcount.data.synthetic.few_shot import FewShot
from headcount.data.synthetic.word_tasks import WORD_TASKS
from headcount.errors import DataProblem
from tests import planted
from tests.data.kinds.test_completion import decoder
from tests.data.synthetic.tokenizers import make

TASKS = ("opposites", "plural", "past-tense")


@given(shots=st.integers(2, 7), seed=st.integers(0, 999), kind=st.sampled_from(["bpe", "wordpiece", "unigram"]))
def test_labels_are_right_in_the_prompt_and_none_is_in_the_counterpart(shots: int, seed: int, kind: str) -> None:
    for row in FewShot(task=TASKS, shots=shots).table(make(kind), 6, seed).itertuples():
        right = dict(WORD_TASKS[row.task])
        *given_shots, query = (line.split(" -> ") for line in row.prompt.split("\n"))
        *shuffled, other_query = (line.split(" -> ") for line in row.counterpart.split("\n"))
        assert len(given_shots) == shots
        assert all(right[word] == label for word, label in given_shots)
        assert query == other_query == [f"{query[0].removesuffix(' ->')} ->"]
        assert row.completion == f" {right[query[0].removesuffix(' ->')]}"
        assert [word for word, _ in shuffled] == [word for word, _ in given_shots]
        assert sorted(label for _, label in shuffled) == sorted(label for _, label in given_shots)
        assert all(right[word] != label for word, label in shuffled)
        assert row.wrong.strip() in [label for _, label in given_shots]
        assert row.completion not in row.prompt


def test_tasks_take_turns() -> None:
    table = FewShot(task=("plural", "opposites"), shots=2).table(make("bpe"), 4, 0)
    assert table["task"].tolist() == ["plural", "opposites"] * 2


def test_what_is_left_out_is_noted_in_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = make("bpe")
    kept = [label for _, label in WORD_TASKS["plural"] if len(tokenizer(f" {label}")["input_ids"]) == 1]
    of = len(WORD_TASKS["plural"])
    note = f"synthetic:few-shot leaves out {of - len(kept)} of {of} words of the task plural: not a single token"
    spec = "synthetic:few-shot,task=plural,shots=3"
    table = hc.Synthetic("few-shot", task="plural", shots=3).read(tokenizer, 4, 0)
    assert notes_of(table.attrs)[0].startswith(note)
    assert hc.sweep(decoder(), tokenizer, spec, limit=4, by="layer").attrs["notes"][0].startswith(note)
    assert hc.measure(decoder(), tokenizer, spec, limit=4, only="entropy").attrs["notes"][0].startswith(note)
    assert capsys.readouterr().out == ""


def test_too_few_words(tmp_path: Any) -> None:
    with pytest.raises(DataProblem, match="has 0 of .* labels of the task 'plural' .* 2 shots .* need 3 of them"):
        FewShot(task=("plural",), shots=2).table(planted.tokenizer(tmp_path), 1, 0)
    with pytest.raises(DataProblem, match="99 shots of 'synthetic:few-shot' need 100 of them; give fewer shots"):
        FewShot(shots=99).table(make("wordpiece"), 1, 0)
