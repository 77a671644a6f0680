"""Logits later: the states that a model turns into logits, so that those over a large vocabulary are never kept.

A model's last step is its output projection, from states of some thousand numbers to a logit for every word of the
vocabulary. Inside `postponed` the projection hands on its states, which the model then returns in place of its logits;
`project` computes the logits of some of them. Whether that is all a model does at its end is proved on a small pass:
one that caps or scales its logits afterwards has none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.trace.forward_overrides import original_forward, overriding_forwards


class LateLogits:
    """The output projection of a model, to be applied later and to a part of the tokens at a time."""

    def __init__(self, projection: nn.Module) -> None:
        self.projection = projection

    def postponed(self) -> AbstractContextManager[None]:
        """A context in which the model returns states in place of logits."""
        return overriding_forwards({self.projection: lambda forward, args, kwargs: args[0]})

    def project(self, states: Tensor) -> Tensor:
        """The logits [token, word] of states [token, size]."""
        dtype = next(self.projection.parameters()).dtype
        logits: Tensor = original_forward(self.projection)(states.to(dtype))
        return logits.to(states.device)  # the projection may run on another device than the one of the results


def find_late_logits(model: PreTrainedModel, inputs: Mapping[str, Any]) -> LateLogits | None:
    """The model's projection; None where the logits of these inputs are not exactly what it makes of the states."""
    projection = model.get_output_embeddings()
    if projection is None or next(projection.parameters(), None) is None:
        return None
    late = LateLogits(projection)
    with torch.no_grad():
        logits = _logits(model(**inputs))
        try:
            with late.postponed():
                states = _logits(model(**inputs))
            if states is None or logits is None or states.shape == logits.shape:
                return None
            projected = late.project(states)
        except (RuntimeError, ValueError, TypeError):  # the model reads the shape of its logits
            return None
    if projected.shape != logits.shape:
        return None
    # The same product of the same tensors: what differs by more than rounding was computed by another formula.
    eps = torch.finfo(projected.dtype).eps
    close = torch.allclose(projected.float(), logits.float(), rtol=2 * eps, atol=2 * eps * float(logits.abs().max()))
    return late if close else None


def _logits(result: Any) -> Tensor | None:
    logits: Tensor | None = result.get("logits", result.get("prediction_logits"))
    return logits
