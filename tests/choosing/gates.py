"""Gates learned in a few steps, of a model that needs one head."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headcount.choosing.gates import learn_gates
from tests.pruning import planted as parts

NEEDED = (0, 1)


def needy() -> Any:
    """A model that needs L0H1 and nothing else."""
    return parts.classifier(parts.NEEDED, parts.STEEP, loud=3)


def learn(model: Any, tokenizer: Any, data: Any = None, **options: Any) -> xr.Dataset:
    given: dict[str, Any] = {
        "task": "sst2",
        "price": (0.05,),
        "max_steps": 3,
        "per_device_train_batch_size": 8,
    } | options
    return learn_gates(model, tokenizer, parts.texts() if data is None else data, **given)
