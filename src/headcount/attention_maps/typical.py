"""Maps that show what a head does: the clearest of its pattern, one in the middle, and an exception."""

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
from headcount.trace.modes import evaluating

KINDS = ("clearest", "in the middle", "exception")
CANDIDATES = 48
"""Texts among which these are looked for: each of them is run once more."""
NONE = -1


def choose_typical(patterns: xr.Dataset, candidates: np.ndarray) -> np.ndarray:
    """The places of texts [stack, layer, head, kind] among the examples; -1 where there is none of the kind.

    Clearest: the map that has the head's most frequent pattern, and is surest of it. In the middle: the one with the
    median sureness. Exception: the map that is surest of another pattern.
    """
    share, sure = patterns["values_share"].values[candidates], patterns["values_sure"].values[candidates]
    mostly = patterns["mostly"].values
    found = np.full((*mostly.shape, len(KINDS)), NONE)
    for head in np.ndindex(mostly.shape):
        if not np.isfinite(mostly[head]):
            continue
        known = np.isfinite(sure[:, *head])
        usual = known & (share[:, *head, int(mostly[head])] > 0)
        inside, outside = np.flatnonzero(usual), np.flatnonzero(known & ~usual)
        inside = inside[np.argsort(-sure[inside, *head], kind="stable")]
        if len(inside):
            found[head][0] = candidates[inside[0]]
        if len(inside) > 1:
            found[head][1] = candidates[inside[len(inside) // 2]]
        if len(outside):
            found[head][2] = candidates[outside[sure[outside, *head].argmax()]]
    return found


def take_typical(task: Measurement, patterns: xr.Dataset) -> Labelled:
    """Pictures of typical maps: `maps` uint8 [stack, layer, head, kind, query, key], packed as all maps are.

    `text` and `named`: the text and the pattern of each. Texts are run one by one; nothing is kept but the pictures.
    """
    ids = patterns["example"].values
    rng = np.random.default_rng(task.seed)
    candidates = np.sort(rng.permutation(len(ids))[:CANDIDATES])
    chosen = choose_typical(patterns, candidates)
    stacks = list(task.anatomy.stacks)
    maps = np.zeros((*chosen.shape, SIDE, SIDE), dtype=np.uint8)
    named = np.full(chosen.shape, np.nan, dtype=np.float32)
    names = patterns["values_share"].values
    number = {int(row): place for place, row in enumerate(task.inputs.ids)}
    wanted = np.unique(chosen[chosen != NONE])
    for done, text in enumerate(wanted):
        batch, source, target = task.batch(np.array([number[int(ids[text])]]), links=False)

        def look(seen: Seen, text: int = text) -> None:
            at = (stacks.index(seen.stack), seen.view.block.layer)
            heads = list(seen.view.block.heads)
            if not (chosen[at][heads] == text).any():
                return
            pictures = see_pictures(seen.view, seen.queries.real)[0][0]
            for place, head in enumerate(heads):
                for kind in np.flatnonzero(chosen[at][head] == text):
                    maps[(*at, head, kind)] = pack(pictures[place])
                    named[(*at, head, kind)] = names[(text, *at, head)].argmax()

        with evaluating(task.model), torch.inference_mode(False):
            see_layers(task.model, task.anatomy, batch, source, target, task.setting.classes, look)
        if task.progress is not None:
            task.progress(done + 1, len(wanted))
    shown = np.searchsorted(wanted, chosen)
    dims = (*HEAD_DIMS, "kind")
    texts = np.array([task.inputs.texts[number[int(ids[text])]] for text in wanted], dtype=object)
    return {
        "maps": ((*dims, "query", "key"), maps),
        "named": (dims, named),
        "text": (dims, np.where(chosen == NONE, NONE, shown)),
        "texts": (("place",), texts),
        "stack": (("stack",), patterns["stack"].values),
        "kind": (("kind",), np.array(KINDS, dtype=object)),
    }
