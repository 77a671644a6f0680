"""A table of examples from a file, a folder or a data frame."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pandas as pd

from headcount.data.conllu import CONLLU, read_conllu
from headcount.data.row_numbers import remember_source
from headcount.errors import DataProblem

ABSENT = [""]
"""What is absent in a file of texts: an empty cell, not "None" or "NA", which may be a text."""
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", CONLLU)


def read_table(source: str | Path | pd.DataFrame, split: str = "validation") -> pd.DataFrame:
    """The rows of a parquet, csv, tsv, jsonl or CoNLL-U file, of a folder's file for the split, or of a data frame."""
    if isinstance(source, pd.DataFrame):
        table, name = source, "the data frame"
    else:
        path = find_file(Path(source), split)
        table, name = remember_source(_read(path), str(path)), str(path)
    if not len(table):
        raise DataProblem(f"{name} has no rows; expected at least one example")
    return table if _numbered(table.index) else table.reset_index(drop=True)


def _numbered(index: pd.Index) -> bool:
    """Whether the rows have numbers of their own, as a part of a larger table has: results then speak of these."""
    whole = pd.api.types.is_integer_dtype(index) and index.is_unique and index.is_monotonic_increasing
    return bool(whole and index[0] >= 0)


def find_file(path: Path, split: str) -> Path:
    """The file itself, or the folder's file whose name is that of the split."""
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES and one.stem == split)
        if not found:
            held = ", ".join(sorted(one.name for one in path.iterdir())[:6]) or "nothing"
            raise DataProblem(f"the folder {path} has no {split} file ({', '.join(SUFFIXES)}); it has {held}")
        return found[0]
    if not path.is_file():
        raise DataProblem(f"there is no file {path}; expected {', '.join(SUFFIXES)} or a folder with {split}.*")
    return path


def read_list(cell: object) -> object:
    """A list that a csv file holds as JSON or Python write it; anything else as it is.

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


def _sentences(path: Path) -> pd.DataFrame:
    sentences = list(read_conllu(path))
    columns = {"tokens": [sentence.words for sentence in sentences], "upos": [sentence.upos for sentence in sentences]}
    return pd.DataFrame({name: [list(words) for words in column] for name, column in columns.items()})


def _read(path: Path) -> pd.DataFrame:
    if not path.stat().st_size:
        raise DataProblem(f"{path} is empty; expected a table with at least one example")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix == ".csv":
            return pd.read_csv(path, keep_default_na=False, na_values=ABSENT)
        if path.suffix == ".tsv":
            # Quotes are text in GLUE's files: read as quotes they would merge rows without a word.
            return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, na_values=ABSENT)
        if path.suffix == ".jsonl":
            return pd.read_json(path, lines=True)
        if path.suffix == CONLLU:
            return _sentences(path)
    except (ValueError, OSError, pd.errors.ParserError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataProblem(f"{path} cannot be read as {path.suffix[1:]}: {first}") from error
    raise DataProblem(f"got {path}; expected a file that ends in {', '.join(SUFFIXES)}")
