"""Every error is a HeadcountError and says its remedy."""

from __future__ import annotations

import errno
import inspect
import os

import pytest

from headcount import errors


def test_all_errors_have_one_base_and_a_docstring() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    bases = (errors.HeadcountError, errors.HeadcountWarning)
    assert all(issubclass(kind, bases) and kind.__doc__ for kind in kinds)
    assert len(kinds) > 10


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no room on the disk: free some"),
        (errno.EROFS, "can be written"),
        (errno.EACCES, "you may write"),
        (errno.ENOTDIR, "a file is where a folder should be"),
        (errno.EIO, "check that the disk works"),
    ],
)
def test_the_remedy_fits_the_reason(number: int, words: str) -> None:
    said = errors.cannot_write("out", OSError(number, os.strerror(number)))
    assert words in said
    assert ("free" in said) == (number == errno.ENOSPC)
