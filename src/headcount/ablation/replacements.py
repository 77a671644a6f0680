"""Replacements for a head's output: zeros, the output of uniform attention, or its mean output.

Each replacement is an edit of one layer. To add one, write a class like these (`everywhere` is the replacement for all
heads of the layer) and enter it in REPLACEMENTS, which is the dispatch: `ablated`, `sweep` and the command line take it
by that name, and the contract tests hold it to the same promises. `Zero` is in `trace/variants.py`: proofs need it.
"""

from __future__ import annotations

from torch import Tensor

from headcount.errors import InvalidOption
from headcount.models.attention import Attention
from headcount.models.feed_forward import FeedForward
from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit
from headcount.trace.uniform import uniform_outputs, uniform_weights
from headcount.trace.variants import Replacement, Zero


class Uniform(Replacement):
    """Uniform attention over all keys that the mask allows, values kept (Kovaleva et al. 2019); sinks get nothing."""

    needs_call = True

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        assert call is not None  # the wiring raises where an edit that needs the call gets none
        return uniform_outputs(call)

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        assert call is not None
        outputs = outputs.clone()
        outputs[:, :, self.columns] = uniform_outputs(call, self.columns)
        return outputs

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        weights = weights.clone()
        weights[:, self.columns] = uniform_weights(call, self.columns).to(weights.dtype)
        return weights


class Mean(Replacement):
    """The mean output of each head over a reference: [heads, size], or [heads, position, size] by position."""

    needs_reference = True

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        assert self.means is not None  # make_edit raises where there are none
        if self.means.ndim == 2:
            return self.means.to(outputs)
        # By position; a last layer that is computed at the first position alone takes the mean of that.
        return self.means.transpose(0, 1)[: outputs.shape[1]].to(outputs)


REPLACEMENTS: dict[str, type[Replacement]] = {"zero": Zero, "uniform": Uniform, "mean": Mean}


def check_how(how: str) -> str:
    if how not in REPLACEMENTS:
        raise InvalidOption(f"got how={how!r}; expected one of {', '.join(REPLACEMENTS)}")
    return how


def make_edit(
    how: str, block: Attention | FeedForward, heads: tuple[int, ...], means: dict[str, Tensor] | None
) -> Edit:
    """The edit that replaces these heads or units of a layer; `means` [layer, head, size] by stack, if it needs them.

    The means of a stack's units are under its name with ".units".
    """
    replacement = REPLACEMENTS[check_how(how)]
    present = block.heads if isinstance(block, Attention) else block.units
    index = {number: column for column, number in enumerate(present)}
    columns = [index[head] for head in heads]
    if not replacement.needs_reference:
        return replacement(columns)
    if means is None:
        raise InvalidOption(f"how={how!r} needs reference=: one or several batches of inputs, or their mean outputs")
    stack, layer = block.layer_key
    if stack not in means:
        raise InvalidOption("the mean outputs have none of units; compute them with mean_outputs(..., units=True)")
    return replacement(columns, means[stack][layer][list(present)])
