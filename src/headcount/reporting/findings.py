"""What a study found: which of its results speak at the top of a page, and in which order."""

from __future__ import annotations

from headcount.core.claims import choose_cut
from headcount.reporting.patterns import measured
from headcount.reporting.view import View
from headcount.story.changes import difference_sentence
from headcount.story.cuts import choice_sentences
from headcount.story.heads import standing_out_sentences
from headcount.story.names import short_name
from headcount.story.patterns import share_sentences
from headcount.story.sweeps import sweep_sentences, uncertainty_sentences, worst_layer_sentence

TOLERANCE = 1.0
"""Points that a smaller model may lose, in the page's sentence."""


def find_sentences(view: View) -> list[str]:
    """The sentences at the top of a page."""
    said = []
    stacked = len(view.layout.stacks) > 1
    for name, dataset in view.of("sweep").items():
        attributes = dataset.attrs
        if attributes.get("by") == "head":
            model = short_name(attributes["model"])
            said.append(f"{model} on {attributes['task']}, without one head at a time ({name}):")
            said += [*sweep_sentences(dataset), *uncertainty_sentences(dataset)]
        elif attributes.get("by") == "layer":
            said.append(worst_layer_sentence(dataset, stacked or len(dataset["stack"]) > 1))
    said += _curves(view)
    cosine = view.of("compare").get("cosine")
    if cosine is not None:
        said.append(difference_sentence(cosine, stacked))
    _, patterns = measured(view)
    if patterns is not None:
        said += share_sentences(patterns)
    own = {name: dataset for name, dataset in view.of("measures").items() if "@" not in name}
    return said + standing_out_sentences(own, stacked)


def _curves(view: View) -> list[str]:
    """How many heads can go: selected on one half of the data where there are two, evaluated on the other."""
    curves = view.of("pruning")
    said = []
    for name, held_out in curves.items():
        if not name.startswith("curve") or name.endswith("-choosing") or view.along(name):
            continue
        selection = curves.get(name.removesuffix("-confirming") + "-choosing")
        order = str(held_out["order"].values[0])
        if selection is None or "bound_low" not in held_out:
            continue  # nothing was held out, or an older study has no bounds: there is a chart, but no claim
        cut = choose_cut(selection, order, TOLERANCE)
        said += choice_sentences(selection, held_out, order, cut.count or cut.by_estimate, TOLERANCE)
    return said
