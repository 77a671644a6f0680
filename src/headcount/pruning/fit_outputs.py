"""New output projections for a cut model by least squares: from Gram matrices of the whole model, without a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.options import one_of
from headcount.errors import InvalidOption, NotFinite
from headcount.models.compiled import takes_compiled
from headcount.models.output_weights import OutputWeights, parts_of, write_output
from headcount.pruning.gram import Grams
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey

RIDGE = 1e-3
"""Of the mean square of what is kept: the penalty on changes of the weights."""
Fitted = tuple[Tensor, Tensor | None]
"""The weights [kept column, width] of an output projection, and its bias if it has one."""


@takes_compiled
def fit_outputs(
    model: PreTrainedModel,
    grams: Grams,
    whole_weights: Mapping[LayerKey, OutputWeights],
    how: str = "weights",
    ridge: float = RIDGE,
) -> PreTrainedModel:
    """Give every block that has lost heads or units the output projection nearest to the whole block's; in place.

    `grams` (of `gram_matrices`) and `whole_weights` (of `read_output_weights`) are those of the whole model: many cuts
    of it can be fitted with them. Only blocks that `grams` has are fitted. `how="weights"`: all weights and the bias;
    `how="scales"`: one factor for each head or unit that is left. A block that has lost everything gives its mean
    output, if it has a bias. The result depends on what was cut alone, not on earlier fits.
    """
    fit = FITS[one_of("how", how, FITS)]
    if not 0 <= ridge < float("inf"):
        raise InvalidOption(f"got ridge={ridge}; expected a finite number, at least 0")
    anatomy = read_anatomy(model)
    for key, gram in grams.matrices.items():
        block, whole = anatomy.block(key), whole_weights[key]
        parts = parts_of(block)
        if parts == whole.parts:
            continue
        left = set(parts)
        matrix, bias = fit(
            gram,
            whole,
            whole.columns(parts),
            whole.columns([part for part in whole.parts if part not in left]),
            ridge,
        )
        if not all(bool(tensor.to(model.dtype).isfinite().all()) for tensor in (matrix, bias) if tensor is not None):
            raise NotFinite(
                f"the fitted weights of {anatomy.layout.spell_layer(*key)} are not finite in "
                f"{str(model.dtype).removeprefix('torch.')}; give a larger ridge= than {ridge:g}, or dtype=float32"
            )
        write_output(block, matrix, bias)
    return model


def fit_weights(gram: Tensor, whole: OutputWeights, kept: list[int], gone: list[int], ridge: float) -> Fitted:
    """The weights and the bias that give the least mean square error of the block's output.

    Only what is gone must be made up for: with the weights V of what is kept, and of the constant 1 where there is a
    bias, the change of V is (G_kk + penalty)^-1 G_kg W_g.
    """
    matrix = whole.matrix.to(gram)
    constant = [] if whole.bias is None else [len(matrix)]
    known = [*kept, *constant]
    system = gram[known][:, known]
    penalty = ridge * _mean_square(system.diagonal()[: len(kept)])
    system.diagonal()[: len(kept)] += penalty
    change = solve(system, gram[known][:, gone] @ matrix[gone])
    bias = None if whole.bias is None else whole.bias.to(gram) + change[-1]
    return matrix[kept] + change[: len(kept)], bias


def fit_scales(gram: Tensor, whole: OutputWeights, kept: list[int], gone: list[int], ridge: float) -> Fitted:
    """The factors of heads or units that give the least mean square error; the bias stays, unless nothing else does."""
    if not kept:
        return fit_weights(gram, whole, kept, gone, ridge)
    matrix = whole.matrix.to(gram)
    count = len(kept) // whole.size
    # The inner products of what the parts add to the output.
    added = gram[kept][:, kept] * (matrix[kept] @ matrix[kept].T)
    system = added.view(count, whole.size, count, whole.size).sum((1, 3))
    lost = gram[kept][:, gone] @ matrix[gone]
    right = (matrix[kept] * lost).sum(1).view(count, whole.size).sum(1)
    system.diagonal().add_(ridge * _mean_square(system.diagonal()))
    change = solve(system, right[:, None])
    factors = (1 + change).repeat_interleave(whole.size, dim=0)
    return matrix[kept] * factors, None if whole.bias is None else whole.bias.to(gram)


FITS: dict[str, Callable[[Tensor, OutputWeights, list[int], list[int], float], Fitted]] = {
    "weights": fit_weights,
    "scales": fit_scales,
}


def solve(system: Tensor, right: Tensor) -> Tensor:
    """The solution for a matrix that is symmetric and has no negative eigenvalues; the smallest one if there are many.

    Without a penalty the heads or units that are left may be linearly dependent.
    """
    factor, failed = torch.linalg.cholesky_ex(system)
    diagonal = factor.diagonal()
    if not int(failed) and (not len(diagonal) or float(diagonal.min()) > 1e-6 * float(diagonal.max())):
        return torch.cholesky_solve(right, factor)
    inverse: Tensor = torch.linalg.pinv(system, rtol=len(system) * torch.finfo(system.dtype).eps, hermitian=True)
    return inverse @ right


def _mean_square(diagonal: Tensor) -> float:
    return float(diagonal.mean()) if len(diagonal) else 0.0
