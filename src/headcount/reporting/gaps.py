"""Results that a study lacks, and the commands that compute them."""

from __future__ import annotations

import shlex
from pathlib import Path

from headcount.core.sweep_schemas import OF_ANOTHER_INPUT
from headcount.reporting.view import View
from headcount.story.names import short_name
from headcount.story.patches import is_patched

WITH_CUES = ("classification", "multiple-choice")
"""Kinds of tasks whose labels words can give away."""
PAIRED = ("synthetic:names", "synthetic:agreement", "synthetic:few-shot")
"""Data whose examples have a second input."""


OF_HEADS = (
    "what the score is without each head",
    "which heads carry the difference between two inputs",
    "what every head looks at",
    "what the maps of every head look like",
    "which relations between words heads follow",
    "which heads follow annotations, such as dependencies",
    "attention maps of a sentence",
    "what fine-tuning changed",
    "how important each head is",
    "which heads help, hurt or make no difference",
    "how many heads can go",
)
"""Rows about single heads."""


def find_gaps(view: View, study: str, sent: bool = True) -> list[dict[str, str]]:
    """Rows: what is missing and which command computes it, with the study's own model, task and data if known.

    `sent`: the rows are part of a page that is sent to others, so that folders are named without where they are.
    """
    model, task, data, kind = "MODEL", "TASK", "DATA", WITH_CUES[0]
    # What has no name of its own comes last and decides: other results may be of another model.
    for _, result in sorted(view.results.items(), key=lambda item: "@" not in item[0]):
        attributes = result.attrs
        # A model that was built in memory is named after its class.
        named = attributes.get("model", model) != attributes.get("model_class")
        model = str(attributes.get("model", model)) if named else model
        task = str(attributes.get("task", task))
        kind = str(attributes.get("kind", kind)) if "task" in attributes else kind
        data = data if attributes.get("data", data) in ("data frame", "") else str(attributes.get("data", data))
    model = short_name(model) if short_name(model).startswith("bundled:") else model
    if sent:
        model, data, study = (Path(name).name if Path(name).is_absolute() else name for name in (model, data, study))
    model, task, data, study = map(shlex.quote, (model, task, data, study))
    pair = ' --pair "Its translation."' if len(view.layout.stacks) > 1 else ""
    on = f"--task {task} --data {data}"
    swept = view.of("sweep").values()
    sweeps = {sweep.attrs.get("by") for sweep in swept if sweep.attrs.get("how") not in OF_ANOTHER_INPUT}
    patches = {sweep.attrs.get("by") for sweep in swept if is_patched(sweep)}
    paired = bool(patches) or data.startswith(PAIRED)
    pruned = view.of("pruning")
    results = [
        ("what the score is without each head", "head" in sweeps, f"sweep {model} {on} --by head --out {study}"),
        ("what the score is without each layer", "layer" in sweeps, f"sweep {model} {on} --by layer --out {study}"),
        (
            "which heads carry the difference between two inputs",
            "head" in patches or not paired,
            f"sweep {model} {on} --by head --how patch --out {study}",
        ),
        (
            "at which positions heads carry it",
            # Other texts may have neither the same length nor named positions.
            "position" in patches or not data.startswith(PAIRED),
            f"sweep {model} {on} --by position --how patch --out {study}",
        ),
        ("what every head looks at", bool(view.of("measures")), f"measure {model} --data {data} --out {study}"),
        (
            "what the maps of every head look like",
            bool(view.of("patterns")),
            f"find-patterns {model} --data {data} --out {study}",
        ),
        (
            "which relations between words heads follow",
            any(name.startswith("links") for name in view.of("measures")),
            f"measure {model} --data TREEBANK.conllu --only features,links --out {study} --name words",
        ),
        (
            "which heads follow annotations, such as dependencies",
            bool(view.of("probe")),
            f"probe {model} --data TREEBANK.conllu --out {study}",
        ),
        (
            "which words give the label away",
            bool(view.of("cues")) or kind not in WITH_CUES,
            f"cues --model {model} {on} --out {study}",
        ),
        (
            "attention maps of a sentence",
            bool(view.of("maps")),
            f'maps {model} --text "A sentence."{pair} --out {study}',
        ),
        ("what fine-tuning changed", bool(view.of("compare")), f"compare BEFORE {model} --data {data} --out {study}"),
        (
            "how important each head is",
            any(
                result.attrs.get("measure") == "importance" and result.attrs.get("what") != "units"
                for result in pruned.values()
            ),
            f"importance {model} {on} --out {study}",
        ),
        (
            "which heads help, hurt or make no difference",
            any(result.attrs.get("measure") == "roles" for result in pruned.values()),
            f"gates {model} {on} --roles --out {study}",
        ),
        (
            "how many heads can go",
            any(name.startswith("curve") for name in pruned),
            f"prune {model} {on} --drop 25% --out small --study {study}",
        ),
        (
            "how small the model can get without heads and feed-forward units",
            any(name.startswith("budget@") for name in pruned),
            f"prune {model} {on} --what both --operations 50% --out half --study {study}",
        ),
        ("when the order of heads settles", "dynamics" in pruned, f"dynamics RUN {on} --study {study}"),
        (
            "what a smaller model costs",
            any(not name.startswith("layer-times") for name in view.of("cost")),
            f"cost {model} small --study {study}",
        ),
    ]
    return [{"what": what, "command": f"headcount {command}"} for what, there, command in results if not there]
