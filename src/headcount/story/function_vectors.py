"""Function-vector heads in rows and sentences: which heads carry a task, and whether they are the induction heads."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL
from headcount.story.names import interval_of, spell_head, spell_interval
from headcount.story.notes import blank_note, cut_note, source_note

COLUMNS = ("head", "rise of log p", "q", "rise of p", "induction")
MOST = 10
NAMED = 5
"""Heads that a sentence names."""
HARDLY = 0.1
"""A model whose accuracy is surely below this does not do the task."""


def vector_rows(result: xr.Dataset, most: int = MOST) -> list[tuple[str, ...]]:
    """The heads whose mean output raises the answer's log-probability most, in the order of COLUMNS."""
    rows: list[tuple[str, ...]] = []
    for place in _highest(result["rise"].values)[:most]:
        rise, probability, score = (
            tuple(float(result[f"{name}{end}"].values[place]) for end in ("", "_low", "_high"))
            for name in ("rise", "probability", "induction")
        )
        rows.append(
            (
                _name(result, place),
                spell_interval((rise[0], rise[1], rise[2]), 2, signed=True),
                f"{float(result['rise_q'].values[place]):.2g}",
                f"{probability[0]:+.3f}",
                spell_interval((score[0], score[1], score[2]), 2),
            )
        )
    return rows


def vector_sentences(result: xr.Dataset) -> list[str]:
    """Whether the model does the tasks, which heads carry them, and whether these are the induction heads."""
    return [
        *source_note(result.attrs),
        *cut_note(result.attrs),
        *blank_note(result.attrs),
        _inputs(result),
        *_tasks(result),
        *_carrying(result),
        _correlation(result),
        *_overlap(result),
    ]


def _inputs(result: xr.Dataset) -> str:
    clean, corrupted = (spell_interval(interval_of(result, name), 2) for name in ("clean", "corrupted"))
    said = (
        f"The log-probability of the right answer is {clean} after clean examples and {corrupted} after shuffled ones"
    )
    less = "" if float(result["difference_low"]) > 0 else "; the examples are not shown to help"
    return f"{said} ({result.attrs['examples']} prompts, 95 % intervals){less}."


def _tasks(result: xr.Dataset) -> list[str]:
    """The accuracy of each task, and those that the model does not do."""
    tasks = [str(name) for name in result["task"].values]
    clean, shuffled = (100 * result[f"{side}_accuracy"].values for side in ("clean", "corrupted"))
    each = ", ".join(f"{name} {a:.0f} % ({b:.0f} %)" for name, a, b in zip(tasks, clean, shuffled, strict=True))
    sentences = [f"Accuracy after clean (shuffled) examples: {each}."]
    hopeless = [name for name, most in zip(tasks, result["clean_accuracy_high"].values, strict=True) if most < HARDLY]
    if hopeless:
        sentences.append(
            f"The model does not do {', '.join(hopeless)} even after clean examples: no head can carry it."
        )
    return sentences


def _carrying(result: xr.Dataset) -> list[str]:
    """The heads with a significant rise, and what the best of them brings on held-out prompts."""
    rise, q = result["rise"].values, result["rise_q"].values
    tested = int(np.isfinite(rise).sum())
    found = [place for place in _highest(rise) if q[place] < LEVEL and rise[place] > 0]
    lower = int(((q < LEVEL) & (rise < 0)).sum())
    test = f"(q < {LEVEL}, {tested} heads tested)"
    if not found:
        return [f"No head's mean output raises it significantly {test}; {lower} lower it."]
    names = ", ".join(_name(result, place) for place in found[:NAMED]) + (", ..." if len(found) > NAMED else "")
    heads = "output of 1 head raises" if len(found) == 1 else f"outputs of {len(found)} heads raise"
    honest, low, high = interval_of(result, "honest_rise")
    held_out = f"{honest:+.2f} ({low:+.2f} to {high:+.2f} in 95 % of the splits)"
    return [
        f"The mean {heads} it significantly {test}: {names}; {lower} lower it.",
        f"The best head, selected on one half of the prompts and evaluated on the other: {held_out}.",
    ]


def _correlation(result: xr.Dataset) -> str:
    rise, probability = (
        spell_interval(interval_of(result, name), 2) for name in ("correlation", "probability_correlation")
    )
    said = f"Rank correlation with the induction score of the same heads ({result.attrs['texts']} repeated texts)"
    return f"{said}: {rise} of the rise, {probability} in probability (95 % intervals over heads)."


def _overlap(result: xr.Dataset) -> list[str]:
    """How many heads are both, beside chance, and where the two kinds lie."""
    role, names = result["role"].values, list(result["role"].attrs["names"])
    counts = {name: int((role == code).sum()) for code, name in enumerate(names)}
    vectors, inductive = (counts[name] + counts["both"] for name in ("function vector", "induction"))
    if not vectors or not inductive:
        return [f"There are {vectors} function-vector heads and {inductive} induction heads."]
    expected, p = float(result["both_expected"]), float(result["both_p"])
    layers = [
        f"{np.median(np.argwhere((role == names.index(name)) | (role == names.index('both')))[:, 1]):.0f}"
        for name in ("function vector", "induction")
    ]
    both = f"{counts['both']} of {vectors} function-vector heads are among the {inductive} induction heads"
    depth = f"median layer {layers[0]} against {layers[1]}"
    return [f"{both}, where {expected:.1f} would be by chance (p = {p:.2g}); {depth}."]


def _highest(values: np.ndarray) -> list[tuple[int, ...]]:
    """Where the values are, the highest first."""
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf).ravel(), kind="stable")
    places = zip(*np.unravel_index(order[: int(np.isfinite(values).sum())], values.shape), strict=True)
    return [tuple(int(at) for at in place) for place in places]


def _name(result: xr.Dataset, place: tuple[int, ...]) -> str:
    return spell_head(result, place, result.sizes["stack"] > 1)
