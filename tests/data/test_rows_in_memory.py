"""Rows in memory give every function the same numbers as the data frame of them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.training.trainer import Settings
from tests import planted

ROWS = planted.texts(60).to_dict("records")
TABLE = pd.DataFrame(ROWS)


def others(model: Any, tokenizer: Any, data: Any, place: Path) -> dict[str, Any]:
    """What further functions compute of the data: numbers that differ if they read anything else."""
    shared: dict[str, Any] = {"task": "sst2"}
    short: dict[str, Any] = {"steps": 2, "randoms": 1}
    teach: dict[str, Any] = {"max_steps": 1, "per_device_train_batch_size": 8}
    trained = copy.deepcopy(model)
    hc.recover(trained, tokenizer, data, **shared, **teach)
    folder = place.parent / "model"
    smaller = hc.prune(copy.deepcopy(model), ["L0H0"])
    hc.refit(smaller, model, tokenizer, data, **shared)
    settings = Settings(num_train_epochs=1, per_device_train_batch_size=32)
    return {
        "importance": hc.importance(model, tokenizer, data, **shared)["michel"].values,
        "curve": hc.curve(model, tokenizer, data, **shared, **short)["score"].values,
        "choose": hc.choose(model, tokenizer, data, drop=1, **shared, **short).heads,
        "parts": hc.choose(model, tokenizer, data, what="both", weights=0.95, train=data[:40], **shared, **short).parts,
        "gates": hc.learn_gates(model, tokenizer, data, max_steps=1, **shared)["gate"].values,
        "means": hc.sweep(model, tokenizer, TABLE, how="mean", reference=data, **shared)["score"].values,
        "compare": hc.compare(model, trained, tokenizer, data)["cosine"]["maps"].values,
        "patterns": hc.find_patterns(model, tokenizer, data)["typical"]["maps"].values,
        "recover": trained(**trained.dummy_inputs).logits.detach().numpy(),
        "refit": smaller(**smaller.dummy_inputs).logits.detach().numpy(),
        "finetune": hc.finetune(folder, "sst2", data, place, settings=settings)["score"].values,
    }


@pytest.mark.filterwarnings("ignore::headcount.errors.HeadcountWarning")
def test_every_function_takes_rows(tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path)
    planted.save(tmp_path / "model")
    found, expected = (others(model, tokenizer, data, tmp_path / type(data).__name__) for data in (ROWS, TABLE))
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
