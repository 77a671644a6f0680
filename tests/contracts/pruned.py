"""What a pruned model is held to: the whole model with gates, and how a model was before something failed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers as tf

import headcount as hc
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import CASES, Case, tiny

PRUNABLE = [case for case in CASES if case.name != "albert"]
TRANSFORMERS_OWN = ("architectures", "dtype")
"""What save_pretrained itself writes into a config."""


def whole(name: str, kernel: str = "sdpa", head: str = "AutoModel") -> Any:
    """The tiny model as a checkpoint can hold it: Marian's positions are computed, never read."""
    model = tiny(name, kernel, head)
    if name == "marian":
        fresh = dict(tf.AutoModel.from_config(model.config).named_parameters())
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if "embed_positions" in key:
                    parameter.copy_(fresh[key.removeprefix("model.")])
    return model


def gates_without(model: Any, heads: Iterable[str]) -> dict[str, torch.Tensor]:
    """Gates of one, and of zero for these heads."""
    layout = read_anatomy(model).layout
    gates = {stack: torch.ones(layout.layers(stack), layout.width(stack)) for stack in layout.stacks}
    for head in hc.HeadSet.of(heads, layout):
        gates[head.stack][head.layer, head.head] = 0
    return gates


@contextmanager
def without(model: Any, heads: Iterable[str]) -> Iterator[Any]:
    """The whole model with these heads at zero."""
    with hc.gated(model, gates_without(model, heads)):
        yield model


def uneven(case: Case) -> list[str]:
    """One head of the first layer, all of the second, two of the third; of a second stack other ones."""
    found = ["L0H1", "L1", "L2H0", "L2H3"]
    if case.kind == "pair":
        return [*(f"encoder.{word}" for word in found), "decoder.L0", "decoder.L1H2", "cross.L0H0-1", "cross.L2H3"]
    return found


def own_outputs(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits of a model with a task's head."""
    with torch.no_grad():
        found: torch.Tensor = model(**batch).logits
    return found


def aligned(model: Any) -> Any:
    """The model with its weights in memory of their own.

    Weights that were read from a file lie at other addresses than computed ones, and kernels round by the alignment:
    what is promised bit for bit is promised for weights that lie alike.
    """
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
    return model


class Before:
    """A model as it is: weights, config, and the class, attributes and hooks of each module."""

    def __init__(self, model: Any, batch: dict[str, torch.Tensor]) -> None:
        self.model, self.batch = model, batch
        self.state = self._read()

    def _read(self) -> dict[str, Any]:
        plain = (int, float, str, list, tuple, type(None))
        modules = dict(self.model.named_modules())
        with torch.no_grad():
            output = self.model(**self.batch)[0]
        return {
            "output": output,
            "weights": {key: tensor.clone() for key, tensor in self.model.state_dict().items()},
            "trained": {key: parameter.requires_grad for key, parameter in self.model.named_parameters()},
            "config": {key: value for key, value in self.model.config.to_dict().items() if key not in TRANSFORMERS_OWN},
            "classes": {name: type(module) for name, module in modules.items()},
            "names": {name: set(vars(module)) for name, module in modules.items()},
            "attributes": {
                name: {key: value for key, value in vars(module).items() if isinstance(value, plain)}
                for name, module in modules.items()
            },
            "hooks": {
                name: [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
                for name, module in modules.items()
            },
        }

    def check(self) -> None:
        """Nothing was changed."""
        now = self._read()
        assert torch.equal(now.pop("output"), self.state["output"])
        weights = now.pop("weights")
        assert list(weights) == list(self.state["weights"])
        for key, tensor in weights.items():
            assert torch.equal(tensor, self.state["weights"][key]), key
        for what, value in now.items():
            assert value == self.state[what], what


def clean_environment(**more: str) -> dict[str, str]:
    """For another process: as many threads as here (conftest.py), no network."""
    return os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"} | more
