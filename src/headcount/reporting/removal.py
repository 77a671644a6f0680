"""The order in which the heads of a pruning curve go, so that the grid can show what is left at each step."""

from __future__ import annotations

from typing import Any

from headcount.core.claims import choose_cut
from headcount.reporting.findings import TOLERANCE
from headcount.reporting.view import View


def find_removals(view: View) -> list[dict[str, Any]]:
    """For each curve, by its name: the number of every head in the order in which it goes, the selected step, and
    whether it is shown to be safe (else it was selected by its point estimate alone).

    Of two halves of the examples, the held-out one: its curve is what is claimed.
    """
    indices = {name: number for number, head in enumerate(view.layout) for name in (view.layout.spell(head), str(head))}
    curves = view.of("pruning")
    found = []
    for name, curve in curves.items():
        if not name.startswith("curve") or "sequence" not in curve or view.is_passing_checkpoint(name):
            continue
        if f"{name.removesuffix('-choosing')}-confirming" in curves and name.endswith("-choosing"):
            continue
        selection = curves.get(f"{name.removesuffix('-confirming')}-choosing")
        orders = [
            [indices[str(head)] for head in sequence if str(head) in indices]
            for sequence in curve["sequence"].transpose("order", "rank").values
        ]
        chosen, shown_safe = None, False
        if selection is not None and "bound_low" in selection:
            cut = choose_cut(selection, str(curve["order"].values[0]), TOLERANCE)
            chosen, shown_safe = cut.count or cut.by_estimate or None, bool(cut.count)
        # The random orders are a control: which heads they take says nothing.
        named = [not str(order).startswith("random ") for order in curve["order"].values]
        found.append(
            {
                "curve": name,
                "orders": [order if shown else [] for order, shown in zip(orders, named, strict=True)],
                "chosen": chosen,
                "safe": shown_safe,
            }
        )
    return found
