"""The lines of a text file; an error where there is none, or it is empty or not UTF-8."""

from __future__ import annotations

from pathlib import Path

from headcount.errors import DataProblem


def read_lines(path: Path, expected: str) -> list[str]:
    """All lines; `expected` is what the file should have, for the errors."""
    if not path.is_file():
        raise DataProblem(f"there is no file {path}; expected {expected}; check the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataProblem(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    if not text.strip():
        raise DataProblem(f"{path} is empty; expected {expected}; check the file")
    # Not splitlines: it would also split at characters that may stand inside a word, such as U+2028.
    return text.split("\n")
