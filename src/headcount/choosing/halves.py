"""Two halves of the examples: one selects the heads, the other, held out, evaluates the selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headcount.ablation.job import Data, read_data
from headcount.data.blank_rows import leave_out_blank
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.errors import DataProblem

FEWEST = 20
"""Examples of each half at least."""


def read_halves(
    data: Data, task: Task, limit: int | None, seed: int, tokenizer: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The half of the examples that selects and the half that evaluates, without blank rows."""
    table = read_data(data, task, tokenizer, limit, seed)
    return halves(leave_out_blank(table, task.columns(table), task.kind, tokenizer), limit, seed)


def halves(table: pd.DataFrame, limit: int | None, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two random halves of the examples, the same for the same seed; rows keep their numbers in the data."""
    check_numbers(seed=seed, limit=limit)
    order = np.random.default_rng(seed).permutation(len(table))[:limit]
    if len(order) < 2 * FEWEST:
        raise DataProblem(
            f"got {len(order)} examples; expected at least {2 * FEWEST}: half of them choose the heads, half confirm"
        )
    middle = len(order) // 2
    first, second = (table.iloc[np.sort(rows)] for rows in (order[:middle], order[middle:]))
    return first, second
