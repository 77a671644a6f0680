"""Which heads follow frame-semantic links: rows and sentences, and what the study's sweeps say about these heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.core.probe_names import ALL
from headcount.core.sweep_schemas import OF_ANOTHER_INPUT
from headcount.story.names import interval_of, spell_direction, spell_estimate, spell_head, spell_interval
from headcount.story.notes import causal_note, left_out_note, probe_notes

MOST_ROWS = 10
MOST_EFFECTS = 5
"""Heads whose effects are told."""
Index = tuple[int, ...]


def filter_rows(probed: xr.Dataset) -> list[tuple[str, str]]:
    """Each step of the filter, and how many annotation sets are left after it; then links and sentences."""
    rows = [(step, f"{count:,}") for step, count in probed.attrs["filter"].items()]
    of = f" (drawn from {total:,})" if (total := probed.attrs["filtered_sentences"]) > probed.sizes["example"] else ""
    return [
        *rows,
        ("different links", f"{probed.attrs['links']:,}"),
        (f"sentences{of}", f"{probed.sizes['example']:,}"),
    ]


def frame_rows(probed: xr.Dataset) -> list[tuple[str, ...]]:
    """The heads above the 99th percentile in each direction: their weight, and a comparison with unlinked words.

    That is between the links that have unlinked words at the same distance, these, the difference and its q.
    """
    rows: list[tuple[str, ...]] = []
    for index in _above(probed)[:MOST_ROWS]:
        numbers = [float(probed[name].values[index]) for name in ("weight", "compared_weight", "null_weight")]
        rows.append(
            (
                f"{_head(probed, index)} {spell_direction(probed, str(probed['direction'].values[index[3]]))}",
                *(f"{number:.3f}" for number in numbers),
                spell_interval(interval_of(_at(probed, index), "excess"), signed=True),
                f"{float(probed['excess_q'].values[index]):.2g}",
            )
        )
    return rows


def frame_sentences(probed: xr.Dataset) -> list[str]:
    """What was found: the best head, held out; the heads above the percentile; significant heads; what was left out."""
    return [
        *_best(probed),
        *_percentile(probed),
        _significant(probed),
        *_random(probed),
        *causal_note(probed, "a link counts only from its later part to the earlier one"),
        *_left_out(probed),
        *probe_notes(probed.attrs),
    ]


def effect_sentences(probed: xr.Dataset, study: str | Path) -> list[str]:
    """Whether the heads above the percentile matter for the task, by the sweeps over heads in the same study.

    Without any, the command that gives one.
    """
    heads = list(dict.fromkeys(index[:3] for index in _above(probed)))[:MOST_EFFECTS]
    lines = []
    for name, sweep in _sweeps(probed, study).items():
        metric = sweep.attrs["metric"]
        effects = [index for index in heads if significant(sweep["q"].values[index])]
        for index in (index for index in heads if np.isfinite(sweep["delta"].values[index])):
            change, low, high, q = (float(sweep[part].values[index]) for part in ("delta", "low", "high", "q"))
            verdict = "significant" if index in effects else "not significant"
            lines.append(
                f"Without {_head(probed, index)} {metric} changes by "
                f"{spell_estimate((change, low, high), signed=True)}: {verdict} (q = {q:.2g}, {name})."
            )
    if heads and not lines:
        command = f"headcount sweep {probed.attrs['model']} --task TASK --data FILE --out {study}"
        return [f"Whether these heads matter for a task: {command}"]
    return lines


def _sweeps(probed: xr.Dataset, study: str | Path) -> dict[str, xr.Dataset]:
    """The complete sweeps over heads of the same model."""
    # Here, so that all other sentences need no zarr.
    from headcount.core.read_study import open_study

    tree = open_study(study, damaged="skip")
    sweeps = (
        {f"sweep/{name}": node.to_dataset() for name, node in tree.children["sweep"].children.items()}
        if "sweep" in tree.children
        else {}
    )
    return {
        name: sweep
        for name, sweep in sweeps.items()
        if sweep.attrs.get("complete")
        and sweep.attrs.get("by") == "head"
        and _model(sweep) == _model(probed)
        and sweep.attrs.get("how") not in OF_ANOTHER_INPUT
    }


def _model(result: xr.Dataset) -> object:
    return result.attrs.get("identity", {}).get("model")


def _above(probed: xr.Dataset) -> list[Index]:
    """The heads above the percentile [stack, layer, head, direction], the largest weight first."""
    found = [tuple(int(at) for at in index) for index in np.argwhere(probed["above"].values)]
    return sorted(found, key=lambda index: -float(probed["weight"].values[index]))


def _best(probed: xr.Dataset) -> list[str]:
    whole = probed.sel(relation=ALL)
    head, way = str(whole["best_head"].item()), str(whole["best_direction"].item())
    if not head or not np.isfinite(float(whole["gain"])):
        return ["No link has unlinked words at the same distance to be compared with; give more sentences."]
    weight, null = float(whole["best_accuracy"]), float(whole["baseline_unlinked"])
    gain = spell_interval(interval_of(whole, "gain"), signed=True)
    selected = f"{head}, {way}, is furthest above unlinked words at the same distance on one half of the sentences"
    return [f"{selected}; on the other half its weight is {weight:.3f} beside {null:.3f}: {gain}."]


def _percentile(probed: xr.Dataset) -> list[str]:
    """One sentence for each direction that is looked at."""
    lines = []
    control = probed["random_above_p"].values if "random_above_p" in probed else None
    for number, way in enumerate(probed["direction"].values):
        threshold, null, p = (float(probed[name].values[number]) for name in _NAMES)
        if np.isfinite(threshold):
            above = int(probed["above"].values[..., number].sum())
            total = int(np.isfinite(probed["weight"].values[..., number]).sum())
            random = f"; {float(control[number]):.2g} with random weights" if control is not None else ""
            lines.append(
                f"{str(way).capitalize()}: {above} of {total} heads are above the 99th percentile of all heads "
                f"({threshold:.3f}), as always; with unlinked words in place of the links {null:.0f} would be above "
                f"that weight (p = {p:.2g}{random})."
            )
    return lines


_NAMES = ("above_threshold", "above_null", "above_p")


def _significant(probed: xr.Dataset) -> str:
    q, excess = probed["excess_q"].values, probed["excess"].values
    effective, tested = significant(q), int(np.isfinite(q).sum())
    if not effective.any():
        return f"No head attends more or less along links than between unlinked words (q < {LEVEL}, {tested} tests)."
    more, less = (int((effective & side).sum()) for side in (excess > 0, excess < 0))
    return (
        f"Of {tested} tests, two directions of each head, {more} show more attention along links than between unlinked "
        f"words and {less} less (q < {LEVEL})."
    )


def _random(probed: xr.Dataset) -> list[str]:
    """Even a model with random weights attends to some words more than to others: how far that alone goes."""
    if "random_excess" not in probed:
        return []
    count = int(significant(probed["random_excess_q"].values).sum())
    differences = np.abs(probed["random_excess"].values[np.isfinite(probed["random_excess"].values)])
    if not differences.size:
        return []
    most = float(differences.max())
    beyond = int((significant(probed["excess_q"].values) & (probed["excess_low"].values > most)).sum())
    control = f"With random weights {count} tests are significant, with differences of at most {most:.4f}"
    return [
        f"{control}: a preference for some words is enough. {beyond} tests show a larger difference than any of these."
    ]


def _left_out(probed: xr.Dataset) -> list[str]:
    lines = left_out_note(probed.attrs["links_unknown"], "link", "the tokenizer drops or merges their words")
    for way, count in probed.attrs["links_without_null"].items():
        if count:
            lines.append(
                f"{str(way).capitalize()}: {count} of {probed.attrs['links']} links have no unlinked words at the same "
                "distance with as many pieces, and are not compared."
            )
    return lines


def _head(probed: xr.Dataset, index: Index) -> str:
    return spell_head(probed, index[:3], probed.sizes["stack"] > 1)


def _at(probed: xr.Dataset, index: Index) -> xr.Dataset:
    """One head in one direction."""
    return probed.isel(dict(zip(probed["weight"].dims, index, strict=True)))
