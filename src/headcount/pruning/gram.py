"""The second moments of what the output projections read, over the real tokens of some texts: all a refit needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.means import Batch, real_positions
from headcount.errors import InvalidOption, NotFinite
from headcount.models.compiled import takes_compiled
from headcount.models.feed_forward import FeedForward
from headcount.models.output_weights import OutputWeights, read_output_weights
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.precision import widened
from headcount.trace.session import session

PASSES = 2
"""Over the texts: of the sizes of tokens, and of the matrices."""


@dataclass(frozen=True, eq=False)
class Grams:
    """By block, the weighted mean over tokens of [h; 1][h; 1]^T in float64; h is what its output projection reads.

    The heads of the layer, or its units, lie in h side by side; the last row and column belong to the constant 1.
    """

    matrices: dict[LayerKey, Tensor]
    tokens: dict[LayerKey, int]


@takes_compiled
def gram_matrices(
    model: PreTrainedModel,
    batches: Iterable[Batch],
    keys: Collection[LayerKey] | None = None,
    ran: Callable[[], None] | None = None,
) -> Grams:
    """The Gram matrices of all attention and feed-forward blocks, from two passes over batches of the model's inputs.

    In a feed-forward block a token counts by its weight (`token_weights`), for which the first pass measures what the
    block adds to it; in an attention block all tokens count alike, since what a head adds is a mean of values.
    `keys`: of these blocks only, `("encoder", 3)` for an attention and `("encoder.units", 3)` for a feed-forward
    block: a matrix of n columns takes 8 n^2 bytes. `ran` is called after each batch of each pass. Padding is left out
    as in `mean_outputs`. The products of a batch are summed in float32, or in float64 for a float64 model.
    """
    anatomy = read_anatomy(model)
    blocks = [anatomy.block(key) for key in keys] if keys is not None else list(anatomy.blocks())
    batches = list(batches)
    if blocks and not batches:
        raise InvalidOption("there are no texts; expected at least one batch of inputs")
    weighted = [block for block in blocks if isinstance(block, FeedForward)]
    sizes = _added_sizes(model, weighted, batches, ran)
    weights = {key: list(token_weights(torch.cat(parts)).split(list(map(len, parts)))) for key, parts in sizes.items()}
    sums: dict[LayerKey, Tensor] = {}
    totals: defaultdict[LayerKey, float] = defaultdict(float)
    tokens: defaultdict[LayerKey, int] = defaultdict(int)

    def add(key: LayerKey, states: Tensor) -> None:
        weight = weights[key].pop(0)[:, None] if key in weights else states.new_ones(len(states), 1)
        width = states.shape[1]
        if key not in sums:
            sums[key] = torch.zeros(width + 1, width + 1, dtype=torch.float64, device=states.device)
        sums[key][:width, :width] += states.T @ (weight * states)
        sums[key][width, :width] += (weight * states).sum(0)
        totals[key] += float(weight.sum(dtype=torch.float64))
        tokens[key] += len(states)

    _over_tokens(model, blocks, batches, add, ran)
    for (stack, layer), matrix in sums.items():
        matrix /= totals[stack, layer]
        matrix[:-1, -1] = matrix[-1, :-1]
        matrix[-1, -1] = 1
        if not bool(matrix.isfinite().all()):
            raise NotFinite(
                f"the outputs of {anatomy.layout.spell_layer(stack, layer)} are NaN or infinite for some text; "
                "give dtype=float32, or a checkpoint that works"
            )
    return Grams(sums, dict(tokens))


def _added_sizes(
    model: PreTrainedModel, blocks: Sequence[Any], batches: Sequence[Batch], ran: Callable[[], None] | None
) -> dict[LayerKey, list[Tensor]]:
    """By block, what it adds to each token of each batch, as `added_sizes`."""
    found = read_output_weights(model, [block.layer_key for block in blocks])
    sizes: dict[LayerKey, list[Tensor]] = {}

    def measure(key: LayerKey, states: Tensor) -> None:
        sizes.setdefault(key, []).append(added_sizes(states, found[key]))

    _over_tokens(model, blocks, batches, measure, ran)
    return sizes


def added_sizes(states: Tensor, output: OutputWeights) -> Tensor:
    """The squared size of what the block adds to each token, from what its output projection reads there."""
    added = states @ output.matrix.to(states)
    return (added if output.bias is None else added + output.bias.to(states)).pow(2).sum(1)


def token_weights(sizes: Tensor) -> Tensor:
    """How much each token counts, from the squared size of what the block adds to it: at most as a typical token does.

    Some models give a few tokens, such as [SEP] or the first one, outputs that are a thousand times as large as all
    others, where a later norm hides them. A mean over tokens would be about these alone, and the answer would spread
    them over all tokens.

    >>> token_weights(torch.tensor([1.0, 2.0, 3.0, 4.0, 3000.0]))
    tensor([1.0000, 1.0000, 1.0000, 0.7500, 0.0010])
    """
    typical = sizes.median()
    return torch.where((sizes <= typical) | (typical == 0), 1.0, typical / sizes)


def _over_tokens(
    model: PreTrainedModel,
    blocks: Collection[Any],
    batches: Iterable[Batch],
    see: Callable[[LayerKey, Tensor], None],
    ran: Callable[[], None] | None,
) -> None:
    """Show, for every batch and block, what the output projection reads at real tokens [token, column]."""
    anatomy = read_anatomy(model)
    for batch in batches:
        real = {stack: real_positions(batch, stack, anatomy) for stack in anatomy.stacks}

        def show(run: LayerRun, real: dict[str, Tensor | None] = real) -> None:
            mask, outputs = real[run.block.stack], widened(run.outputs.flatten(2))
            see(run.layer_key, outputs.flatten(0, 1) if mask is None else outputs[mask.to(outputs.device)])

        observers = {block.layer_key: show for block in blocks}
        summing = session(model, observers=observers, purpose="the Gram matrices", outputs_only=True)
        if blocks:  # without any there is nothing to run, but the progress counts the pass
            with evaluating(model), torch.no_grad(), summing:
                model(**batch)
        if ran is not None:
            ran()
