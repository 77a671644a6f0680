"""Published curves and shares of patterns, by task, to draw beside one's own."""

from __future__ import annotations

from typing import Any

MICHEL = "BERT-base, Michel et al. 2019"
_POINTS: dict[tuple[str, str], tuple[str, tuple[float, ...]]] = {
    ("mnli", "accuracy"): (
        f"{MICHEL}, Figure 3b",
        (0.8359, 0.8353, 0.8358, 0.8336, 0.8276, 0.8152, 0.7937, 0.7537, 0.5381, 0.3912, 0.3182),
    ),
    ("sst2", "accuracy"): (
        f"{MICHEL}, Figure 6a",
        (0.9266, 0.9278, 0.9255, 0.9266, 0.9243, 0.9197, 0.9174, 0.8819, 0.8222, 0.742, 0.5092),
    ),
    ("cola", "matthews"): (
        f"{MICHEL}, Figure 6b",
        (0.5885, 0.5861, 0.5857, 0.5892, 0.5911, 0.5914, 0.5571, 0.4823, 0.3236, 0.0284, 0.0),
    ),
    ("mrpc", "f1"): (
        f"{MICHEL}, Figure 6c",
        (0.8943, 0.8943, 0.8893, 0.8956, 0.8911, 0.8945, 0.8736, 0.8382, 0.5962, 0.0987),
    ),
}
"""By task and metric: the score with 0, 10, ... % of the heads removed, ordered by importance."""


KOVALEVA = "BERT-base, Kovaleva et al. 2019, Figure 2"
_SHARES = {
    "mrpc": (0.42, 0.07, 0.19, 0.04, 0.28),
    "stsb": (0.29, 0.04, 0.08, 0.06, 0.53),
    "sst2": (0.36, 0.06, 0.13, 0.04, 0.41),
    "qqp": (0.25, 0.07, 0.07, 0.03, 0.58),
    "rte": (0.41, 0.06, 0.14, 0.04, 0.35),
    "qnli": (0.34, 0.05, 0.23, 0.03, 0.35),
    "mnli": (0.22, 0.05, 0.12, 0.03, 0.58),
}
"""By task: the share of maps that are vertical, diagonal, both, block and heterogeneous."""


def find_published_patterns(task: str) -> dict[str, Any] | None:
    """The published shares of patterns after fine-tuning on a task; None if there are none.

    >>> find_published_patterns("mrpc")["share"][0]
    0.42
    """
    shares = _SHARES.get(task)
    return None if shares is None else {"source": KOVALEVA, "share": list(shares)}


def find_published(task: str, metric: str) -> dict[str, Any] | None:
    """The published pruning curve of a task: shares of removed heads and scores; None if there is none.

    >>> find_published("sst2", "accuracy")["score"][0]
    0.9266
    """
    if (task, metric) not in _POINTS:
        return None
    source, scores = _POINTS[task, metric]
    return {"source": source, "gone": [step / 10 for step in range(len(scores))], "score": list(scores)}
