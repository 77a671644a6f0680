"""Parts of the examples for selection and evaluation: examples with the same texts are always in the same part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def group_texts(texts: Sequence[tuple[str, ...]]) -> np.ndarray:
    """[example]: a number for its texts, whatever their order: twins, such as swapped choices, have the same.

    >>> group_texts([("a", "b"), ("c", "d"), ("b", "a")]).tolist()
    [0, 1, 0]
    """
    return np.asarray(pd.factorize(np.array(["\0".join(sorted(each)) for each in texts], dtype=object))[0])


def make_folds(groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """[example]: the number of its fold; folds are about equally large and keep groups together.

    >>> folds = make_folds(np.array([0, 0, 1, 1, 2, 2]), 3, seed=0)
    >>> np.bincount(folds).tolist(), bool((folds[::2] == folds[1::2]).all())
    ([2, 2, 2], True)
    """
    sizes = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    fold_of_group = np.empty(len(sizes), dtype=int)
    fold_of_group[order] = before * folds // len(groups)
    return np.asarray(fold_of_group[groups])
