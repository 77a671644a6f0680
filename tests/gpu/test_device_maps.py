"""A model that is partly offloaded, or runs partly on the CPU, gives what the whole model gives on the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from accelerate.hooks import AlignDevicesHook, add_hook_to_module

import headcount as hc
from headcount.models.dispatched import input_device, is_dispatched
from headcount.models.fingerprint import model_fingerprint
from headcount.models.load import load_model
from tests.closeness import assert_same
from tests.contracts.two_parts import two_parts
from tests.contracts.zoo import BY_NAME, build
from tests.gpu.device import DEVICE, GPU, ON_GPU, to_device
from tests.measures.planted import WORDS
from tests.measures.tiny import bare_tokenizer

pytestmark = GPU

FAR = ("cpu", "disk", "runs on the CPU")
WITHIN = 1e-5
"""Float64, but for the norms, which are float32 inside, and results that are stored in float32."""
TEXTS = pd.DataFrame(
    {"text": [" ".join(WORDS[5 + (7 * row + 3 * at) % 40] for at in range(8 + row % 3)) for row in range(6)]}
)


@pytest.fixture(scope="module", params=FAR)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A small Llama on the device, and the same one with its upper layers elsewhere."""
    case, folder = BY_NAME["llama"], tmp_path_factory.mktemp("llama")
    config = tf.LlamaConfig(**case.options | {"vocab_size": len(WORDS)})
    whole = build(tf.LlamaForCausalLM, config, "sdpa", case.spread).double()
    whole.save_pretrained(folder)
    near = str(DEVICE) if not ON_GPU else 0
    if request.param in ("cpu", "disk"):
        parts = load_model(folder, device_map=two_parts(whole, near, request.param), dtype=whole.dtype)
    else:
        parts = load_model(folder, dtype=whole.dtype).to(DEVICE)
        _run_on_cpu(parts, [*parts.model.layers[1:], parts.lm_head])
    return whole.to(DEVICE), parts


def _run_on_cpu(model: Any, modules: list[torch.nn.Module]) -> None:
    """Let some modules run on the CPU and all others on the device, as between two GPUs."""
    for module in model.modules():
        if not list(module.children()):
            add_hook_to_module(module, AlignDevicesHook(DEVICE))
    add_hook_to_module(model, AlignDevicesHook(DEVICE, io_same_device=True))
    add_hook_to_module(model.model.norm, AlignDevicesHook(DEVICE))
    for module in modules:
        for part in module.modules():
            add_hook_to_module(part, AlignDevicesHook("cpu", place_submodules=True))


def batch() -> dict[str, torch.Tensor]:
    return to_device(dict(bare_tokenizer()(list(TEXTS["text"]), padding=True, return_tensors="pt")))


def test_inputs_go_to_the_device(pair: tuple[Any, Any]) -> None:
    whole, parts = pair
    assert input_device(parts).type == DEVICE.type
    assert model_fingerprint(parts) == model_fingerprint(whole)
    if ON_GPU:
        assert is_dispatched(parts)


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_ablated(pair: tuple[Any, Any], how: str) -> None:
    results = []
    for model in pair:
        reference = hc.mean_outputs(model, batch()) if how == "mean" else None
        with torch.no_grad(), hc.ablated(model, ["L0H1", "L2H0"], how=how, reference=reference):
            results.append(model(**batch()).logits)
    assert_same(results[1], results[0], WITHIN)


def test_gated_and_observed(pair: tuple[Any, Any]) -> None:
    given = batch()
    results, seen = [], []
    for model in pair:
        with torch.no_grad(), hc.gated(model, torch.linspace(0, 2, 12).view(3, 4)):
            results.append(model(**given).logits)
        seen.append(hc.observe(model, given | {"labels": given["input_ids"]}, gradients=True))
    assert_same(results[1], results[0], WITHIN)
    for kind in ("maps", "outputs", "output_gradients", "map_gradients"):
        assert_same(getattr(seen[1], kind)["decoder"], getattr(seen[0], kind)["decoder"], WITHIN, kind)


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_sweeps(pair: tuple[Any, Any], how: str, tmp_path: Path) -> None:
    reference = TEXTS if how == "mean" else None
    first, second = (
        hc.sweep(model, bare_tokenizer(), TEXTS, task="causal-lm", how=how, reference=reference) for model in pair
    )
    assert_same(second["loss"], first["loss"], WITHIN)


def test_measures(pair: tuple[Any, Any]) -> None:
    first, second = (hc.measure(model, bare_tokenizer(), TEXTS) for model in pair)
    assert set(first) == set(second)
    for name in set(first) - {"patterns"}:
        for variable, values in first[name].data_vars.items():
            if values.dtype.kind == "f" and np.isfinite(values).any():
                assert_same(second[name][variable], values, 1e-3, (name, variable))


def test_importance(pair: tuple[Any, Any]) -> None:
    first, second = (hc.importance(model, bare_tokenizer(), TEXTS, task="causal-lm") for model in pair)
    for variable in ("michel", "taylor", "norm"):
        assert_same(second[variable], first[variable], 1e-4, variable)
