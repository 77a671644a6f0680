"""Sweeps on the device: equal to a loop over `ablated`, independent of batches, and as good in 16 bits."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from tests import planted
from tests.gpu.device import DEVICE, DTYPE, GPU, ON_GPU, TOLERANCE, Record, spelled
from tests.pruning import jobs

pytestmark = GPU

HALF = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=spelled)
SAME = {torch.float16: 0.995, torch.bfloat16: 0.98}
"""The share of predictions that float32 makes too; docs/benchmarks.md has the shares of a larger run."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def random_model(dtype: torch.dtype = torch.float32) -> Any:
    return jobs.random_model().to(DEVICE, dtype)


@DTYPE
@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_equal_to_a_loop_over_ablated(tokenizer: Any, how: str, dtype: torch.dtype) -> None:
    model, data = random_model(dtype), planted.texts(40)
    means, reference = None, None
    if how == "mean":
        reference = planted.texts(20, seed=1)
        encoded = [dict(tokenizer(text, return_tensors="pt").to(DEVICE)) for text in reference["sentence"]]
        means = hc.mean_outputs(model, encoded)
    found = hc.sweep(model, tokenizer, data, task="sst2", how=how, reference=reference)["logits"]
    batch = tokenizer(list(data["sentence"]), padding=True, return_tensors="pt").to(DEVICE)
    for head in hc.read_anatomy(model).layout:
        with torch.no_grad(), hc.ablated(model, head, how=how, reference=means):
            expected = model(**batch).logits.float().cpu().numpy()
        here = found.sel(stack=head.stack, layer=head.layer, head=head.head).values
        assert np.abs(here - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max(), head


@DTYPE
def test_batches_and_order_do_not_matter(tokenizer: Any, dtype: torch.dtype) -> None:
    model, data = random_model(dtype), planted.texts(40)
    first = hc.sweep(model, tokenizer, data, task="sst2", compute=hc.Compute(batch_tokens=20), how="uniform")["logits"]
    second = hc.sweep(model, tokenizer, data, task="sst2", compute=hc.Compute(batch_tokens=4000), how="uniform")[
        "logits"
    ]
    turned = hc.sweep(model, tokenizer, data.iloc[::-1].reset_index(drop=True), task="sst2", how="uniform")["logits"]
    largest = float(np.abs(first).max())
    assert float(np.abs(first - second).max()) <= TOLERANCE[dtype] * largest
    assert float(np.abs(first.values - turned.values[..., ::-1, :]).max()) <= TOLERANCE[dtype] * largest


@HALF
def test_planted_heads_are_found_in_16_bits(tokenizer: Any, dtype: torch.dtype) -> None:
    result = hc.sweep(planted.classifier().to(DEVICE, dtype), tokenizer, planted.texts(), task="sst2", how="zero")
    assert float(result["baseline"]) == pytest.approx(0.7)
    assert float(result["delta"].sel(stack="encoder", layer=0, head=0)) < 0
    assert float(result["score"].sel(stack="encoder", layer=0, head=1)) == 1
    assert float(np.abs(result["delta"].sel(stack="encoder", layer=1)).max()) == 0
    assert str(result["best"].values) == "L0H1"


@pytest.fixture(scope="module")
def exact() -> xr.Dataset:
    """The sweep of the bundled model in float32."""
    return bundled_sweep(torch.float32)


def bundled_sweep(dtype: torch.dtype) -> xr.Dataset:
    """A trained model, all heads; on a CPU fewer pairs and one layer."""
    model, tokenizer = hc.load(hc.bundled("qnli"))
    less: dict[str, Any] = {} if ON_GPU else {"limit": 24, "by": [f"L5H{head}" for head in range(12)]}
    return hc.sweep(model.to(DEVICE, dtype), tokenizer, hc.bundled_pairs(), task="qnli", **{"limit": 200, **less})


@HALF
def test_16_bits_predict_what_float32_predicts(exact: xr.Dataset, dtype: torch.dtype, record_property: Record) -> None:
    found = bundled_sweep(dtype)
    same = float((found["logits"].argmax("class") == exact["logits"].argmax("class")).mean())
    record_property("predictions", int(exact["logits"].isel({"class": 0}).size))
    record_property("same_predictions", same)
    assert same >= SAME[dtype]
    assert float(np.abs(found["score"] - exact["score"]).max()) <= 3 * (1 - SAME[dtype])
    assert not np.array_equal(found["logits"], exact["logits"]), "the dtype made no difference"


@DTYPE
def test_a_study_holds_the_same_as_the_memory(tokenizer: Any, dtype: torch.dtype, tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="a study folder needs zarr, which is not installed here")
    model, data = random_model(dtype), planted.texts(40)
    expected = hc.sweep(
        copy.deepcopy(model), tokenizer, data, task="sst2", compute=hc.Compute(batch_tokens=60), how="uniform"
    )
    for _ in range(2):  # the second call reads what the first one wrote
        found = hc.sweep(
            model,
            tokenizer,
            data,
            task="sst2",
            out=tmp_path / "study",
            compute=hc.Compute(batch_tokens=60),
            how="uniform",
        )
        np.testing.assert_array_equal(found["logits"], expected["logits"])
        np.testing.assert_array_equal(found["score"], expected["score"])
