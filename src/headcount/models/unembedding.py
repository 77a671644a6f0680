"""How a decoder reads its logits from the residual stream: a norm, then the output embedding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from headcount.models.dispatched import read_weight


@dataclass(frozen=True)
class FinalNorm:
    """The norm before the output embedding: `gain * (x - mean of x, if centred) / scale of x + bias`."""

    module: nn.Module
    centred: bool
    from_one: bool
    """The gain is 1 plus the weight, as in Gemma."""

    @property
    def gain(self) -> Tensor:
        """[width], float32 or better."""
        weight = _wide(read_weight(self.module))
        return weight + 1 if self.from_one else weight

    def centre(self, states: Tensor) -> Tensor:
        return states - states.mean(-1, keepdim=True) if self.centred else states

    def scale(self, states: Tensor) -> Tensor:
        """What the norm divides each state [..., width] by: [...], float32 or better."""
        module: Any = self.module
        eps: float = module.eps if hasattr(module, "eps") else module.variance_epsilon
        squares: Tensor = self.centre(_wide(states)).square().mean(-1)
        return (squares + eps).sqrt()

    def __call__(self, states: Tensor) -> Tensor:
        """What the module gives by this formula."""
        normed = self.gain.to(states.device) * self.centre(_wide(states)) / self.scale(states)[..., None]
        if getattr(self.module, "bias", None) is None:
            return normed
        return normed + _wide(read_weight(self.module, "bias")).to(states.device)


@dataclass(frozen=True)
class Unembedding:
    """From the residual stream to logits.

    With the norm at the scale that it has in a pass, logits are linear in what each head writes: the logit of a token,
    above the mean of the vocabulary, is the product with the token's direction, divided by the scale.
    """

    norm: FinalNorm
    embedding: nn.Linear

    @cached_property
    def _weight(self) -> Tensor:
        """The output embedding [token, width]; read once, since an offloaded one may come from the disk."""
        return read_weight(self.embedding)

    @cached_property
    def mean(self) -> Tensor:
        """The mean row of the output embedding [width]."""
        return self._weight.mean(0, dtype=_wide(self._weight[:0]).dtype)

    def rows(self, tokens: Tensor) -> Tensor:
        """The rows [..., width] of the output embedding for token ids [...], float32 or better, on their device."""
        return _wide(self._weight[tokens.to(self._weight.device)]).to(tokens.device)

    def directions(self, tokens: Tensor) -> Tensor:
        """[..., width] for token ids [...]."""
        return self.as_directions(self.rows(tokens))

    def as_directions(self, rows: Tensor) -> Tensor:
        """The same for rows of the output embedding, or for means of rows."""
        return self.norm.centre((rows - self.mean.to(rows.device)) * self.norm.gain.to(rows.device))


def norm_candidates(module: nn.Module) -> list[FinalNorm]:
    """The formulas that a norm with these parameters may follow; none where it has no weight or no epsilon."""
    weight = getattr(module, "weight", None)
    known = (
        isinstance(weight, Tensor)
        and weight.ndim == 1
        and (hasattr(module, "eps") or hasattr(module, "variance_epsilon"))
    )
    return [FinalNorm(module, centred, from_one) for centred in (False, True) for from_one in (False, True) if known]


def _wide(tensor: Any) -> Tensor:
    wide: Tensor = tensor.detach()
    return wide.to(torch.promote_types(wide.dtype, torch.float32))
