"""Training a few added weights instead of all: LoRA adapters (Hu et al. 2022), merged into the weights at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from transformers import PreTrainedModel

from headcount.errors import MissingPackage, UnsuitableModel
from headcount.models.linear_layers import linear_layers, transposed
from headcount.trace.anatomy import read_anatomy

RANK = 16
SCALE = 2
"""lora_alpha for each rank: what the adapters add is multiplied by this."""
LEARNING_RATE = 2e-4
"""Adapters start at zero and take larger steps than the weights themselves."""
ADAPTER = "recovery"


def check_lora() -> None:
    """An error where the package that makes adapters is not installed."""
    if find_spec("peft") is None:
        raise MissingPackage(
            "lora=True needs peft: pip install 'headcount[lora]', or leave lora= out and train all weights"
        )


@contextmanager
def adapters(model: PreTrainedModel, rank: int, seed: int) -> Iterator[None]:
    """Inside, only adapters of all projections in the model's layers can be trained; afterwards they are merged.

    The model then has the modules and the names of before. After an error it also has the weights of before.
    """
    check_lora()
    from peft import LoraConfig
    from peft.tuners.lora import LoraModel
    from peft.tuners.tuners_utils import cast_adapter_dtype

    names = linear_layers(model, read_anatomy(model))
    if not names:
        raise UnsuitableModel(
            f"the layers of {type(model).__name__} have no plain projections, which lora= needs; leave it out to train "
            "all weights"
        )
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    config = LoraConfig(r=rank, lora_alpha=SCALE * rank, target_modules=names, fan_in_fan_out=transposed(model, names))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        adapted = LoraModel(model, config, ADAPTER)
    cast_adapter_dtype(model, ADAPTER)  # small steps are lost in half precision
    try:
        yield
    except BaseException:
        adapted.unload()
        raise
    else:
        adapted.merge_and_unload()
    finally:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in trained)
