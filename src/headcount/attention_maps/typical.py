"""Typical maps of each head: the clearest of its pattern, a median one, and an exception."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from headcount.attention_maps.maps import pack
from headcount.core.results import HEAD_DIMS, Labelled
from headcount.measures.contract import Seen
from headcount.measures.layers import see_layers
from headcount.measures.measurement import Measurement
from headcount.patterns.picture_sums import SIDE
from headcount.patterns.shapes import see_pictures
from headcount.trace.blocked_view import in_blocks_if_long
from headcount.trace.modes import evaluating

TYPICAL = ("clearest", "in the middle", "exception")
CANDIDATES = 48
"""How many texts are candidates; those that are chosen are run once more."""
NONE = -1


def choose_typical(patterns: xr.Dataset, candidates: np.ndarray) -> np.ndarray:
    """The numbers of examples [stack, layer, head, kind]; -1 if there is none of the kind.

    Clearest: the map that has the head's most frequent pattern with the highest probability. In the middle: the one
    with the median probability. Exception: the map that has another pattern with the highest probability.
    """
    share, sure = patterns["values_share"].values[candidates], patterns["values_sure"].values[candidates]
    mostly = patterns["mostly"].values
    chosen = np.full((*mostly.shape, len(TYPICAL)), NONE)
    for head in np.ndindex(mostly.shape):
        if not np.isfinite(mostly[head]):
            continue
        known = np.isfinite(sure[:, *head])
        usual = known & (share[:, *head, int(mostly[head])] > 0)
        inside, outside = np.flatnonzero(usual), np.flatnonzero(known & ~usual)
        inside = inside[np.argsort(-sure[inside, *head], kind="stable")]
        if len(inside):
            chosen[head][0] = candidates[inside[0]]
        if len(inside) > 1:
            chosen[head][1] = candidates[inside[len(inside) // 2]]
        if len(outside):
            chosen[head][2] = candidates[outside[sure[outside, *head].argmax()]]
    return chosen


def take_typical(task: Measurement, patterns: xr.Dataset) -> Labelled:
    """Pictures of typical maps: `maps` uint8 [stack, layer, head, kind, query, key], packed like all maps.

    `text` and `named`: the text and the pattern of each. Texts are run one by one; only the pictures are kept.
    """
    ids = patterns["example"].values
    rng = np.random.default_rng(task.seed)
    candidates = np.sort(rng.permutation(len(ids))[:CANDIDATES])
    chosen = choose_typical(patterns, candidates)
    stacks = list(task.anatomy.stacks)
    maps = np.zeros((*chosen.shape, SIDE, SIDE), dtype=np.uint8)
    named = np.full(chosen.shape, np.nan, dtype=np.float32)
    names = patterns["values_share"].values
    number = {int(row): index for index, row in enumerate(task.inputs.ids)}
    shown = np.unique(chosen[chosen != NONE])
    for done, text in enumerate(shown):
        batch, source, target = task.batch(np.array([number[int(ids[text])]]), links=False)

        def look(seen: Seen, text: int = text) -> None:
            at = (stacks.index(seen.stack), seen.view.block.layer)
            heads = list(seen.view.block.heads)
            if not (chosen[at][heads] == text).any():
                return
            pictures = see_pictures(in_blocks_if_long(seen.view), seen.queries.real)[0][0]
            for head, picture in zip(heads, pictures, strict=True):
                for kind in np.flatnonzero(chosen[at][head] == text):
                    maps[(*at, head, kind)] = pack(picture)
                    named[(*at, head, kind)] = names[(text, *at, head)].argmax()

        with evaluating(task.model), torch.inference_mode(False):
            see_layers(task.model, task.anatomy, batch, source, target, task.setting.classes, look)
        if task.progress is not None:
            task.progress(done + 1, len(shown))
    dims = (*HEAD_DIMS, "kind")
    texts = np.array([task.inputs.texts[number[int(ids[text])]] for text in shown], dtype=object)
    return {
        "maps": ((*dims, "query", "key"), maps),
        "named": (dims, named),
        "text": (dims, np.where(chosen == NONE, NONE, np.searchsorted(shown, chosen))),
        "texts": (("place",), texts),
        "stack": (("stack",), patterns["stack"].values),
        "kind": (("kind",), np.array(TYPICAL, dtype=object)),
    }
