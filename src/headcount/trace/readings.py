"""What single heads read: their query, key and value in one pass, and the outputs they make of them in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.heads import Head
from headcount.errors import UnsuitableModel
from headcount.models.anatomy import Anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerKey, LayerRun, OutputEdit
from headcount.trace.parts import attend
from headcount.trace.session import session


@dataclass(frozen=True)
class Reading:
    """Query [B, Q, size], key and value [B, K, size] of one head in one pass."""

    query: Tensor
    key: Tensor
    value: Tensor


def keep_readings(
    model: PreTrainedModel, anatomy: Anatomy, heads: Iterable[Head], run: Callable[[], Any]
) -> Mapping[Head, Reading]:
    """What these heads read in `run`, a pass of the model."""
    kept: dict[Head, Reading] = {}
    by_layer: dict[LayerKey, list[Head]] = {}
    for head in heads:
        by_layer.setdefault((head.stack, head.layer), []).append(head)

    def keep(layer: LayerRun) -> None:
        call = layer.call
        assert call is not None  # the session hears attention calls
        for head in by_layer[layer.layer_key]:
            kept[head] = _read(call, anatomy.attention(*layer.layer_key).column(head.head))

    with session(model, observers=dict.fromkeys(by_layer, keep), purpose="keeping what heads read"):
        run()
    return kept


def _read(call: AttentionCall, column: int) -> Reading:
    if call.query is None or call.key is None:
        raise UnsuitableModel(
            f"{call.block.name} computes its attention itself, so that the query and key of a head cannot be replaced"
        )
    group = call.reads[column]
    return Reading(call.query[:, column], call.key[:, group], call.value[:, group])


class Rereading(OutputEdit):
    """One head of a layer with its query, key or value, or all three, from another pass."""

    needs_call = True

    def __init__(self, column: int, reading: Reading, into: str) -> None:
        self.column, self.reading = column, reading
        self.parts = ("query", "key", "value") if into == "all" else (into,)

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        assert call is not None  # the wiring raises where an edit that needs the call gets none
        _read(call, self.column)
        one = call.of_heads([self.column])
        if one is None:
            raise UnsuitableModel(f"{call.block.name} has a mask for each head, so that one cannot be run by itself")
        edited = outputs.clone()
        edited[:, :, self.column] = attend(replace(one, **self._parts(outputs)))[:, :, 0]
        return edited

    def _parts(self, outputs: Tensor) -> dict[str, Any]:
        """The parts from the other pass [B, 1, positions, size], for rows that may hold a batch several times.

        A last layer that is computed at the first position alone has one query.
        """
        parts = {}
        for name in self.parts:
            tensor = getattr(self.reading, name).to(outputs)
            tensor = tensor[:, : outputs.shape[1]] if name == "query" else tensor
            parts[name] = tensor.repeat(len(outputs) // len(tensor), 1, 1)[:, None]
        return parts
