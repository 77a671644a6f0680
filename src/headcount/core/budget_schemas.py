"""The schemas of a budget's curves: the score, size and measured speed as heads and feed-forward units are removed.

A result is two datasets with dims (order, step): `pruning/budget@NAME-choosing` for the examples that selected a step,
`pruning/budget@NAME-confirming` for the held-out ones. Numbers are NaN at steps that an order cannot reach. Attributes:
those of a curve, `what`, `budget` (as it was given), `currency` (of what steps are shares: operations, weights, time),
`refit`, `batch` and `length` of the measured passes; `tolerance` in points if the budget is one; `chosen`, the index of
the selected step of the first order, unless there is none.
"""

from __future__ import annotations

from headcount.core.schema import Schema

HALVES = ("choosing", "confirming")
"""After the name of a result: the half that selects and the one that is held out."""


def budget_schemas(metric: str, higher_is_better: bool) -> dict[str, Schema]:
    """By variable and coordinate, the schemas of the curves of a budget."""
    worse = "below" if higher_is_better else "above"
    needed = f"{worse} 0: worse than the whole model"

    def hidden(title: str, unit: str = "", direction: str = "", most: float | None = None) -> Schema:
        return Schema(title, unit, direction, (0, most), shown=False)

    def score(title: str, direction: str = "", signed: bool = False) -> Schema:
        return Schema(title, metric, direction, signed=signed, shown=False)

    change = f"Change of {metric}"
    share, faster = "share of the whole model's", "times the whole model's"
    return {
        "order": Schema("What is removed"),
        "step": hidden("What was to be left of the currency", share, "1: all", 1),
        "operations": hidden("Operations left", share, "1: all", 1),
        "weights": hidden("Parameters left", share, "1: all", 1),
        "speed": hidden("Measured speed", faster, "above 1: faster"),
        "speed_low": hidden("Measured speed, lower end", faster, "above 1: faster"),
        "speed_high": hidden("Measured speed, upper end", faster, "above 1: faster"),
        "score": score(f"{metric} of the smaller model", "the model's score"),
        "delta": score(f"{change} from the whole model", needed, signed=True),
        "low": score(f"{change}, lower end of the 95 % interval", needed, signed=True),
        "high": score(f"{change}, upper end of the 95 % interval", needed, signed=True),
        "bound_low": score(f"{change}, one-sided 95 % lower bound", needed, signed=True),
        "bound_high": score(f"{change}, one-sided 95 % upper bound", needed, signed=True),
        "p": hidden("p-value of the change", "probability", "small: not by chance", 1),
        "baseline": score(f"{metric} of the whole model", "what changes are compared with"),
        "baseline_low": score(f"{metric} of the whole model, lower end of the 95 % interval"),
        "baseline_high": score(f"{metric} of the whole model, upper end of the 95 % interval"),
        "heads_left": hidden("Heads left", "heads", "NaN: the layer has no attention of this stack"),
        "units_left": hidden("Feed-forward units left", "units", "NaN: the layer has no feed-forward block"),
        "heads_whole": hidden("Heads of the whole model", "heads"),
        "units_whole": hidden("Feed-forward units of the whole model", "units"),
        "parts": Schema("Heads and units that are removed", shown=False),
    }
