"""A full disk and a damaged study as one clear line each; a defect of the program as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headcount.core.manifest import Damaged
from headcount.errors import CannotWrite, StudyProblem, cannot_write

READERS = ("zarr", "xarray", "numcodecs", "json")


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong in reading or writing a study as an error that says what to do."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(cannot_write(path, error)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, Damaged) as error:
        if isinstance(error, KeyError | TypeError | AttributeError) and not raised_by_reader(error):
            raise  # a defect of the program, not of the study
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyProblem(f"the study {path} is damaged ({first}); restore it or give another folder") from error


def raised_by_reader(error: BaseException) -> bool:
    """Whether an error was raised inside zarr or xarray, as they do where metadata is damaged."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in READERS
