"""The schemas of the variables of a sweep over pairs of heads."""

from __future__ import annotations

from headcount.core.claims import KINDS
from headcount.core.schema import Schema

TOGETHER = "Without two heads"
"""The heading of interactions."""


def pair_schemas(metric: str, higher_is_better: bool) -> dict[str, Schema]:
    """By variable, the schemas of a sweep over pairs."""

    def interaction(of: str, unit: str, higher: bool) -> Schema:
        worse, better = ("below", "above") if higher else ("above", "below")
        direction = f"{worse} 0: redundant, each covers for the other; {better} 0: synergistic"
        return Schema(f"Interaction of two heads in {of}", unit, direction, signed=True, category=TOGETHER, shown=False)

    def hidden(title: str, unit: str = metric, direction: str = "", least: float | None = None) -> Schema:
        return Schema(title, unit, direction, (least, None), shown=False)

    needed = "below" if higher_is_better else "above"
    return {
        "interaction": interaction(metric, metric, higher_is_better),
        "loss_interaction": interaction("the loss", "nats", False),
        "score": hidden(f"{metric} without both heads", metric, "the model's score"),
        "joint": hidden(f"Change of {metric} without both heads", metric, f"{needed} 0: the heads are needed"),
        "single": hidden(f"Change of {metric} without the head alone", metric, f"{needed} 0: the head is needed"),
        "first_effect": hidden(f"Change of {metric} without the first head alone"),
        "second_effect": hidden(f"Change of {metric} without the second head alone"),
        "loss_joint": hidden("Change of the loss without both heads", "nats", "above 0: the heads are needed"),
        "p": Schema("p-value of the interaction", "probability", "small: not by chance", (0, 1), shown=False),
        "q": Schema("p-value, corrected for all pairs", "false discovery rate", "small: real", (0, 1), shown=False),
        "unchanged": Schema("Predictions that stay the same", "share of examples", "1: all", (0, 1), shown=False),
        "kind": Schema("Kind of pair", names=KINDS, category=TOGETHER, shown=False),
        "estimated": Schema(
            "Interaction in the loss, estimated by the Hessian",
            "nats",
            "above 0: redundant",
            signed=True,
            shown=False,
        ),
        "missed_effect": hidden("Interaction that counts", metric, "of either sign", 0),
        "missed_control": hidden("Pairs of the control beyond it", "pairs", "0: none", 0),
        "missed_high": hidden("Pairs not run that may lie beyond it", "pairs, at most (95 %)", "0: none was missed", 0),
        "agreement": Schema(
            "Agreement of the estimate with the interaction in the loss, among the control",
            "rank correlation",
            "1: the same order",
            (-1, 1),
            shown=False,
        ),
        "baseline": hidden(f"{metric} of the whole model", metric, "what changes are compared with"),
    }
