"""Data sets on the Hugging Face hub as tables: `hub:NAME`, with a configuration and a split if they are named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from headcount.data.row_numbers import remember_source
from headcount.errors import DataProblem, InvalidOption, listed, short

PREFIX = "hub:"
WELL_FORMED = "hub:nyu-mll/glue,config=mrpc,split=test"
OPTIONS = ("config", "split")


@dataclass(frozen=True)
class HubData:
    """A data set on the hub, or a local copy in the format of `datasets`.

    >>> str(HubData("nyu-mll/glue", "mrpc", "test"))
    'hub:nyu-mll/glue,config=mrpc,split=test'
    """

    path: str
    config: str | None = None
    split: str | None = None
    """The only split that is read; None for those that a verb needs."""

    def __str__(self) -> str:
        given = [(name, getattr(self, name)) for name in OPTIONS]
        return ",".join([PREFIX + self.path, *(f"{name}={value}" for name, value in given if value is not None)])

    def of(self, split: str | None) -> HubData:
        return replace(self, split=split)

    def has(self, split: str) -> bool:
        """Whether there is such a split."""
        from datasets import get_dataset_split_names

        with _named(f"the splits of {self.path}"):
            return split in get_dataset_split_names(self.path, self.config)

    def read(self, split: str, own: str | None = None) -> pd.DataFrame:
        """The rows of the split that was named, or of this one; `own`: the name that a task has for it."""
        if self.split is None and own not in (None, split) and self.has(str(own)):
            split = str(own)
        return read_hub(self.path, self.config, self.split or split)


def find_hub(data: Any) -> HubData | None:
    """The data set on the hub that `data` names; None if it is anything else.

    >>> find_hub("hub:me/pairs:small") == find_hub("hub:me/pairs,config=small"), find_hub("pairs.csv")
    (True, None)
    """
    if not isinstance(data, str) or not data.startswith(PREFIX):
        return None
    name, *words = data.removeprefix(PREFIX).split(",")
    path, _, config = name.partition(":")
    options = {"config": config} if config else {}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or not value or option not in OPTIONS or option in options:
            raise InvalidOption(
                f"got {short(word)} in {short(data)}; expected each of {listed(OPTIONS)} at most once, such as "
                f"{WELL_FORMED!r}"
            )
        options[option] = value
    if not path:
        raise InvalidOption(f"got the data {short(data)} without a name; expected one such as {WELL_FORMED!r}")
    return HubData(path, **options)


def read_hub(path: str, config: str | None, split: str) -> pd.DataFrame:
    """The rows of one split of a data set on the hub, or of a local copy in the format of `datasets`."""
    from datasets import load_dataset

    name = f"{path}{'/' + config if config else ''} ({split})"
    with _named(name):
        table = load_dataset(path, config, split=split).to_pandas()
    assert isinstance(table, pd.DataFrame)
    return remember_source(table, name)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Errors in one line that says what could not be had, and what to do."""
    try:
        yield
    except (OSError, ValueError, ConnectionError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        other = f"name another, as in {WELL_FORMED!r}, or " if isinstance(error, ValueError) else ""
        raise DataProblem(
            f"cannot get {what} from the Hugging Face hub: {first}; {other}give a local file or folder with data="
        ) from error
