"""`headcount prune --stages`: a budget in stages, and what is said about the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headcount.cli.recovery import checked_training, spell_training
from headcount.core.options import belongs_to, without_effect

ORDERS = ("drop", "keep", "by", "order", "anew", "normed", "stack")
"""Options of heads that are removed in an order."""


def run_stages(
    model: Any,
    tokenizer: Any,
    data: str,
    task: Any,
    chosen_by: dict[str, Any],
    stages: int,
    trained: dict[str, Any],
    state: Path | None,
    metric: str | None,
    **examples: Any,
) -> tuple[Any, list[str]]:
    """Reach a budget in stages; the smaller model and what is said about it."""
    from headcount.ablation.job import task_metric
    from headcount.ablation.summary import metric_name
    from headcount.budgets.budget import Budget
    from headcount.budgets.options import PartOptions, find_length, refuse_orders
    from headcount.budgets.stages import prune_in_stages
    from headcount.cli.progress import show_progress
    from headcount.story.budgets import staged_sentences

    refuse_orders(**{key: chosen_by[key] for key in ORDERS if key in chosen_by})
    belongs_to("name", chosen_by.get("name"), "study", chosen_by.get("study"))
    for option in ("steps", "randoms"):
        without_effect(option, chosen_by.get(option), "stages= lead to one model, not to a curve")
    sizes: dict[str, Any] = {key: chosen_by.get(key) for key in ("operations", "weights", "faster", "tolerance")}
    budget = Budget.parse(**sizes)
    names = ("score", "own_labels", "rearrange", "refit", "multiple", "at_least", "batch")
    given = {name: chosen_by[name] for name in names if name in chosen_by}
    given["length"] = find_length(model, chosen_by.get("length"))
    options = PartOptions(chosen_by.get("what") or "heads", budget, **given)
    with checked_training(trained), show_progress("prune", "") as progress:
        staged = prune_in_stages(
            model,
            tokenizer,
            data,
            task,
            options,
            trained,
            stages=stages,
            train=chosen_by.get("train"),
            metric=metric,
            study=chosen_by.get("study"),
            name=chosen_by.get("name"),
            state=state,
            progress=progress,
            **examples,
        )
    shape = (options.batch, options.length)
    named = metric_name(task_metric(task, metric))
    (change,) = staged.scores.changes
    return staged.model, staged_sentences(
        staged.stages,
        staged.numbers,
        staged.scores.whole,
        change,
        named,
        spell_training(trained),
        budget.currency,
        shape,
    )
