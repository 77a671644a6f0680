"""Weights that are not finite are refused by name, everywhere and before anything is computed with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.choosing.gates import learn_gates
from headcount.errors import NotFinite
from headcount.models.finite_weights import check_weights
from headcount.models.load import load_model
from tests import planted
from tests.contracts.zoo import CASES, tiny

LATE = "encoder.layer.1.output.dense.weight"


def spoil(model: Any, *values: float, name: str = LATE) -> Any:
    with torch.no_grad():
        tensor = next(tensor for key, tensor in model.state_dict().items() if key.endswith(name))
        for place, value in enumerate(values):
            tensor.view(-1)[7 + place] = value
    return model


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_one_bad_value_is_found_by_name(value: float, dtype: torch.dtype) -> None:
    model = tiny("bert").to(dtype)
    check_weights(model)
    with pytest.raises(NotFinite, match=rf"^1 of 1,280 values of {LATE} are NaN or infinite in BertModel"):
        check_weights(spoil(model, value))


def test_how_many_values_and_tensors() -> None:
    model = spoil(tiny("bert"), float("nan"), float("inf"), float("-inf"))
    spoil(model, float("nan"), name="pooler.dense.bias")
    with pytest.raises(NotFinite, match=rf"3 of 1,280 values of {LATE} \(and of 1 more tensors\)"):
        check_weights(model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_family_is_refused(case: Any) -> None:
    for dtype in (torch.float32, torch.float16):
        check_weights(tiny(case.name, "eager").to(dtype))


def test_a_mask_may_be_infinite_but_not_nan() -> None:
    model = tiny("bert")
    model.register_buffer("mask", torch.full((3, 3), float("-inf")).triu(1))
    check_weights(model)
    model.mask[0, 0] = float("nan")
    with pytest.raises(NotFinite, match="values of mask are"):
        check_weights(model)


def test_the_weights_are_read_in_place() -> None:
    """Whatever the size of the largest tensor: no copy of it is made."""
    model = tiny("bert")
    model.wide = torch.nn.Parameter(torch.ones(4_000_000))
    with torch.profiler.profile(profile_memory=True) as seen:
        check_weights(model)
    largest = max((event.self_cpu_memory_usage for event in seen.key_averages()), default=0)
    assert largest < 100_000


def test_refused_when_loaded(tmp_path: Path) -> None:
    spoil(tiny("bert"), float("nan")).save_pretrained(tmp_path)
    with pytest.raises(NotFinite, match=f"values of {LATE} .* in {tmp_path}; restore the checkpoint$"):
        load_model(tmp_path)


def test_weights_that_float16_cannot_hold(tmp_path: Path) -> None:
    spoil(tiny("bert"), 1e6).save_pretrained(tmp_path)
    load_model(tmp_path, dtype=torch.bfloat16)
    with pytest.raises(NotFinite, match=f"{LATE} .* dtype=float32"):
        load_model(tmp_path, dtype=torch.float16)


DATA = planted.texts(40)
CALLS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "sweep": lambda model, words, _: hc.sweep(model, words, DATA, task="sst2", how="uniform"),
    "importance": lambda model, words, _: hc.importance(model, words, DATA, task="sst2"),
    "gates": lambda model, words, _: learn_gates(model, words, DATA, task="sst2", max_steps=1),
    "measure": lambda model, words, _: hc.measure(model, words, DATA, text="sentence"),
    "patterns": lambda model, words, _: hc.find_patterns(model, words, DATA, text="sentence"),
    "compare": lambda model, words, _: hc.compare(model, planted.classifier(), words, DATA, text="sentence"),
    "compared": lambda model, words, _: hc.compare(planted.classifier(), model, words, DATA, text="sentence"),
    "maps": lambda model, words, _: hc.maps(model, words, "so good"),
    "prune": lambda model, words, _: hc.prune(model, "L0H1"),
    "save": lambda model, words, place: hc.save(model, words, place / "saved"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_model_in_memory_is_refused_too(name: str, tmp_path: Path) -> None:
    model = spoil(planted.classifier(), float("nan"), name="layer.1.attention.self.key.bias")
    with pytest.raises(NotFinite, match=r"1 of 8 values of bert.encoder.layer.1.attention.self.key.bias"):
        CALLS[name](model, planted.tokenizer(tmp_path), tmp_path)
    assert not (tmp_path / "saved").exists()
