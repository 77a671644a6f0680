"""The findings of a study: which results are summarised at the top of the page, and in which order."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headcount.core.claims import choose_cut
from headcount.reporting.budgets import budget_halves
from headcount.reporting.patterns import find_pattern_result
from headcount.reporting.view import View
from headcount.story.attribution import attribution_sentences
from headcount.story.budgets import budget_sentences
from headcount.story.carriers import carrier_sentences
from headcount.story.changes import difference_sentence
from headcount.story.circuits import circuit_sentences
from headcount.story.cue_heads import cue_head_sentences
from headcount.story.cues import cue_findings, cue_heading, has_cues
from headcount.story.cuts import choice_sentences
from headcount.story.dynamics import dynamics_sentences
from headcount.story.function_vectors import vector_sentences
from headcount.story.gate_roles import role_sentences
from headcount.story.heads import standing_out_sentences
from headcount.story.names import short_name
from headcount.story.notes import blank_note, cut_note
from headcount.story.pairs import pair_sentences
from headcount.story.patches import is_patched, patch_heading
from headcount.story.paths import path_sentences
from headcount.story.patterns import share_sentences
from headcount.story.probes import probe_sentences
from headcount.story.roles import roles_sentence
from headcount.story.sweeps import sweep_sentences, uncertainty_sentences, worst_layer_sentence

TOLERANCE = 1.0
"""Points that a pruned model may lose, in the page's sentence on pruning."""


TITLES = (
    "What each head does",
    "What happens without it",
    "What heads bring from another input",
    "How small it can get",
    "What fine-tuning changed",
    "Notes",
)


def find_sentences(view: View) -> list[dict[str, Any]]:
    """The findings in sections, each with a `title` and its `sentences`; sections without a sentence are left out."""
    parts = (_heads(view), _without(view), _patched(view), _smaller(view), _changes(view), _notes(view))
    return [{"title": title, "sentences": said} for title, said in zip(TITLES, parts, strict=True) if said]


def _is_stacked(view: View) -> bool:
    return len(view.layout.stacks) > 1


def _heads(view: View) -> list[str]:
    """Where heads look, what they follow, and what their maps look like."""
    own = view.named("measures")
    sentences = roles_sentence(own, view.by_head)
    _, patterns = find_pattern_result(view)
    if patterns is not None:
        sentences += share_sentences(patterns)
    for name, probed in view.of("probe").items():
        sentences += probe_sentences(name, probed)
    return [*sentences, *standing_out_sentences(own, _is_stacked(view))]


def _without(view: View) -> list[str]:
    """Effects of ablation, of single heads and of sets."""
    sentences: list[str] = []
    for name, dataset in view.of("sweep").items():
        if not is_patched(dataset):
            sentences += _sweep(view, name, dataset)
    for carried in view.of("cue_heads").values():
        sentences += cue_head_sentences(carried)
    for carried in view.of("carriers").values():
        sentences += carrier_sentences(carried)
    for name, result in view.of("pruning").items():
        if name.split("@")[0] == "roles":
            sentences += role_sentences(result)
    for found in view.of("circuit").values():
        sentences += circuit_sentences(found)
    return sentences


def _patched(view: View) -> list[str]:
    """Effects of patching: nothing is without a head there."""
    sentences: list[str] = []
    for name, dataset in view.of("sweep").items():
        if is_patched(dataset) and dataset.attrs.get("by") in ("head", "layer", "position"):
            sentences += [patch_heading(name, dataset), *sweep_sentences(dataset)]
    for vectors in view.of("function_vectors").values():
        sentences += vector_sentences(vectors)
    for estimated in view.of("patching").values():
        sentences += attribution_sentences(estimated)
    for found in view.of("paths").values():
        sentences += path_sentences(found)
    return sentences


def _sweep(view: View, name: str, dataset: xr.Dataset) -> list[str]:
    attributes = dataset.attrs
    by = attributes.get("by")
    if attributes.get("how") == "function-vector":
        return []  # part of a result with sentences of its own
    if by == "head":
        heading = f"{short_name(attributes['model'])} on {attributes['task']}, without one head at a time ({name}):"
        return [heading, *sweep_sentences(dataset)]
    if by == "pair":
        heading = f"{short_name(attributes['model'])} on {attributes['task']}, without two heads ({name}):"
        return [heading, *pair_sentences(dataset)]
    if by == "layer":
        return [worst_layer_sentence(dataset, _is_stacked(view) or len(dataset["stack"]) > 1)]
    return []


def _smaller(view: View) -> list[str]:
    """Cuts and budgets."""
    budgets = budget_halves(view).values()
    return [*_curves(view), *(said for halves in budgets for said in budget_sentences(*halves))]


def _changes(view: View) -> list[str]:
    """What fine-tuning changed, and when the order of heads settled."""
    cosine, dynamics = view.of("compare").get("cosine"), view.of("pruning").get("dynamics")
    sentences = [] if cosine is None else [difference_sentence(cosine, _is_stacked(view))]
    return sentences if dynamics is None else sentences + dynamics_sentences(dynamics)


def _notes(view: View) -> list[str]:
    """What limits the other findings: cues in the data, wide intervals, blank rows."""
    sentences: list[str] = []
    for result in view.of("cues").values():
        if has_cues(result):
            sentences += [cue_heading(result), *cue_findings(result), *cut_note(result.attrs)]
    for dataset in view.of("sweep").values():
        if dataset.attrs.get("by") == "head" and not is_patched(dataset):
            sentences += uncertainty_sentences(dataset)
    blank = [note for result in view.results.values() for note in blank_note(result.attrs)]
    return [*sentences, *dict.fromkeys(blank)]


def _curves(view: View) -> list[str]:
    """How many heads can be removed: selected on one half of the examples, evaluated on the held-out half."""
    curves = view.of("pruning")
    sentences = []
    for name, held_out in curves.items():
        if not name.startswith("curve") or name.endswith("-choosing") or view.is_passing_checkpoint(name):
            continue
        selection = curves.get(name.removesuffix("-confirming") + "-choosing")
        order = str(held_out["order"].values[0])
        if selection is None or "bound_low" not in held_out:
            continue  # nothing was held out, or an older study has no bounds: a chart, but no claim
        cut = choose_cut(selection, order, TOLERANCE)
        sentences += choice_sentences(selection, held_out, order, cut.count or cut.by_estimate, TOLERANCE)
    return sentences
