"""Small passes over a model to be proved: what its attention was called with, and the outputs of its layers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

from headcount.errors import HeadcountError, UnknownFamily
from headcount.models.anatomy import Anatomy
from headcount.trace.hooks import hooked
from headcount.trace.interception import InterfaceCall, intercepted

STEPS = ("interface", "projection", "layers", "zero", "maps", "uniform", "replay")
LARGEST_COPY = 4 * 2**30
"""The largest copy in float64, in bytes."""
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
"""By dtype, relative to the largest value; in half precision a wrong replay looks like rounding."""
KERNELS = ("sdpa", "eager")
Inputs = Mapping[str, Any]


class SmallPasses:
    """A model to prove something of: a copy in float64, or itself in its own dtype where a copy is too large."""

    def __init__(self, model: PreTrainedModel) -> None:
        kernel = model.config._attn_implementation
        if kernel not in KERNELS:
            raise UnknownFamily(f"interface: got the attention implementation {kernel!r}; load the model with 'sdpa'")
        size = sum(parameter.numel() * 8 for parameter in model.parameters())
        self.copied = size <= LARGEST_COPY
        self.model = copy.deepcopy(model).double() if self.copied else model
        if self.copied and hasattr(self.model, "set_experts_implementation"):
            self.model.set_experts_implementation("eager")  # grouped products of experts have no float64
        if self.model.dtype not in TOLERANCE:
            raise UnknownFamily(f"replay: {model.dtype} is too coarse to prove it; load the model with dtype='float32'")
        self.tolerance = TOLERANCE[self.model.dtype]
        self.names = {module: name for name, module in self.model.named_modules()}
        self.always = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}

    def run(self, batch: Inputs) -> Tensor:
        """The model's first output, at real positions."""
        return real_output(self.model(**{**self.always, **batch}), batch)

    def cached(self, batch: Inputs) -> list[InterfaceCall]:
        """The attention calls of a pass over one more token, with the batch in the cache; none without a cache."""
        if not self.always:
            return []
        with step("maps"):
            past = getattr(self.model(**{**batch, "use_cache": True}), "past_key_values", None)
            if past is None:
                return []
            name = "decoder_input_ids" if "decoder_input_ids" in batch else "input_ids"
            more = {**batch, name: batch[name][..., :1], "past_key_values": past, "use_cache": True}
            if name == "input_ids":
                more["attention_mask"] = functional.pad(batch["attention_mask"], (0, 1), value=1)
            return self.record(more)

    def record(self, batch: Inputs) -> list[InterfaceCall]:
        """The attention calls of a pass; an error where a module comes twice, or attention runs past the interface."""
        calls: list[InterfaceCall] = []
        watch = _SoftmaxWatch()

        def answer(call: InterfaceCall) -> Tensor:
            calls.append(call)
            return call.output

        with step("interface"), intercepted(self.model, answer, watch.inside), watch:
            self.run(batch)
        if not calls:
            raise UnknownFamily("interface: no attention runs through transformers' attention interface")
        if watch.seen:
            raise UnknownFamily(f"interface: a softmax over {list(watch.seen[0])} is computed beside it")
        for call in calls:
            batch_size, heads, queries, _ = call.query.shape
            if call.output.shape != (batch_size, queries, heads, call.value.shape[-1]) or heads % call.value.shape[1]:
                raise UnknownFamily(f"interface: {self.names[call.module]} gives outputs of an unknown shape")
        if len({call.module for call in calls}) < len(calls):
            raise UnknownFamily("interface: an attention module is called several times in a pass")
        return calls

    def layers(self, anatomy: Anatomy, batch: Inputs) -> dict[str, Tensor]:
        """The outputs of every layer in a pass, and of the model itself."""
        outputs: dict[str, Tensor] = {}
        names = {block.layer_module: block.layer_name for block in anatomy}

        def keep(module: nn.Module, _: Any, output: Any) -> None:
            outputs[names[module]] = at_real_positions(output[0] if isinstance(output, tuple) else output, batch)

        with hooked(names, after=keep):
            outputs["the model"] = self.run(batch)
        return outputs


class _SoftmaxWatch(TorchDispatchMode):
    """Keeps the shapes of softmaxes over more than two dimensions, and of fused attention, outside the interface."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[torch.Size] = []
        self.watching = True

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Inside the interface: nothing is kept."""
        self.watching = False
        try:
            yield
        finally:
            self.watching = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = str(func)
        fused = "scaled_dot_product" in name
        if self.watching and (fused or ("softmax" in name and args[0].ndim > 2)):
            self.seen.append(args[0].shape)
        return func(*args, **(kwargs or {}))


@contextmanager
def step(name: str) -> Iterator[None]:
    """Turn any error inside the context into a refusal at this step, or at the step that the error names."""
    try:
        yield
    except HeadcountError as error:
        if str(error).startswith(tuple(f"{known}: " for known in STEPS)):
            raise
        raise UnknownFamily(f"{name}: {error}") from error
    except Exception as error:
        raise UnknownFamily(f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}") from error


def first_output(result: Any) -> Tensor:
    """The model's logits, or its last hidden state."""
    return next(value for value in result.values() if isinstance(value, Tensor) and value.ndim > 1)


def real_output(result: Any, batch: Inputs) -> Tensor:
    return at_real_positions(first_output(result), batch)


def at_real_positions(output: Tensor, batch: Inputs) -> Tensor:
    """The output without that of padding, which is arbitrary; a decoder's text does not have the mask's shape."""
    mask = batch.get("attention_mask")
    return output if mask is None or output.shape[: mask.ndim] != mask.shape else output[mask.bool()]
