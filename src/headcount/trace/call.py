"""The arguments of one call of a layer's attention, whatever kernel runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headcount.models.attention import Attention


class Part(NamedTuple):
    """Where the queries and keys of a part stand in the call that it was taken from."""

    positions: Tensor
    """Of its queries."""
    first_query: int
    """The lowest of these positions."""
    first_key: int
    of_queries: int
    of_keys: int


@dataclass
class AttentionCall:
    """One call of a layer's attention: query [B, H, Q, D], key and value [B, groups, K, D], and the kernel's own mask.

    `weights` [B, H, Q, K]: those of modules that compute attention themselves.
    """

    block: Attention
    implementation: str
    value: Tensor
    mask: Any
    queries: int
    query: Tensor | None = None
    key: Tensor | None = None
    weights: Tensor | None = None
    options: dict[str, Any] = field(default_factory=dict)
    part: Part | None = None
    """Where it stands, for a call for some of the queries."""

    @property
    def layer_key(self) -> tuple[str, int]:
        return self.block.layer_key

    @property
    def reads(self) -> list[int]:
        """For each head, which of the keys and values it reads: the heads of a group stand side by side.

        A pruned model with groups of unequal size passes some of them more than once.
        """
        heads = len(self.block.heads)
        return [column * self.value.shape[1] // heads for column in range(heads)]

    def by_head(self, tensor: Tensor) -> Tensor:
        """Keys or values [B, H, K, D] as each head reads them; no copy where each head has its own."""
        groups = self.reads
        return tensor if len(set(groups)) == len(groups) else tensor[:, groups]

    @property
    def scale(self) -> float:
        """The factor of the products of queries and keys."""
        scale = self.options.get("scaling")
        assert self.query is not None
        return float(self.query.shape[-1] ** -0.5 if scale is None else scale)

    @property
    def sinks(self) -> Tensor | None:
        """The scores [H] of the heads' attention sinks, which GPT-OSS has beside the keys; None for most families."""
        return self.options.get("s_aux")

    def of_heads(self, chosen: list[int]) -> AttentionCall | None:
        """The call for some of the heads alone; None where its mask cannot be taken apart."""
        heads, groups = len(self.block.heads), self.reads
        if not isinstance(self.mask, Tensor | None) and self.mask.shape[1] > 1:
            return None

        def pick(tensor: Any) -> Any:
            by_head = isinstance(tensor, Tensor) and tensor.ndim == 4 and tensor.shape[1] == heads > 1
            return tensor[:, chosen] if by_head else tensor

        block = replace(self.block, heads=tuple(self.block.heads[column] for column in chosen))
        reads = [groups[column] for column in chosen]
        call = self.with_tensors(pick)
        if self.sinks is not None:
            call.options["s_aux"] = self.sinks[chosen]
        key = None if self.key is None else self.key[:, reads]
        return replace(call, block=block, value=self.value[:, reads], key=key)

    def of_queries(self, chosen: slice | Tensor, first_key: int = 0, last_key: int | None = None) -> AttentionCall:
        """The call for some of the queries alone: a range of them, or their positions; with the keys of a range."""
        assert self.part is None, "a part of a call is not taken apart again"
        keys = slice(first_key, last_key)
        device, whole_keys = self.value.device, self.value.shape[2]
        if isinstance(chosen, slice):
            start, stop, _ = chosen.indices(self.queries)
            positions, first_query = torch.arange(start, stop, device=device), start
        else:
            positions, first_query = chosen.to(device), int(chosen.min())

        def cut(tensor: Any) -> Any:
            """Of [B or 1, H or 1, Q or 1, K or 1]: what is the same for all queries or keys stays as it is."""
            if tensor is None:
                return None
            tensor = tensor if tensor.shape[2] == 1 != self.queries else tensor[:, :, chosen]
            return tensor if tensor.shape[3] == 1 != whole_keys else tensor[..., :whole_keys][..., keys]

        mask = self.mask
        if isinstance(mask, Tensor):
            mask = cut(mask) if mask.ndim == 4 else mask[:, -whole_keys:][:, keys]
        options = dict(self.options)
        if options.get("position_bias") is not None:
            options["position_bias"] = cut(options["position_bias"])
        return replace(
            self,
            value=self.value[:, :, keys],
            mask=mask,
            queries=len(positions),
            query=None if self.query is None else self.query[:, :, chosen],
            key=None if self.key is None else self.key[:, :, keys],
            weights=cut(self.weights),
            options=options,
            part=Part(positions, first_query, first_key, self.queries, whole_keys),
        )

    def on(self, device: torch.device) -> AttentionCall:
        """The call with its tensors on a device."""
        return self.with_tensors(lambda value: value.to(device) if _is_tensor(value) else value)

    def with_tensors(self, change: Callable[[Any], Any]) -> AttentionCall:
        """The call with `change` applied to its tensors and options."""
        names = ("value", "mask", "query", "key", "weights")
        options = {name: change(option) for name, option in self.options.items()}
        return replace(self, options=options, **{name: change(getattr(self, name)) for name in names})


def _is_tensor(value: Any) -> bool:
    """Whether it is a tensor, or a mask of flex attention, which holds some."""
    return isinstance(value, Tensor) or hasattr(value, "mask_mod")


Listener = Callable[[AttentionCall], None]
