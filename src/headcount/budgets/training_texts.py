"""The texts that score heads and units, refit what is left and train it: never those that evaluate the result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.ablation.job import Data, read_data
from headcount.data.blank_rows import leave_out_blank
from headcount.data.hub import HubData, find_hub
from headcount.data.in_memory import as_frame, choose_split
from headcount.data.tables import find_file
from headcount.data.tasks import Task, find_glue
from headcount.errors import DataProblem, InvalidOption

TEXTS = 1024
"""Texts for scores and refit."""


def training_texts(
    data: Data,
    train: Data | None,
    task: Task,
    tokenizer: Any,
    selection: pd.DataFrame,
    seed: int,
    most: int | None = TEXTS,
) -> pd.DataFrame:
    """Up to `most` of the training examples that were given, of the data folder's training split, or, where there is
    neither, of the half of the examples that selects."""
    source = find_training(data) if train is None else _given(train, data)
    if source is None:
        return _draw(selection, most, seed)
    table = read_data(source, task, tokenizer, None, seed)
    table = _draw(table, None if most is None else 2 * most, seed)  # blank rows are left out below
    return _draw(leave_out_blank(table, task.columns(table), task.kind, tokenizer), most, seed)


def _given(train: Data, data: Data) -> Data:
    """The training examples that were given; of a folder its training split, as its other one may evaluate."""
    if isinstance(train, Mapping):
        frame: Data = as_frame(train, "train")
        return frame
    if isinstance(train, str | Path) and Path(train).is_dir():
        train = find_file(Path(train), "train")
    paths = [Path(one).absolute() for one in (train, data) if isinstance(one, str | Path)]
    same = train is data or (len(paths) == 2 and paths[0] == paths[1])
    if same:
        raise InvalidOption("got train= and data= that are the same examples; leave train= out, or give others")
    return train


def find_training(data: Data) -> Data | None:
    """The training split of a folder of data, of several tables by name or of the hub's data; None without one."""
    hub = _on_hub(data)
    if hub is not None:
        return str(hub.of("train")) if hub.split != "train" and hub.has("train") else None
    if isinstance(data, Mapping):
        return as_frame(data, "train") if len(choose_split(data, "train")) == 1 else None
    if not isinstance(data, str | Path) or not Path(data).is_dir():
        return None
    try:
        return find_file(Path(data), "train")
    except DataProblem:
        return None


def _on_hub(data: Data) -> HubData | None:
    """The data set on the hub that the data names, or that of the GLUE task by whose name it goes."""
    glue = find_glue(data)
    if glue is None or glue.hub is None or Path(str(data)).exists():
        return find_hub(data)
    return HubData(*glue.hub)


def _draw(table: pd.DataFrame, most: int | None, seed: int) -> pd.DataFrame:
    if most is None or len(table) <= most:
        return table
    return table.sample(most, random_state=seed).sort_index()
