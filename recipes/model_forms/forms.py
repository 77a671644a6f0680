"""The forms in which people run a model: as it is, compiled, or quantised by PyTorch, torchao or bitsandbytes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def plain(folder: str) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def compiled(folder: str) -> Any:
    return torch.compile(plain(folder))


def dynamic_int8(folder: str) -> Any:
    """PyTorch's own: int8 weights, and activations that are quantised in each pass; for CPUs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch.ao moves to torchao
        return torch.ao.quantization.quantize_dynamic(plain(folder), {nn.Linear})


def torchao_int8(folder: str) -> Any:
    """Int8 weights, activations as they are."""
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = plain(folder)
    quantize_(model, Int8WeightOnlyConfig())
    return model


def bitsandbytes_int8(folder: str) -> Any:
    return _bitsandbytes(folder, load_in_8bit=True)


def bitsandbytes_int4(folder: str) -> Any:
    return _bitsandbytes(folder, load_in_4bit=True, bnb_4bit_quant_type="nf4")


def _bitsandbytes(folder: str, **options: Any) -> Any:
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    return AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, quantization_config=BitsAndBytesConfig(**options)
    ).eval()


FORMS: dict[str, Callable[[str], Any]] = {
    form.__name__: form for form in (plain, compiled, dynamic_int8, torchao_int8, bitsandbytes_int8, bitsandbytes_int4)
}
