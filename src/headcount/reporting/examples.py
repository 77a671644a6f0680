"""Which examples does the model answer differently without a head, or with that of another input? With their texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.cue_spans import find_spans
from headcount.core.sweep_schemas import inputs_of
from headcount.reporting.view import View
from headcount.story.patches import is_patched

TEXTS = ("text", "pair", *(f"choice{number}" for number in range(2, 9)))
"""The columns of texts in a sweep."""
MOST = 25
"""Examples shown for one head."""
LONGEST = 400
"""Characters shown of a text."""


def find_flips(view: View) -> list[dict[str, Any]]:
    """For each sweep by head: texts with the full model's answer and, by head, which answers flip.

    Of a patch, `patched` says which input is run, whose texts these are, and `given` has the answer on the other one.
    """
    sweeps = []
    for name, dataset in view.of("sweep").items():
        if dataset.attrs.get("by") != "head" or dataset.attrs.get("how") == "function-vector" or "text" not in dataset:
            continue
        answers = _answers(dataset)
        if answers is not None:
            sweeps.append({"sweep": name, **_flips(view, dataset, *answers)})
    return sweeps


def _answers(dataset: xr.Dataset) -> tuple[np.ndarray, np.ndarray, list[str] | None] | None:
    """Answers of the full model [example] and without each head [stack, layer, head, example], and class names."""
    # The largest logit is the answer only if a label is a single class, that is, an integer.
    one_class = "label" not in dataset or dataset["label"].dtype.kind in "iu"
    if "logits" in dataset and dataset.sizes["class"] > 1 and one_class:
        whole, without = dataset["baseline_logits"].values, dataset["logits"].values
        names = [str(name) for name in dataset.attrs.get("labels") or range(whole.shape[-1])]
        # Heads that do not exist have no logits: they flip nothing.
        missing = np.isnan(without).any(-1)
        return whole.argmax(-1), np.where(missing, whole.argmax(-1), np.nan_to_num(without).argmax(-1)), names
    if "texts" in dataset:
        return dataset["baseline_texts"].values.astype(object), dataset["texts"].values.astype(object), None
    return None


def _flips(view: View, dataset: xr.Dataset, whole: np.ndarray, without: np.ndarray, names: Any) -> dict[str, Any]:
    stacks = [str(stack) for stack in dataset["stack"].values]
    texts: list[dict[str, Any]] = []
    text_indices: dict[int, int] = {}
    heads: dict[int, dict[str, Any]] = {}
    patched = is_patched(dataset)
    ran, given = inputs_of(dataset.attrs["direction"]) if patched else ("", "")
    columns = ["counterpart"] if ran == "corrupted" else [name for name in TEXTS if name in dataset]
    cues = None if patched else _find_cues(view, dataset)
    others = dataset["given_logits"].values.argmax(-1) if patched and names is not None else None
    written = [dataset[name].values for name in columns]
    known = dataset["delta"].values
    gold = dataset["label"].values if "label" in dataset else None
    for index, head in enumerate(view.layout):
        if head.stack not in stacks or head.layer >= without.shape[1] or head.head >= without.shape[2]:
            continue
        answers = without[stacks.index(head.stack), head.layer, head.head]
        if not np.isfinite(known[stacks.index(head.stack), head.layer, head.head]):
            continue  # the model has no such head
        changed = np.flatnonzero(answers != whole)
        shown = []
        for example in changed[:MOST]:
            if example not in text_indices:
                text_indices[example] = len(texts)
                label = None if gold is None else gold[example]
                texts.append(
                    {
                        "text": [truncate(column[example]) for column in written],
                        **_cue_words(cues, dataset["example"].values[example], columns, written, example),
                        "label": _spell_answer(label, names),
                        "whole": _spell_answer(whole[example], names),
                        **({} if others is None else {"given": _spell_answer(others[example], names)}),
                    }
                )
            shown.append([text_indices[example], _spell_answer(answers[example], names)])
        if len(changed):
            heads[index] = {"count": len(changed), "shown": shown}
    return {
        "texts": texts,
        "heads": heads,
        "examples": int(dataset.sizes["example"]),
        "classes": names is not None,
        "patched": {"ran": ran, "given": given} if patched else None,
    }


def _find_cues(view: View, swept: xr.Dataset) -> xr.Dataset | None:
    """The cues whose heads were looked for with this sweep."""
    same = ("task", "data", "how")
    return next(
        (
            carried
            for carried in view.of("cue_heads").values()
            if all(carried.attrs.get(key) == swept.attrs.get(key) for key in same)
        ),
        None,
    )


def _cue_words(
    cues: xr.Dataset | None, name: Any, columns: list[str], written: list[np.ndarray], example: int
) -> dict[str, Any]:
    """Where the cue words of an example are, in each of its texts, and whether they point to its label."""
    if cues is None or name not in cues["example"].values:
        return {}
    right = float(cues["cue_right"].sel(example=name))
    says = {1.0: "cues right", 0.0: "cues wrong"}.get(right, "no cue")
    attributes = cues.attrs
    counted = {"first": columns[:1], "second": columns[1:2], "both": columns}.get(attributes["side"], columns[1:])
    words = [] if attributes["tokens"] == "pieces" else [str(cue) for cue in cues["cue"].values]
    marks = [
        find_spans(truncate(column[example]), words, attributes["tokens"], attributes["cased"])
        if title in counted
        else []
        for title, column in zip(columns, written, strict=True)
    ]
    return {"cues": says, "marks": marks}


def _spell_answer(answer: Any, names: list[str] | None) -> str | None:
    if answer is None:
        return None
    if names is None:
        return truncate(answer)
    number = int(answer)
    return names[number] if 0 <= number < len(names) else str(answer)


def truncate(text: Any) -> str:
    """As much of a text as a page shows."""
    return str(text) if len(str(text)) <= LONGEST else f"{str(text)[:LONGEST]}…"
