"""A table of examples from a file, a folder or a data frame."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.conllu import CONLLU, read_conllu
from headcount.data.hub import find_hub
from headcount.data.in_memory import InMemory, as_frame, choose_split, name_of
from headcount.data.row_numbers import remember_source
from headcount.errors import DataProblem, short

ABSENT = [""]
"""Absent values in a file: empty cells, but not "None" or "NA", which may be texts."""
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", CONLLU)


def read_table(source: str | Path | InMemory, split: str = "validation", own: str | None = None) -> pd.DataFrame:
    """The rows of a parquet, csv, tsv, jsonl or CoNLL-U file, of a folder's file for the split, of a data set on the
    hub (`hub:NAME`), or of a table in memory.

    `own`: the name that the task has for the split, such as `validation_mismatched`.
    """
    hub = find_hub(source)
    if hub is not None:
        table, name = hub.read(split, own), str(hub)
    elif not isinstance(source, str | Path):
        table, name = as_frame(source, split, own), f"the {name_of(source)}"
    else:
        path = find_file(Path(source), split, own)
        table, name = remember_source(_read(path), str(path)), str(path)
    if not len(table):
        raise DataProblem(f"{name} has no rows; expected at least one example")
    return table if _numbered(table.index) else table.reset_index(drop=True)


def _numbered(index: pd.Index) -> bool:
    """Whether the index numbers the rows, as in a part of a larger table: results then name these numbers."""
    numbers = pd.api.types.is_integer_dtype(index) and index.is_unique and index.is_monotonic_increasing
    return bool(numbers and index[0] >= 0)


def find_file(path: Path, split: str, own: str | None = None) -> Path:
    """The file itself or, in a folder, the file that is named after the split, or begins with the task's `own` name."""
    if path.is_dir():
        files = sorted(path.iterdir())
        tables = [file for file in files if file.suffix in SUFFIXES]
        names = choose_split(dict.fromkeys(file.stem for file in tables), split, own)
        matching = [file for file in tables if file.stem in names]
        if not matching:
            held = ", ".join(file.name for file in files[:6]) or "nothing"
            raise DataProblem(f"the folder {path} has no {split} file ({', '.join(SUFFIXES)}); it has {held}")
        if len(matching) > 1:
            held = ", ".join(file.name for file in matching)
            raise DataProblem(f"the folder {path} has several {split} files ({held}); leave one, or call it {split}.*")
        return matching[0]
    if not path.is_file():
        raise DataProblem(f"there is no file {path}; expected {', '.join(SUFFIXES)} or a folder with {split}.*")
    return path


def read_list(cell: object) -> object:
    """A list that a csv file holds as JSON or Python code; anything else as it is.

    >>> read_list("['She', 'sleeps']"), read_list("[1, 2]"), read_list("She sleeps")
    (['She', 'sleeps'], [1, 2], 'She sleeps')
    """
    if not isinstance(cell, str) or not cell.strip().startswith(("[", "(")):
        return cell
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell)
        except (ValueError, SyntaxError):
            continue
    return cell


def list_of(cell: object, column: str, where: str, entries: str = "") -> list[Any]:
    """A cell that must hold a list; `entries` says what is in it, for the error."""
    values = read_list(cell)
    if not isinstance(values, list | tuple | np.ndarray):
        raise DataProblem(f"{where}, column {column!r}: got {short(cell)}; expected a list{entries}")
    # Plain numbers instead of an array's: errors then show 9, not np.int64(9).
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _sentences(path: Path) -> pd.DataFrame:
    rows = [{"tokens": list(sentence.words), "upos": list(sentence.upos)} for sentence in read_conllu(path)]
    return pd.DataFrame(rows, columns=["tokens", "upos"])


def _read(path: Path) -> pd.DataFrame:
    if not path.stat().st_size:
        raise DataProblem(f"{path} is empty; expected a table with at least one example")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix == ".csv":
            return pd.read_csv(path, keep_default_na=False, na_values=ABSENT)
        if path.suffix == ".tsv":
            # Quotes are part of the text in GLUE's files: interpreted as quotes they would silently merge rows.
            return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, na_values=ABSENT)
        if path.suffix == ".jsonl":
            return pd.read_json(path, lines=True)
        if path.suffix == CONLLU:
            return _sentences(path)
    except (ValueError, OSError, pd.errors.ParserError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataProblem(f"{path} cannot be read as {path.suffix[1:]}: {first}") from error
    raise DataProblem(f"got {path}; expected a file that ends in {', '.join(SUFFIXES)}")
