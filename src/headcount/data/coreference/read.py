"""Documents with coreference from a CoNLL-2012 file, or from a table that is known by its columns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from headcount.data.coreference import gap, litbank
from headcount.data.coreference.conll2012 import SUFFIX, read_conll2012
from headcount.data.coreference.documents import Document
from headcount.data.hub import find_hub
from headcount.data.in_memory import InMemory
from headcount.data.row_numbers import source_of
from headcount.data.tables import SUFFIXES, read_table
from headcount.errors import DataProblem, listed


def read_coreference(data: str | Path | InMemory) -> list[Document]:
    """The documents of a CoNLL-2012 file (its name ends in `conll`), a folder of them, or a table.

    A table has the columns of LitBank (`tokens`, `sent_lens`, `clusters`: lists of [start, end) spans) or those of GAP
    (`Text`, `Pronoun`, `Pronoun-offset`, `A`, `A-offset`, `A-coref`, `B`, ...).

    >>> columns = {"tokens": [["Ann", "said", "she", "slept"]], "sent_lens": [[4]], "clusters": [[[[0, 1], [2, 3]]]]}
    >>> [document] = read_coreference(pd.DataFrame(columns))
    >>> [(document.words[mention.head], mention.kind) for mention in document.mentions]
    [('Ann', 'nominal'), ('she', 'pronoun')]
    """
    if not isinstance(data, str | Path) or find_hub(data) is not None:
        return _from_table(read_table(data))
    path = Path(data)
    if _is_conll(path):
        return list(read_conll2012(path))
    if not path.exists() or (path.is_file() and path.suffix not in SUFFIXES):
        problem = f"there is no file {path}" if not path.exists() else f"got {path}"
        raise DataProblem(
            f"{problem}; expected a CoNLL-2012 file (.conll, .v4_gold_conll) or {', '.join(SUFFIXES[:-1])}"
        )
    return _from_table(read_table(path))


def _is_conll(path: Path) -> bool:
    if path.is_dir():
        return any(file.is_file() for file in path.rglob(f"*{SUFFIX}"))
    return path.is_file() and path.name.endswith(SUFFIX)


def _from_table(table: pd.DataFrame) -> list[Document]:
    for columns, read in ((litbank.COLUMNS, litbank.read_litbank), (gap.COLUMNS, gap.read_gap)):
        if set(columns) <= set(table.columns):
            return list(read(table))
    wanted = " or ".join(", ".join(columns) for columns in (litbank.COLUMNS, gap.COLUMNS))
    raise DataProblem(f"{source_of(table)} has the columns {listed(table.columns)}; expected {wanted}")
