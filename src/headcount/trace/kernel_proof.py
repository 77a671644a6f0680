"""Prove that the map and the uniform outputs that Headcount computes for an attention call are those of its kernel.

The kernel is called with the mask and the options of a real call and random queries, keys and values in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headcount.errors import UnknownFamily
from headcount.models.attention import Attention
from headcount.trace.call import AttentionCall
from headcount.trace.interception import InterfaceCall
from headcount.trace.masks import allowed_keys
from headcount.trace.uniform import uniform_outputs
from headcount.trace.view import AttentionView

CLOSE, DIFFERENT = 1e-5, 1e-2
"""Relative to the largest value: kernels compute the softmax in float32, and what must differ differs by far more."""
CLOSED = torch.finfo(torch.float64).min
SHARP = 3.0
"""Queries are larger than keys, so that attention is far from uniform."""


def prove_kernel(seen: InterfaceCall, block: Attention, seed: int) -> None:
    """An error that names the step where what Headcount computes for the call is not what its kernel computes."""
    call = _random_call(seen, block, seed)
    truth = _run(seen, call)
    allowed = allowed_keys(call)
    rows = torch.ones(truth.shape[:2], dtype=torch.bool) if allowed is None else allowed.any(-1).any(1).cpu()
    rows = rows.expand(truth.shape[:2])
    if not bool(rows.float().mean() > 0.5):
        raise UnknownFamily(f"maps: most queries of {block.name} may attend to nothing")
    values = call.value[:, call.reads]
    ours = torch.einsum("bhqk,bhkd->bqhd", AttentionView(call).map, values)
    uniform = uniform_outputs(call)
    if apart(ours[rows], truth[rows]) > CLOSE:
        raise UnknownFamily(f"maps: the outputs of {block.name} are not its map times its values")
    if apart(uniform[rows], truth[rows]) < DIFFERENT:
        raise UnknownFamily(f"maps: the outputs of {block.name} are the same whatever its queries are")
    if apart(uniform[rows], _uniform_truth(seen, call)[rows]) > CLOSE:
        raise UnknownFamily(f"uniform: overwritten weights of {block.name} give other outputs")


def apart(ours: Tensor, truth: Tensor) -> float:
    """The largest difference, relative to the largest value; infinite where one of them is not finite."""
    if ours.shape != truth.shape or not bool(ours.isfinite().all() & truth.isfinite().all()):
        return float("inf")
    largest = truth.abs().max().clamp(min=torch.finfo(truth.dtype).tiny)
    return float((ours - truth).abs().max() / largest)


def _random_call(seen: InterfaceCall, block: Attention, seed: int) -> AttentionCall:
    generator = torch.Generator().manual_seed(seed)

    def draw(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like.device)

    def wide(option: Any) -> Any:
        return option.double() if isinstance(option, Tensor) and option.is_floating_point() else option

    mask = seen.mask
    if isinstance(mask, Tensor) and mask.is_floating_point():
        mask = torch.where(mask <= torch.finfo(mask.dtype).min / 2, CLOSED, mask.double())
    options = {name: wide(option) for name, option in seen.options.items()}
    implementation: str = block.module.config._attn_implementation  # type: ignore[union-attr, assignment]
    value, query, key = draw(seen.value), SHARP * draw(seen.query), draw(seen.key)
    return AttentionCall(block, implementation, value, mask, query.shape[2], query, key, None, options)


def _run(seen: InterfaceCall, call: AttentionCall, query: Tensor | None = None, **options: Any) -> Tensor:
    query, options = call.query if query is None else query, {**call.options, **options}
    output: Tensor = seen.function(seen.module, query, call.key, call.value, call.mask, **options)[0]
    return output.double()


def _uniform_truth(seen: InterfaceCall, call: AttentionCall) -> Tensor:
    """The kernel's outputs [B, Q, H, D] with uniform weights.

    Eager code has its weights overwritten as they leave the softmax. A fused kernel is given queries of zero: all
    scores are equal then, and it attends equally to what it lets each query attend to.
    """
    assert call.query is not None
    if call.implementation == "eager":
        with _UniformWeights(call) as overwritten:
            outputs = _run(seen, call)
        if overwritten.count != 1:
            raise UnknownFamily(f"uniform: {call.block.name} computes {overwritten.count} softmaxes, not one")
        return outputs
    bias = call.options.get("position_bias")
    without = {} if bias is None else {"position_bias": torch.zeros_like(bias)}
    if isinstance(call.mask, Tensor) and call.mask.is_floating_point():
        call.mask = call.mask.masked_fill(call.mask > CLOSED / 2, 0)
    return _run(seen, call, torch.zeros_like(call.query), **without)


class _UniformWeights(TorchFunctionMode):
    """Overwrites the weights [B, H, Q, K] of a softmax: 1/n on the keys that are not masked, 0 on all else."""

    def __init__(self, call: AttentionCall) -> None:
        super().__init__()
        self.shape = (call.value.shape[0], len(call.block.heads), call.queries)
        self.keys, self.count = call.value.shape[2], 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func not in (functional.softmax, torch.softmax, Tensor.softmax) or result.shape[:-1] != self.shape:
            return result
        self.count += 1
        scores: Tensor = args[0] if args else (kwargs or {})["input"]
        # Columns behind those of the keys are sinks: uniform attention gives them nothing (`uniform.py`).
        allowed = scores[..., : self.keys] > torch.finfo(torch.float32).min / 4
        weights = torch.zeros_like(result)
        weights[..., : self.keys] = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
        return weights
