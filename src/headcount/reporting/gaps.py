"""What a study does not have yet, and the command that fills each gap."""

from __future__ import annotations

import shlex

from headcount.reporting.view import View
from headcount.story.names import short_name


def find_gaps(view: View, study: str) -> list[dict[str, str]]:
    """Rows: what is missing, and what to run; the model and the data are the study's own where it knows them."""
    model, task, data = "MODEL", "TASK", "DATA"
    for found in view.results.values():
        # A model that was made in memory has no name but that of its class.
        named = found.attrs.get("model", model) != found.attrs.get("model_class")
        model = str(found.attrs.get("model", model)) if named else model
        task = str(found.attrs.get("task", task))
        data = data if found.attrs.get("data", data) in ("data frame", "") else str(found.attrs.get("data", data))
    model = short_name(model) if short_name(model).startswith("bundled:") else model
    model, task, data, study = map(shlex.quote, (model, task, data, study))
    pair = ' --pair "Its translation."' if len(view.layout.stacks) > 1 else ""
    on = f"--task {task} --data {data}"
    sweeps = {found.attrs.get("by") for found in view.of("sweep").values()}
    pruned = view.of("pruning")
    wanted = [
        ("what the score is without each head", "head" in sweeps, f"sweep {model} {on} --by head --out {study}"),
        ("what the score is without each layer", "layer" in sweeps, f"sweep {model} {on} --by layer --out {study}"),
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
            "attention maps of a sentence",
            bool(view.of("maps")),
            f'maps {model} --text "A sentence."{pair} --out {study}',
        ),
        ("what fine-tuning changed", bool(view.of("compare")), f"compare BEFORE {model} --data {data} --out {study}"),
        (
            "how important each head is",
            any(found.attrs.get("measure") == "importance" for found in pruned.values()),
            f"importance {model} {on} --out {study}",
        ),
        (
            "how many heads can go",
            any(name.startswith("curve") for name in pruned),
            f"prune {model} {on} --drop 25% --out small --study {study}",
        ),
        ("when the order of heads settles", "dynamics" in pruned, f"dynamics RUN {on} --study {study}"),
        ("what a smaller model costs", bool(view.of("cost")), f"cost {model} small --study {study}"),
    ]
    return [{"what": what, "command": f"headcount {command}"} for what, there, command in wanted if not there]
