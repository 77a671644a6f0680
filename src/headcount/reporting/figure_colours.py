"""Which colours the numbers of heads have in figures: those of the page, with the same meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.reporting.colourings import Colouring
from headcount.reporting.palette import KINDS, PATTERNS

ORDERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
NONE = "#dfe3e8"
"""What is none of the kinds."""
UNKNOWN = "#b8bec6"
"""A head without a number; white means no effect."""
BASELINE = "#d62728"


@dataclass(frozen=True)
class Scale:
    """The colours of numbers from `low` to `high`: a colour map of matplotlib, and the value it is centred on."""

    name: str
    low: float
    high: float
    centre: float | None = None
    says: str = ""
    """What the two colours of a centred scale mean."""
    seen: tuple[float, float] | None = None
    """The part of a centred scale that there are values in, with the centre: no accuracy is above 1."""

    @property
    def options(self) -> dict[str, Any]:
        """As `imshow` takes them."""
        return {"cmap": self.name, "vmin": self.low, "vmax": self.high}


def scale_of(colouring: Colouring, baseline: float | None = None) -> Scale:
    """The scale of a colouring whose values are drawn as they are or, with `baseline`, on top of it.

    Orange is always what is needed, or below the centre if nothing is: low scores without a head, high losses.
    """
    known = np.array([value for value in colouring["values"] if value is not None], dtype=float) + (baseline or 0)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if baseline is None and colouring["kind"] != "diverging" and colouring.get("centre") is None:
        if low >= 0 and high <= 1 and str(colouring["unit"]).startswith("share"):
            low = 0.0
        return Scale("viridis", low, high if high > low else low + 1.0)
    centre = baseline if baseline is not None else float(colouring.get("centre") or 0)
    most = max(high - centre, centre - low) or abs(centre) / 10 or 1.0
    higher = colouring.get("higher", True) is not False
    needed = "effect" in colouring or baseline is not None
    says = "orange: needed, purple: better without it" if needed else ""
    seen = (min(low, centre), max(high, centre)) if low < centre or high > centre else None
    return Scale("PuOr" if higher else "PuOr_r", centre - most, centre + most, centre, says, seen)


def kind_colours(colouring: Colouring) -> list[str]:
    """The colour of each kind of a colouring by kinds; a role has the same colour in every figure and on every page."""
    places = colouring.get("colours") or range(len(colouring["names"]))
    return [
        NONE if kind == colouring.get("none") else (KINDS + PATTERNS)[place % len(KINDS + PATTERNS)]
        for kind, (place, _) in enumerate(zip(places, colouring["names"], strict=False))
    ]
