"""Where inputs of a dispatched model go, and what its weights are while they are offloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch

from headcount.errors import UnsuitableModel
from headcount.models.dispatched import (
    check_whole,
    input_device,
    is_dispatched,
    is_offloaded,
    read_weight,
    stored_tensors,
    without_gradients,
)
from tests.contracts.two_parts import dispatched
from tests.contracts.zoo import tiny


def offloaded_to_cpu() -> Any:
    """A model that accelerate itself offloads: it has no device map, and all of its weights are away."""
    model = tiny("llama")
    return accelerate.cpu_offload(model, execution_device=torch.device("cpu"))


def test_a_plain_model() -> None:
    model = tiny("llama")
    assert input_device(model) == torch.device("cpu")
    assert not is_dispatched(model)
    assert not is_offloaded(model)
    assert read_weight(model.norm).data_ptr() == model.norm.weight.data_ptr()
    check_whole(model, "save it")
    with without_gradients(model):
        assert torch.is_inference_mode_enabled()


def test_inputs_go_where_the_model_runs() -> None:
    model = offloaded_to_cpu()
    assert model.device.type == "meta"
    assert input_device(model) == torch.device("cpu")
    assert is_dispatched(model)
    with without_gradients(model):
        assert not torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()
    with pytest.raises(UnsuitableModel, match="parts of LlamaModel are dispatched to cpu .* to save it"):
        check_whole(model, "save it")


def test_weights_have_their_values_wherever_they_are(tmp_path: Path) -> None:
    whole = tiny("llama")
    for model in (offloaded_to_cpu(), dispatched(whole, tmp_path)):
        stored = dict(stored_tensors(model))
        assert list(stored) == list(whole.state_dict())
        for name, expected in whole.state_dict().items():
            assert torch.equal(stored[name], expected), name
        assert [name for name, _ in stored_tensors(model, {"norm.weight"})] == ["norm.weight"]
        assert model.layers[2].self_attn.o_proj.weight.is_meta  # reading has left it where it was


def test_weights_in_another_dtype_than_on_the_disk(tmp_path: Path) -> None:
    whole = tiny("llama")
    whole.bfloat16().save_pretrained(tmp_path)
    parts = dispatched(whole.float(), tmp_path)
    assert read_weight(parts.layers[2].mlp.up_proj).dtype == torch.float32


def test_a_model_that_was_never_loaded() -> None:
    with torch.device("meta"):
        layer = torch.nn.Linear(2, 2)
    with pytest.raises(UnsuitableModel, match="weight of Linear is on the meta device, without values"):
        read_weight(layer)
