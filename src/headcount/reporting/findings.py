"""The findings of a study: which results are summarised at the top of the page, and in which order."""

from __future__ import annotations

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
from headcount.story.sweeps import sweep_sentences, uncertainty_sentences, worst_layer_sentence

TOLERANCE = 1.0
"""Points that a pruned model may lose, in the page's sentence on pruning."""


def find_sentences(view: View) -> list[str]:
    """The sentences at the top of a page."""
    sentences = []
    stacked = len(view.layout.stacks) > 1
    for name, dataset in view.of("sweep").items():
        attributes = dataset.attrs
        if attributes.get("how") == "function-vector":
            continue  # part of a result with sentences of its own
        if is_patched(dataset) and attributes.get("by") in ("head", "layer", "position"):
            sentences += [patch_heading(name, dataset), *sweep_sentences(dataset)]
        elif attributes.get("by") == "head":
            model = short_name(attributes["model"])
            sentences.append(f"{model} on {attributes['task']}, without one head at a time ({name}):")
            sentences += [*sweep_sentences(dataset), *uncertainty_sentences(dataset)]
        elif attributes.get("by") == "pair":
            model = short_name(attributes["model"])
            sentences.append(f"{model} on {attributes['task']}, without two heads ({name}):")
            sentences += pair_sentences(dataset)
        elif attributes.get("by") == "layer":
            sentences.append(worst_layer_sentence(dataset, stacked or len(dataset["stack"]) > 1))
    for carried in view.of("cue_heads").values():
        sentences += cue_head_sentences(carried)
    for carried in view.of("carriers").values():
        sentences += carrier_sentences(carried)
    for name, result in view.of("pruning").items():
        if name.split("@")[0] == "roles":
            sentences += role_sentences(result)
    for vectors in view.of("function_vectors").values():
        sentences += vector_sentences(vectors)
    for estimated in view.of("patching").values():
        sentences += attribution_sentences(estimated)
    for found in view.of("circuit").values():
        sentences += circuit_sentences(found)
    for found in view.of("paths").values():
        sentences += path_sentences(found)
    for choosing, confirming in budget_halves(view).values():
        sentences += budget_sentences(choosing, confirming)
    sentences += _curves(view)
    cosine = view.of("compare").get("cosine")
    if cosine is not None:
        sentences.append(difference_sentence(cosine, stacked))
    _, patterns = find_pattern_result(view)
    if patterns is not None:
        sentences += share_sentences(patterns)
    for name, probed in view.of("probe").items():
        sentences += probe_sentences(name, probed)
    for result in view.of("cues").values():
        if has_cues(result):
            sentences += [cue_heading(result), *cue_findings(result), *cut_note(result.attrs)]
    own = view.named("measures")
    blank = [note for result in view.results.values() for note in blank_note(result.attrs)]
    return [*sentences, *standing_out_sentences(own, stacked), *dict.fromkeys(blank)]


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
