"""Does a well-known task have its question, however its name is spelled?"""

from __future__ import annotations

import pytest

from headcount.data.tasks import GLUE
from headcount.story.asks import ask


@pytest.mark.parametrize("name", [*GLUE, "SST-2", "causal-lm", "masked-lm", "translation"])
def test_well_known_tasks_ask_something(name: str) -> None:
    assert ask(name).endswith("?")


def test_a_task_of_ones_own_asks_nothing() -> None:
    assert ask("my-task") == ""
