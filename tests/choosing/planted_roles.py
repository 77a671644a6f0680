"""A model with one head that is needed, one that hurts, and six that do nothing; and its roles by gates."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

import headcount as hc
from tests.pruning import planted as parts

NEEDED, HURTING = (0, 0), (1, 2)
PARTS: parts.Parts = {
    "L0H0": (parts.SIGNAL, parts.VERDICT, 1.0),
    "L1H2": (parts.NOISE, parts.VERDICT, 1.0),
}
FACILITATING, INTERFERING, IRRELEVANT, UNCLEAR = range(4)


def model(hurting: bool = True) -> Any:
    """With `hurting=False` the head that hurts is not planted."""
    return parts.classifier({name: part for name, part in PARTS.items() if hurting or name != "L1H2"}, 4.0, 3.0)


def texts(count: int = 80) -> pd.DataFrame:
    return parts.texts(count)


def roles(tokenizer: Any, **options: Any) -> xr.Dataset:
    given: dict[str, Any] = {
        "task": "sst2",
        "max_steps": 40,
        "learning_rate": 0.25,
        "per_device_train_batch_size": 16,
        "seeds": 2,
        "randoms": 4,
    }
    return hc.learn_gates(model(), tokenizer, texts(), roles=True, **given | options)
