"""A small run over five examples in three units, and what it gives for each unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.core.provenance import Origin
from headcount.core.results import ArrayPlan, Labelled
from headcount.engines.run import Arrays, Run, Unit

IDS = np.array([7, 0, 12, 3, 5])  # from long to short, as they are run
UNITS = [(0, 2), (2, 4), (4, 5)]
ORIGIN = Origin({"model": "aaaa", "data": "bbbb", "seed": 0, "dtype": "float32"}, {"model": "bert-a", "device": "cpu"})
SIZES = np.random.default_rng(0).random((5, 2), dtype=np.float32)
WORDS = np.array([["a", "b", "c", "d", "e"], ["v", "w", "x", "y", "z"]], dtype=object)


def summary(arrays: Arrays) -> Labelled:
    """What depends on the order of the examples: the first and the last one."""
    ends = arrays["sizes"][[0, -1]]
    return {"ends": (("end", "head"), ends), "said": ((), np.asarray(arrays["words"][0, 0], dtype=object))}


def make_run(group: str = "measures/toy", units: Any = UNITS, **options: Any) -> Run:
    return Run(
        group,
        ORIGIN,
        {"measure": "toy", **options},
        {"task": "none"},
        summary,
        {
            "sizes": ArrayPlan(("example", "head"), (5, 2), "float32"),
            "words": ArrayPlan(("kind", "example"), (2, 5), "string"),
        },
        {"example": (("example",), IDS), "kind": (("kind",), np.array(["one", "two"], dtype=object))},
        units,
    )


def work(unit: Unit) -> dict[str, Arrays]:
    part = slice(unit.start, unit.stop)
    return {group: {"sizes": SIZES[part], "words": WORDS[:, part]} for group in unit.groups}


def missing(attributes: Mapping[str, Any]) -> list[str]:
    """The parts of its provenance that a result's attributes lack: [] if it is complete."""
    identity = attributes.get("identity", {})
    present = {
        "model": "model" in identity or "models" in identity,
        "data": "data" in identity,
        "seed": "seed" in identity,
        "versions": bool(attributes.get("versions")),
        "device": bool(attributes.get("device")),
    }
    return [name for name, there in present.items() if not there]
