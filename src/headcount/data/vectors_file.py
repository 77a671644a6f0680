"""Word vectors from a text file: a word and its numbers in each line, as GloVe, word2vec and fastText write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from headcount.errors import DataProblem, short


def read_vectors(path: str | Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors of those of the wanted words that the file has; the first one, where a word comes twice.

    A first line with two whole numbers (how many words, how many numbers each) may come before the words.
    """
    path = Path(path)
    vectors: dict[str, np.ndarray] = {}
    kept, width = frozenset(wanted), 0
    for number, fields in _lines(path):
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            continue
        width = width or len(fields) - 1
        if len(fields) <= width or not width:
            raise DataProblem(
                f"{path}, line {number}: got {max(len(fields) - 1, 0)} numbers after the word {short(fields[0])}; "
                f"expected {width or 'at least one'}; fix that line"
            )
        word = " ".join(fields[:-width])
        if word in kept and word not in vectors:
            vectors[word] = _numbers(fields[-width:], f"{path}, line {number} ({short(word)})")
    if not width:
        raise DataProblem(f"{path} has no vectors; expected lines with a word and its numbers")
    return vectors


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that has any, with its number from 1."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                fields = line.rstrip().split(" ") if "\t" not in line else line.rstrip().split("\t")
                if fields != [""]:
                    yield number, fields
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataProblem(
            f"cannot read {path}: {error.strerror}; expected a text file with a word and its numbers in each line"
        ) from None
    except UnicodeDecodeError:
        raise DataProblem(
            f"{path} is not a text file in UTF-8; expected a word and its numbers in each line; unpack or convert it"
        ) from None


def _numbers(fields: list[str], where: str) -> np.ndarray:
    try:
        numbers = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields if not _is_number(field))
        raise DataProblem(f"{where}: got {short(bad)}; expected a number; fix that line") from None
    if not np.isfinite(numbers).all():
        raise DataProblem(f"{where}: got a number that is NaN or infinite; fix that line")
    return numbers


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
