"""The printed curves and shares: points for every tenth of the heads, nothing for tasks that no paper printed."""

from __future__ import annotations

import pytest

from headcount.patterns.naming import PATTERNS
from headcount.reporting.published import find_published, find_published_patterns

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


SHARED = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]


@pytest.mark.parametrize("task", SHARED)
def test_printed_shares_of_patterns(task: str) -> None:
    found = find_published_patterns(task)
    assert found is not None
    assert "Kovaleva et al. 2019" in found["source"]
    assert len(found["share"]) == len(PATTERNS)
    assert sum(found["share"]) == pytest.approx(1, abs=0.011)
    assert all(0 < share < 1 for share in found["share"])
    assert sorted(found["share"], reverse=True)[:2] == sorted((found["share"][0], found["share"][4]), reverse=True), (
        "most maps are vertical or heterogeneous"
    )
    found["share"].clear()
    assert find_published_patterns(task) != found


def test_printed_shares_of_seven_tasks_alone() -> None:
    assert len({tuple(find_published_patterns(task)["share"]) for task in SHARED}) == 7  # type: ignore[index]
    for task in ("cola", "mine", "", "MRPC"):
        assert find_published_patterns(task) is None
