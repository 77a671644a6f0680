"""The printed curves: points for every tenth of the heads, and nothing for tasks that no paper printed."""

from __future__ import annotations

import pytest

from headcount.reporting.published import find_published

PRINTED = [("mnli", "accuracy"), ("sst2", "accuracy"), ("cola", "matthews"), ("mrpc", "f1")]


@pytest.mark.parametrize(("task", "metric"), PRINTED)
def test_printed_curves(task: str, metric: str) -> None:
    found = find_published(task, metric)
    assert found is not None
    assert "Michel et al. 2019" in found["source"]
    assert len(found["gone"]) == len(found["score"]) >= 10
    assert found["gone"] == pytest.approx([tenth / 10 for tenth in range(len(found["gone"]))])
    assert all(0 <= score <= 1 for score in found["score"])
    assert found["score"][0] > found["score"][-1] + 0.3, "without heads little is left"
    assert max(abs(score - found["score"][0]) for score in found["score"][:3]) < 0.01, (
        "a fifth of the heads costs little"
    )


def test_two_points_as_printed() -> None:
    sst2, mnli = find_published("sst2", "accuracy"), find_published("mnli", "accuracy")
    assert sst2 is not None
    assert mnli is not None
    assert (sst2["score"][0], mnli["score"][5]) == (0.9266, 0.8152)


@pytest.mark.parametrize(("task", "metric"), [("qnli", "accuracy"), ("cola", "accuracy"), ("mine", "f1"), ("", "")])
def test_tasks_that_no_paper_printed(task: str, metric: str) -> None:
    assert find_published(task, metric) is None


def test_a_caller_may_change_what_it_gets() -> None:
    first = find_published("mrpc", "f1")
    assert first is not None
    first["score"].clear()
    assert find_published("mrpc", "f1") != first
