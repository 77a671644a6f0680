"""The second moments of what the output projections read, over the real tokens of some texts: all a refit needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.means import Batch, real_positions
from headcount.errors import InvalidOption, NotFinite
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.precision import widened
from headcount.trace.session import session


@dataclass(frozen=True, eq=False)
class Grams:
    """By block, the mean over tokens of [h; 1][h; 1]^T in float64, where h is what its output projection reads.

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
    """The Gram matrices of all attention and feed-forward blocks, from one pass over batches of the model's inputs.

    `keys`: of these blocks only, `("encoder", 3)` for an attention and `("encoder.units", 3)` for a feed-forward
    block: a matrix of n columns takes 8 n^2 bytes. `ran` is called after each batch. Padding is left out as in
    `mean_outputs`. The products of a batch are summed in float32, or in float64 for a float64 model.
    """
    anatomy = read_anatomy(model)
    blocks = [anatomy.block(key) for key in keys] if keys is not None else list(anatomy.blocks())
    sums: dict[LayerKey, Tensor] = {}
    tokens: Counter[LayerKey] = Counter()
    for batch in batches:
        real = {stack: real_positions(batch, stack, anatomy) for stack in anatomy.stacks}

        def add(run: LayerRun, real: dict[str, Tensor | None] = real) -> None:
            key, mask = run.layer_key, real[run.block.stack]
            outputs = widened(run.outputs.flatten(2))
            chosen = outputs.flatten(0, 1) if mask is None else outputs[mask.to(outputs.device)]
            width = chosen.shape[1]
            if key not in sums:
                sums[key] = torch.zeros(width + 1, width + 1, dtype=torch.float64, device=chosen.device)
            sums[key][:width, :width] += chosen.T @ chosen
            sums[key][width, :width] += chosen.sum(0)
            tokens[key] += len(chosen)

        observers = {block.layer_key: add for block in blocks}
        summing = session(model, observers=observers, purpose="the Gram matrices", outputs_only=True)
        with evaluating(model), torch.no_grad(), summing:
            model(**batch)
        if ran is not None:
            ran()
    if not tokens and blocks:
        raise InvalidOption("there are no texts; expected at least one batch of inputs")
    for (stack, layer), matrix in sums.items():
        matrix /= max(tokens[stack, layer], 1)
        matrix[:-1, -1] = matrix[-1, :-1]
        matrix[-1, -1] = 1
        if not bool(matrix.isfinite().all()):
            raise NotFinite(
                f"the outputs of {anatomy.layout.spell_layer(stack, layer)} are NaN or infinite for some text; "
                "give dtype=float32, or a checkpoint that works"
            )
    return Grams(sums, dict(tokens))
