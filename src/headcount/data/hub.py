"""Data sets on the Hugging Face hub as tables."""

from __future__ import annotations

import pandas as pd

from headcount.data.row_numbers import remember_source
from headcount.errors import DataProblem


def read_hub(path: str, config: str | None, split: str) -> pd.DataFrame:
    """The rows of one split of a data set on the hub, or of a local copy in the format of `datasets`."""
    from datasets import load_dataset

    name = f"{path}{'/' + config if config else ''} ({split})"
    try:
        table = load_dataset(path, config, split=split).to_pandas()
    except (OSError, ValueError, ConnectionError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataProblem(
            f"cannot get {name} from the Hugging Face hub: {first}; give a local file or folder with data="
        ) from error
    assert isinstance(table, pd.DataFrame)
    return remember_source(table, name)
