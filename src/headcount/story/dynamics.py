"""When the order of heads settles during training."""

from __future__ import annotations

import xarray as xr

from headcount.core.claims import SETTLED, settled_at


def settling_sentence(dynamics: xr.Dataset) -> str:
    """From which checkpoint on the order of heads agrees with that of the last."""
    step, last = settled_at(dynamics), int(dynamics["checkpoint"][-1])
    order = "The order of heads by learned gates" if dynamics.attrs.get("what") == "gates" else "The order of heads"
    if step is None:
        return f"{order} does not settle before the end (rank correlation below {SETTLED} until step {last})."
    return f"From step {step} of {last} on t{order[1:]} agrees with the last (rank correlation {SETTLED} or more)."


def dynamics_sentences(dynamics: xr.Dataset) -> list[str]:
    """When the order settles and, of what was measured during a training, how far its examples can order the heads."""
    if dynamics.sizes["checkpoint"] < 2:
        return []
    sentences = [settling_sentence(dynamics)]
    if "stability" in dynamics:
        stable, examples = float(dynamics["stability"][-1]), int(dynamics.attrs["examples"])
        advice = "" if stable >= SETTLED else ": more examples would order the heads better"
        sentences.append(
            f"At the last step, two halves of the {examples} examples order the heads with a rank correlation of "
            f"{stable:.2f}{advice}."
        )
    return sentences
