"""When the order of heads settles during training."""

from __future__ import annotations

import xarray as xr

from headcount.core.claims import SETTLED, settled_at


def settling_sentence(dynamics: xr.Dataset) -> str:
    """From which checkpoint on the order of heads agrees with that of the last."""
    step, last = settled_at(dynamics), int(dynamics["checkpoint"][-1])
    if step is None:
        return (
            f"The order of heads does not settle before the end (rank correlation below {SETTLED} until step {last})."
        )
    return (
        f"From step {step} of {last} on the order of heads agrees with the last (rank correlation {SETTLED} or more)."
    )
