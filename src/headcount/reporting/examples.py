"""Which examples does the model answer otherwise without a head? With their texts and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.reporting.view import View

MOST = 25
"""Examples shown for one head."""
LONGEST = 400
"""Letters of a text that are shown."""


def find_flips(view: View) -> list[dict[str, Any]]:
    """For each sweep by head: the texts, what the whole model says of them, and by head those that flip."""
    found = []
    for name, dataset in view.of("sweep").items():
        if dataset.attrs.get("by") != "head" or "text" not in dataset:
            continue
        answers = _answers(dataset)
        if answers is not None:
            found.append({"sweep": name, **_flips(view, dataset, *answers)})
    return found


def _answers(dataset: xr.Dataset) -> tuple[np.ndarray, np.ndarray, list[str] | None] | None:
    """The whole model's answers [example], those without each head [stack, layer, head, example], names of classes."""
    # The largest logit is an answer where a label is one class, and so a number.
    one_class = "label" not in dataset or dataset["label"].dtype.kind in "iu"
    if "logits" in dataset and dataset.sizes["class"] > 1 and one_class:
        whole, without = dataset["baseline_logits"].values, dataset["logits"].values
        names = [str(one) for one in dataset.attrs.get("labels") or range(whole.shape[-1])]
        # What is missing is no answer: its number is the whole model's.
        missing = np.isnan(without).any(-1)
        return whole.argmax(-1), np.where(missing, whole.argmax(-1), np.nan_to_num(without).argmax(-1)), names
    if "texts" in dataset:
        return dataset["baseline_texts"].values.astype(object), dataset["texts"].values.astype(object), None
    return None


def _flips(view: View, dataset: xr.Dataset, whole: np.ndarray, without: np.ndarray, names: Any) -> dict[str, Any]:
    stacks = [str(one) for one in dataset["stack"].values]
    texts: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    heads: dict[int, dict[str, Any]] = {}
    columns = [name for name in ("text", "pair") if name in dataset]
    written = [dataset[name].values for name in columns]
    known = dataset["delta"].values
    gold = dataset["label"].values if "label" in dataset else None
    for index, head in enumerate(view.layout):
        if head.stack not in stacks or head.layer >= without.shape[1] or head.head >= without.shape[2]:
            continue
        said = without[stacks.index(head.stack), head.layer, head.head]
        if not np.isfinite(known[stacks.index(head.stack), head.layer, head.head]):
            continue  # the model has no such head: what stands there is filling
        changed = np.flatnonzero(said != whole)
        shown = []
        for example in changed[:MOST]:
            if example not in places:
                places[example] = len(texts)
                label = None if gold is None else gold[example]
                texts.append(
                    {
                        "text": [_cut(column[example]) for column in written],
                        "label": _name(label, names),
                        "whole": _name(whole[example], names),
                    }
                )
            shown.append([places[example], _name(said[example], names)])
        if len(changed):
            heads[index] = {"count": len(changed), "shown": shown}
    return {"texts": texts, "heads": heads, "examples": int(dataset.sizes["example"]), "classes": names is not None}


def _name(answer: Any, names: list[str] | None) -> str | None:
    if answer is None:
        return None
    if names is None:
        return _cut(answer)
    number = int(answer)
    return names[number] if 0 <= number < len(names) else str(answer)


def _cut(text: Any) -> str:
    whole = str(text)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}…"
