"""How near must two ways of computing the same number come? One rule for all tests of parity.

Promises about arithmetic are tested in float64, where they hold to `EXACT` whatever the CPU's kernels, the number of
threads and the order of a sum. Where numbers pass through float32 (a norm inside a float64 model, a result that is
stored in float32), they hold to `ROUNDED`, and where float32 itself is the subject, as with ONNX, to `FLOAT32`. All are
relative to the largest value of the reference: an entry that is small beside the others carries their rounding errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

EXACT = 1e-9
ROUNDED = 1e-5
FLOAT32 = 1e-4


def assert_same(
    found: Any, expected: Any, within: float = EXACT, what: object = "", *, largest: float | None = None
) -> None:
    """The same shape and dtype, NaN in the same places, and no difference above `within` of the largest value.

    `largest` is given where the values alone do not tell the scale, as those of a gradient that is zero in truth.
    """
    if isinstance(found, torch.Tensor) and isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype, f"{what}: {found.dtype} and {expected.dtype}"
    ours, reference = _numbers(found), _numbers(expected)
    assert ours.shape == reference.shape, f"{what}: shapes {ours.shape} and {reference.shape}"
    known = np.isfinite(reference)
    np.testing.assert_array_equal(ours[~known], reference[~known], err_msg=str(what))
    if known.any():
        largest = np.abs(reference[known]).max() if largest is None else largest
        apart = np.abs(ours - reference)[known].max()
        assert apart <= within * largest, f"{what}: {apart:.1e} apart, {within:.0e} of {largest:.1e} allowed"


def _numbers(values: Any) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)
