"""Which heads stand out by a measure: the strongest of each kind, with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.statistics import mean_interval

LINES: list[tuple[str, str, dict[str, Any], str]] = [
    ("position", "previous", {}, "looks at the previous token"),
    ("position", "next", {}, "looks at the next token"),
    ("position", "same", {}, "looks at the token itself"),
    ("special", "cls", {}, "looks at [CLS]"),
    ("special", "sep", {}, "looks at [SEP]"),
    ("special", "punctuation", {}, "looks at full stops and commas"),
    ("special", "first", {}, "looks at the first token"),
    ("entropy", "entropy", {}, "is broadest (entropy in nats)"),
    ("spread", "confidence", {}, "is surest (largest weight)"),
    ("spread", "distance", {}, "looks farthest (tokens)"),
    ("sentences", "across", {}, "looks across to the other text"),
    ("patterns", "share", {"pattern": "vertical"}, "is vertical (share of its maps)"),
    ("patterns", "share", {"pattern": "diagonal"}, "is diagonal (share of its maps)"),
    ("patterns", "share", {"pattern": "block"}, "is block (share of its maps)"),
    ("repeated", "gain", {}, "ties repeated words (over other words)"),
    ("rare", "gain", {}, "looks at the rarest word (over others)"),
    ("links", "gain", {"link": "verb to subject"}, "verb to subject (over its offset)"),
    ("links", "gain", {"link": "pronoun to noun"}, "pronoun to noun (over its offset)"),
    ("contribution", "share", {}, "writes most (share of its layer)"),
    ("contribution", "near_zero", {}, "looks at nothing (near-zero values)"),
    ("gradients", "sep", {}, "loss depends on attention to [SEP]"),
]
"""Measure, variable, choice along further dimensions, and what the largest value says of a head."""


def strongest(
    dataset: xr.Dataset, variable: str, choice: dict[str, Any], smallest: bool = False, stacked: bool = False
) -> tuple[str, str]:
    """The head with the largest value, spelled, and the value with its interval."""
    arrays = [
        dataset[name].sel(choice) if choice else dataset[name]
        for name in (variable, f"{variable}_low", f"{variable}_high")
    ]
    values = arrays[0].transpose(*HEAD_DIMS).values
    filled = np.where(np.isnan(values), -np.inf, -values if smallest else values)
    place = np.unravel_index(int(filled.argmax()), filled.shape)
    stack = "" if len(dataset["stack"]) == 1 and not stacked else f"{dataset['stack'].values[place[0]]}."
    value, low, high = (float(array.transpose(*HEAD_DIMS).values[place]) for array in arrays)
    return f"{stack}L{place[1]}H{place[2]}", f"{value:.3f} [{low:.3f}, {high:.3f}]"


def standing_out(found: xr.DataTree) -> list[tuple[str, str, str, str]]:
    """Rows: what is asked, the head that does it most, how much, and what the median head does."""
    rows = []
    for measure, variable, choice, said in LINES:
        node = found.children.get(measure)
        if node is None or variable not in node.data_vars:
            continue
        dataset = node.to_dataset()
        values = (dataset[variable].sel(choice) if choice else dataset[variable]).values
        if np.isnan(values).all():
            continue
        # Nobody is the most at what no head does, as looking at the next token in a causal model.
        most = strongest(dataset, variable, choice) if np.nanmax(values) > 0 else ("no head", "")
        rows.append((said, *most, f"{np.nanmedian(values):.3f}"))
    return rows


def pattern_rows(patterns: xr.Dataset, stack: str, named: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows: a pattern, its share of all maps in percent, how many heads mostly have it, the clearest of these."""
    one = patterns.sel(stack=stack)
    mostly, sure = one["mostly"].values, one["share"].values
    prefix = f"{stack}." if patterns.sizes["stack"] > 1 else ""
    rows = []
    for number, pattern in enumerate(map(str, patterns["pattern"].values)):
        heads = np.argwhere(mostly == number)
        clearest = sorted(heads.tolist(), key=lambda head: -sure[head[0], head[1], number])[:named]
        value, low, high = (100 * float(one[f"whole_share{end}"].values[number]) for end in ("", "_low", "_high"))
        names = ", ".join(f"{prefix}L{layer}H{head}" for layer, head in clearest)
        rows.append((pattern, f"{value:.0f} [{low:.0f}, {high:.0f}]", str(len(heads)), names))
    return rows


def changes(found: xr.DataTree) -> list[str]:
    """Sentences on which layers and heads changed most between two models."""
    cosine = found["cosine"].to_dataset()
    lines = []
    for stack in cosine["stack"].values:
        one = cosine.sel(stack=[stack])
        several = len(cosine["stack"]) > 1
        mean, low, high = mean_interval(one["values_maps"].mean("head").values[:, 0])
        layer = int(np.nanargmin(mean))
        head, value = strongest(one, "maps", {}, smallest=True, stacked=several)
        spelled = f"{stack}.L{layer}" if several else f"L{layer}"
        lines.append(
            f"The maps of {spelled} differ most: mean cosine {mean[layer]:.3f} [{low[layer]:.3f}, {high[layer]:.3f}] "
            f"(1 is identical), against {np.nanmedian(mean):.3f} for the median layer."
        )
        lines.append(
            f"The maps of {head} differ most: {value}, against {float(one['maps'].median()):.3f} for the median head."
        )
    return lines


def changed_rows(found: xr.DataTree) -> list[tuple[str, ...]]:
    """Rows: a measure, how many heads went up and down (their interval leaves 0 out), the largest rise and fall."""
    rows = []
    for measure, variable, choice, _ in LINES:
        node = found.children.get(measure)
        if node is None or variable not in node.data_vars:
            continue
        dataset = node.to_dataset().sel(choice) if choice else node.to_dataset()
        if np.isnan(dataset[variable].values).all():
            continue
        up = int((dataset[f"{variable}_low"].values > 0).sum())
        down = int((dataset[f"{variable}_high"].values < 0).sum())
        ends = [_short(dataset, variable, smallest) for smallest in (False, True)]
        rows.append((f"{measure}: {' '.join([variable, *choice.values()])}", str(up), str(down), *ends))
    return rows


def _short(dataset: xr.Dataset, variable: str, smallest: bool) -> str:
    head, value = strongest(dataset, variable, {}, smallest)
    return f"{head} {float(value.split(' ')[0]):+.3f}"


def left_out(found: xr.DataTree) -> list[str]:
    """Sentences on what was not measured, on cut texts, and on layers that are alike."""
    lines = []
    attributes = found.attrs
    if attributes.get("cut"):
        lines.append(f"{attributes['cut']} texts were longer than the model takes and were cut.")
    distances = found.children.get("distances")
    if distances is not None:
        dataset = distances.to_dataset()
        for stack in dataset["stack"].values:
            one = dataset.sel(stack=stack)
            if np.isfinite(float(one["p"])):
                lines.append(
                    f"Heads of one layer are {float(one['within_layers']):.3f} nats apart, heads of different layers "
                    f"{float(one['between_layers']):.3f} ({stack}, p = {float(one['p']):.2g})."
                )
    for name, reason in attributes.get("left_out", {}).items():
        lines.append(f"{name} was left out: {reason}.")
    return lines
