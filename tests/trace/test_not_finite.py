"""The layer where numbers stop being finite is named, for every family, and nothing stays behind."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from headcount.errors import NotFinite
from headcount.models.anatomy import read_anatomy
from headcount.trace.not_finite import NotFiniteRow, first_not_finite, not_finite, refuse_rows
from tests.contracts.zoo import BY_NAME, CASES, inputs, tiny


def spoil(model: Any, stack: str, layer: int) -> None:
    """Weights that are finite and too large: what the layer writes is not."""
    module = read_anatomy(model).attention(stack, layer).layer_module
    last = [one for one in module.modules() if isinstance(getattr(one, "weight", None), nn.Parameter)][-1]
    with torch.no_grad():
        last.weight.fill_(torch.finfo(torch.float32).max)


# ALBERT has one module for all layers: what is too large in one of them is so in the first.
@pytest.mark.parametrize("case", [case for case in CASES if case.name != "albert"], ids=lambda case: case.name)
def test_the_layer_is_named(case: Any) -> None:
    model, batch = tiny(case.name, "eager"), inputs(case, "right")
    anatomy = read_anatomy(model)
    assert first_not_finite(model, anatomy, batch) is None
    stack = "decoder" if case.kind in ("decoder", "pair") else "encoder"
    spoil(model, stack, 1)
    hooks = sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules())
    assert first_not_finite(model, anatomy, batch) == f"from {anatomy.layout.spell_layer(stack, 1)} on"
    assert hooks == sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules())


def test_one_module_for_all_layers() -> None:
    model, batch = tiny("albert"), inputs(BY_NAME["albert"], "right")
    spoil(model, "encoder", 2)
    assert first_not_finite(model, read_anatomy(model), batch) == "from L0 on"


def test_before_the_first_layer_and_behind_the_last() -> None:
    batch = inputs(BY_NAME["bert"], "right")
    model = tiny("bert", head="AutoModelForSequenceClassification")
    anatomy = read_anatomy(model)
    with torch.no_grad():
        model.classifier.bias[0] = float("inf")
    assert first_not_finite(model, anatomy, batch) == "behind the last layer"
    with torch.no_grad():
        model.bert.embeddings.LayerNorm.bias[0] = float("inf")
    assert first_not_finite(model, anatomy, batch) == "from the embeddings before L0 on"


def test_padding_does_not_count() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"], "right")
    anatomy = read_anatomy(model)
    padding = batch["attention_mask"] == 0
    assert padding.any()

    def lose(module: Any, args: Any, output: Any) -> Any:
        found = output[0] if isinstance(output, tuple) else output
        found[padding] = float("nan")
        return output

    handle = model.encoder.layer[2].register_forward_hook(lose)
    assert first_not_finite(model, anatomy, batch) is None
    handle.remove()


@pytest.mark.parametrize(("dtype", "remedy"), [(torch.float16, "dtype=float32"), (torch.float32, "leave the row out")])
def test_the_line_says_row_place_and_remedy(dtype: torch.dtype, remedy: str) -> None:
    model, batch = tiny("bert", "eager"), inputs(BY_NAME["bert"], "right")
    spoil(model, "encoder", 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.clamp_(-60000, 60000) if dtype == torch.float16 else None
    error = not_finite(model.to(dtype), read_anatomy(model), batch, 41, "the scores are")
    assert isinstance(error, NotFinite)
    assert str(error).startswith("row 41: the scores are not finite, from L1 on")
    assert remedy in str(error)
    assert "\n" not in str(error)


def test_the_first_row_of_any_layer() -> None:
    model = tiny("bert")
    flags = [torch.tensor([False, False, False]), torch.tensor([False, True, True])]
    refuse_rows(model, flags[:1], "it is")
    refuse_rows(model, [], "it is")
    with pytest.raises(NotFiniteRow) as caught:
        refuse_rows(model, flags, "it is")
    assert caught.value.row == 1
