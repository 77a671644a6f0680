"""The lists of words: long enough, and without a word that could stand for two."""

from __future__ import annotations

import pytest

from headcount.data.synthetic.word_tasks import WORD_TASKS


@pytest.mark.parametrize("task", WORD_TASKS)
def test_a_list_has_each_word_once(task: str) -> None:
    words = [word.lower() for pair in WORD_TASKS[task] for word in pair]
    assert len(WORD_TASKS[task]) >= 30
    assert len(set(words)) == len(words)
