"""The numbers that sum a study up: heads, baseline, significant effects and the chosen cut, each with its control."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, choose_cut, significant
from headcount.core.heads import Layout
from headcount.story.names import spell_score

KeyNumber = dict[str, str]
"""`title`, `value`, `spread` (its interval) and `beside` (what it is compared with). Without a result there is no
`value`, and `missing` says what would give one."""


def heads_number(layout: Layout) -> KeyNumber:
    """How many heads there are, in how many layers."""
    stacks = {stack: layers for stack, layers in layout.stacks.items() if any(layers)}
    if len(stacks) > 1:
        spread = ", ".join(f"{stack} {sum(map(len, layers))}" for stack, layers in stacks.items())
    else:
        spread = next((shape_of(layers) for layers in stacks.values()), "")
    return {"title": "heads", "value": f"{layout.count:,}", "spread": spread, "beside": ""}


def shape_of(layers: tuple[tuple[int, ...], ...]) -> str:
    """Layers and heads of a stack in words; pruned layers have different numbers of heads.

    >>> shape_of(((0, 1), (0, 1), (0, 1))), shape_of(((0,), (0, 1)))
    ('3 layers of 2', '2 layers of 1 to 2')
    """
    counts = [len(heads) for heads in layers]
    each = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    return f"{len(layers)} layer{'s' if len(layers) > 1 else ''} of {each}"


def baseline_number(sweep: xr.Dataset | None) -> KeyNumber:
    """The score of the whole model, beside that of always giving the commonest answer."""
    if sweep is None:
        return {"title": "baseline score", "missing": "headcount sweep measures it"}
    metric, examples = sweep.attrs["metric"], sweep.sizes["example"]
    digits = _digits(examples)
    low, high = (float(sweep[f"baseline_{end}"]) if f"baseline_{end}" in sweep else np.nan for end in ("low", "high"))
    lower = "" if sweep.attrs.get("higher_is_better", True) else ", lower is better"
    commonest = _commonest(sweep)
    control = "" if commonest is None else f"; commonest answer: {commonest:.{digits}f}"
    return {
        "title": f"baseline {metric}",
        "value": spell_score(float(sweep["baseline"]), digits),
        "spread": _between(low, high, digits),
        "beside": f"{examples:,} examples{lower}{control}",
    }


def significant_number(sweep: xr.Dataset | None) -> KeyNumber:
    """How many heads have a significant effect of how many tested, beside how finely the effects are known."""
    if sweep is None:
        return {"title": "heads with a significant effect", "missing": "headcount sweep --by head tests them"}
    q = sweep["q"].values
    tested = int(np.isfinite(q).sum())
    wide = np.nanmean(sweep["high"].values - sweep["low"].values) if tested else np.nan
    return {
        "title": "heads with a significant effect",
        "value": f"{int(significant(q).sum())} of {tested:,}",
        "spread": f"q < {LEVEL}",
        "beside": f"a head's effect is known to ±{wide / 2:.2g} on average" if np.isfinite(wide) else "",
    }


def cut_number(selection: xr.Dataset | None, held_out: xr.Dataset | None, points: float) -> KeyNumber:
    """The held-out change of the cut that the other half selected, beside random orders of the same length."""
    if selection is None or held_out is None:
        return {"title": "held-out change of a cut", "missing": "headcount prune measures it"}
    metric, order = held_out.attrs["metric"], str(held_out["order"].values[0])
    cut = choose_cut(selection, order, points)
    count = cut.count or cut.by_estimate
    if not count:
        return {
            "title": f"heads that can go within a point of {metric}",
            "value": "0",
            "spread": f"of {held_out.attrs['heads']}",
            "beside": "no cut stays within it, not even by its point estimate",
        }
    step = held_out.sel(order=order, removed=count)
    change, low, high = (float(step[name]) for name in ("delta", "low", "high"))
    digits = _digits(held_out.attrs["examples"])
    randoms = [name for name in map(str, held_out["order"].values) if name.startswith("random ")]
    control = ""
    if randoms:
        mean = float(held_out["delta"].sel(order=randoms, removed=count).mean())
        orders = "a random order" if len(randoms) == 1 else f"{len(randoms)} random orders"
        control = f"{orders}: {_signed(mean, digits)}"
    examples = f"{held_out.attrs['examples']:,} held-out examples"
    doubt = "" if cut.count else "no cut is shown to be safe"
    return {
        "title": f"{metric} without {count} of {held_out.attrs['heads']} heads",
        "value": _signed(change, digits),
        "spread": _between(low, high, digits, signed=True),
        "beside": "; ".join(filter(None, (examples, control, doubt))),
    }


def _digits(examples: Any) -> int:
    """As many decimals as so many examples can tell apart."""
    return 2 if int(examples) < 1000 else 3


def _signed(value: float, digits: int) -> str:
    return spell_score(value, digits, signed=True)


def _between(low: float, high: float, digits: int, signed: bool = False) -> str:
    if not np.isfinite([low, high]).all():
        return "no interval"
    return "[{}, {}]".format(*(spell_score(end, digits, signed) for end in (low, high)))


def _commonest(sweep: xr.Dataset) -> float | None:
    """The accuracy of always giving the commonest answer; None where that is no answer to compare with."""
    if sweep.attrs["metric"] != "accuracy" or "label" not in sweep or sweep["label"].dtype.kind not in "iu":
        return None
    _, counts = np.unique(sweep["label"].values, return_counts=True)
    return float(counts.max() / counts.sum()) if len(counts) > 1 else None
