"""The attention maps of one text, with a byte for each weight, in memory or in a study.

A byte is 255 times the square root of a weight, so that small weights stay visible; `unpack` restores the weight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.attention_maps.exact_blocks import ExactBlocks
from headcount.attention_maps.plan import MapsPlan, plan_maps
from headcount.core.options import belongs_to
from headcount.core.writers import writes_study
from headcount.engines.ledger import Ledger, perform
from headcount.engines.run import Run
from headcount.errors import InvalidOption, NotFinite
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.trace.blocked_view import in_blocks_if_long
from headcount.trace.edits import LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched, session

Packed = TypeVar("Packed", np.ndarray, xr.DataArray)


def unpack(stored: Packed) -> Packed:
    """Attention weights from 0 to 1, float32, from the bytes of a map.

    >>> unpack(np.array([0, 51, 255], dtype=np.uint8))
    array([0.  , 0.04, 1.  ], dtype=float32)
    """
    return (stored.astype(np.float32) / 255) ** 2


def pack(weights: Tensor) -> np.ndarray:
    """The bytes of a map: 255 times the square root of each weight, rounded."""
    packed: np.ndarray = weights.float().clamp(0, 1).sqrt().mul(255).round().to(torch.uint8).cpu().numpy()
    return packed


@takes_compiled
@writes_study("out")
def maps(
    model: PreTrainedModel,
    tokenizer: Any,
    text: str,
    pair: str | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    max_length: int | None = None,
) -> xr.Dataset:
    """The attention maps of a text, `maps_<stack>` uint8 [layer, head, query, key], with its tokens; see `unpack`.

    `pair` is the second text of a pair, and the target text of an encoder-decoder, which needs one.
    `out` is a study folder for the maps, in the group `maps/<name>`; maps that it has already are read, not computed.
    `present_<stack>` [layer, head] is False if the model has no such head: its map is 0. `tokens` and `segments`
    ("text" or "pair") are those of the queries; an encoder-decoder has `tokens_encoder` and `tokens_decoder` (what the
    decoder reads: the target after its start token) and dimensions of those names. Of a long text whose maps would take
    more than 64 MB, those between at most 512 stretches of it are given: the attribute `pooled` says how many tokens a
    stretch has; a weight is the mean over its queries of their attention to all of its keys. Some blocks of 48 x 48
    tokens, along the diagonal and at the first keys, are then given exactly: `blocks_<stack>` [layer, head, block,
    query, key], with their first queries and keys in `block_starts_<stack>`.

    >>> import headcount as hc
    >>> seen = hc.maps(*hc.load(hc.bundled()), "Who wrote it?", "Anna Lund wrote it.")
    >>> seen.maps_encoder.shape, seen.tokens.values[1], seen.segments.values[-1]
    ((12, 12, 14, 14), 'who', 'pair')
    """
    belongs_to("name", name, "out", out)
    plan = plan_maps(model, tokenizer, text, pair, max_length)
    return perform(_run(model, plan)) if out is None else store_maps(model, plan, out, name).maps


def _run(model: PreTrainedModel, plan: MapsPlan, name: str | None = None) -> Run:
    return Run(
        f"maps/{name or plan.name}",
        plan.origin,
        plan.options,
        plan.attributes,
        lambda _: plan.label(*run_maps(model, plan)),
        fixed=plan.known(),
        # Each layer in a chunk of its own, so that a head's map can be read without reading all maps.
        by_layer=[*(f"maps_{stack}" for stack in plan.stacks), *(f"blocks_{stack}" for stack in plan.blocks)],
    )


@takes_compiled
def run_maps(model: PreTrainedModel, plan: MapsPlan) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """By stack, the packed maps [layer, head, query, key], and of a long text blocks [layer, head, block, query, key].

    Each layer's map is packed as soon as the layer has run.
    """
    blocks = {stack: np.zeros(plan.block_shape(stack), dtype=np.uint8) for stack in plan.blocks}
    maps = {stack: np.zeros(plan.shape(stack), dtype=np.uint8) for stack in plan.stacks}
    layout = plan.anatomy.layout

    def take(run: LayerRun) -> None:
        weights = _weights(run, plan.pooled)
        if not bool(weights.isfinite().all()):
            raise NotFinite(
                f"the attention of {layout.spell_layer(*run.layer_key)} is not finite in "
                f"{plan.origin.identity['dtype']}; give dtype=float32, or a model whose weights are finite"
            )
        stack, layer = run.layer_key
        maps[stack][layer, list(run.heads)] = pack(weights)
        if stack in blocks:
            blocks[stack][layer, list(run.heads)] = pack(_exact(run, plan.blocks[stack]))

    observers = {(block.stack, block.layer): take for block in plan.anatomy if block.stack in plan.stacks}
    inputs = {key: torch.tensor([ids], device=input_device(model)) for key, ids in plan.inputs.items()}
    with evaluating(model), torch.no_grad(), session(model, observers=observers, purpose="taking maps"):
        model(**inputs)
    return maps, blocks


def _weights(run: LayerRun, pooled: int) -> Tensor:
    """The maps [head, query, key] of a layer; of stretches, the mean over their queries and the sum over their keys."""
    view = run.attention()
    if pooled == 1:
        return view.map[0]
    assert run.call is not None
    rows, columns = (
        torch.arange(count, device=run.outputs.device)[:, None] // pooled
        == torch.arange(-(-count // pooled), device=run.outputs.device)
        for count in (run.call.queries, run.call.value.shape[2])
    )
    return in_blocks_if_long(view).picture((rows / rows.sum(0))[None], columns[None])[0]


def _exact(run: LayerRun, blocks: ExactBlocks) -> Tensor:
    """The blocks [head, block, query, key] of a layer's map; only the rows of their queries are computed."""
    assert run.call is not None
    parts, rows, before = [], None, -1
    for query, key in blocks.starts:  # those of the same queries follow each other
        if rows is None or query != before:
            call = run.call.of_queries(slice(query, query + blocks.queries))
            rows, before = replace(run, call=call).attention().map[0], query
        parts.append(rows[..., key : key + blocks.keys])
    return torch.stack(parts, 1)


@dataclass(frozen=True)
class StoredMaps:
    """Maps in a study: the name of their group, its size on disk in bytes, and whether they were computed just now."""

    group: str
    maps: xr.Dataset
    size: int
    new: bool


@takes_compiled
@writes_study("out")
def store_maps(model: PreTrainedModel, plan: MapsPlan, out: str | Path, name: str | None = None) -> StoredMaps:
    """The maps as the group `maps/<name>` of a study, read if the study has them, otherwise computed."""
    if name is not None and not re.fullmatch(r"\w[\w.@-]*", name):
        raise InvalidOption(f"got the name {name!r}; expected letters, digits, '.', '-' and '_'")
    check_untouched(model)
    ledger = Ledger([_run(model, plan, name)], out)
    group, new = ledger.runs[0].group, not ledger.complete
    (result,) = ledger.perform()
    size = sum(path.stat().st_size for path in (Path(out) / group).rglob("*") if path.is_file())
    return StoredMaps(group, result, size, new)
