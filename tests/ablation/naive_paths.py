"""Path patching as a plain loop over heads with hooks of its own, one path at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

Parts = tuple[nn.Module, nn.Module, nn.Module, nn.Module]
"""Of a layer: the projections of query, key and value, and the output projection."""


def naive_path(
    run: Callable[[Any], Tensor],
    layers: list[Parts],
    size: int,
    base: Any,
    other: Any,
    sender: tuple[int, int],
    receiver: tuple[int, int],
    into: str,
) -> Tensor:
    """The model's logits on `base` with one path from `other`; `size`: of a head."""

    def inputs_of_outputs(batch: Any, replace: Mapping[int, Callable[[Tensor], Tensor]] | None = None) -> list[Tensor]:
        """The head outputs of each layer in a pass, where some are replaced."""
        seen: list[Tensor] = []

        def hook(number: int) -> Any:
            def look(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
                new = (replace or {}).get(number, lambda tensor: tensor)(args[0].clone())
                seen.append(new)
                return (new, *args[1:])

            return look

        with ExitStack() as stack:
            for number, (*_, output) in enumerate(layers):
                stack.callback(output.register_forward_pre_hook(hook(number)).remove)
            seen_logits.append(run(batch))
        return seen

    seen_logits: list[Tensor] = []
    plain, given = inputs_of_outputs(base), inputs_of_outputs(other)
    columns = slice(sender[1] * size, (sender[1] + 1) * size)

    def replace_sender(tensor: Tensor) -> Tensor:
        tensor[..., columns] = given[sender[0]][..., columns]
        return tensor

    frozen: dict[int, Callable[[Tensor], Tensor]] = {
        number: lambda tensor, number=number: plain[number] for number in range(sender[0] + 1, len(layers))
    }
    read: dict[int, Tensor] = {}
    with ExitStack() as stack:
        for part in range(3):
            keep = lambda module, args, result, part=part: read.update({part: result})
            stack.callback(layers[receiver[0]][part].register_forward_hook(keep).remove)
        inputs_of_outputs(base, {sender[0]: replace_sender, **frozen})
    wanted = {"query": [0], "key": [1], "value": [2], "all": [0, 1, 2]}[into]
    with ExitStack() as stack:
        for part in wanted:
            put = lambda module, args, result, part=part: read[part]
            stack.callback(layers[receiver[0]][part].register_forward_hook(put).remove)
        reread = inputs_of_outputs(base)[receiver[0]]
    columns_of_receiver = slice(receiver[1] * size, (receiver[1] + 1) * size)

    def replace_receiver(tensor: Tensor) -> Tensor:
        tensor[..., columns_of_receiver] = reread[..., columns_of_receiver]
        return tensor

    with torch.no_grad():
        inputs_of_outputs(base, {receiver[0]: replace_receiver})
    return seen_logits[-1]
