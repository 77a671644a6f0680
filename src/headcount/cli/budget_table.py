"""The curve of ever smaller models as a table, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from headcount.budgets.choose_parts import PartChoice


def budget_table(curve: xr.Dataset, chosen: int | None = None) -> Any:
    """A row for each step: what is left, how fast it is, and the scores of all orders; a star marks the chosen step."""
    from rich.table import Table

    from headcount.story.names import spell_score

    names = [str(name) for name in curve["order"].values]
    randoms = [name for name in names if name.startswith("random ")]
    others = [name for name in names[1:] if name not in randoms]
    table = Table("operations", "heads", "units", "speed", names[0], *others, *(["random"] if randoms else []))
    for column in table.columns:
        column.justify = "right"
    whole = spell_score(float(curve["baseline"]))
    controls = len(others) + bool(randoms)
    table.add_row(
        "100%", f"{int(curve.attrs['heads'])}", f"{int(curve.attrs['units'])}", "1.00", whole, *[""] * controls
    )
    for step in range(curve.sizes["step"]):
        row = curve.isel(order=0, step=step)
        if not np.isfinite(float(row["score"])):
            continue
        change, low, high = (spell_score(float(row[key]), signed=True) for key in ("delta", "low", "high"))
        cells = [_score(curve.sel(order=name).isel(step=step)) for name in others]
        if randoms:
            scores = curve["score"].sel(order=randoms).isel(step=step).values
            cells.append(spell_score(float(np.nanmean(scores))) if np.isfinite(scores).any() else "")
        table.add_row(
            f"{100 * float(row['operations']):.0f}%{' *' if step == chosen else ''}",
            f"{np.nansum(row['heads_left'].values):.0f}",
            f"{np.nansum(row['units_left'].values):.0f}",
            f"{float(row['speed']):.2f}",
            f"{_score(row)} {change} [{low}, {high}]",
            *cells,
        )
    return table


def _score(point: xr.Dataset) -> str:
    from headcount.story.names import spell_score

    score = float(point["score"])
    return spell_score(score) if np.isfinite(score) else ""


def budget_json(choice: PartChoice) -> dict[str, Any]:
    """What was chosen and what it costs on the held-out half, as `--json` prints it."""
    said: dict[str, Any] = {
        "parts": [] if choice.parts is None else str(choice.parts).split(", "),
        "verdict": choice.verdict,
        "baseline": float(choice.held_out["baseline"]),
    }
    if choice.step is None:
        return said
    point = choice.held_out.isel(order=0, step=choice.step)
    keys = ("operations", "weights", "speed", "speed_low", "speed_high", "score", "delta", "low", "high")
    return said | {key: float(point[key]) for key in keys}
