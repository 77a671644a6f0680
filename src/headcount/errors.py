"""The errors Headcount raises, one class for each remedy, and its warnings; each message is one line.

Below them, how a message quotes data and says why a place cannot be written.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class HeadcountError(Exception):
    """Base of all errors that Headcount raises on purpose."""


class UnknownHead(HeadcountError):
    """A head is misspelt or the model does not have it: write it as `headcount heads MODEL` shows."""


class UnknownFamily(HeadcountError):
    """The model's architecture is not understood: describe it in `headcount/models/families`."""


class InvalidOption(HeadcountError):
    """An option has a value that it cannot have: use one of those that the message names."""


class MissingPackage(HeadcountError):
    """A package that this needs is not installed: install the extra that the message names."""


class CannotWrite(HeadcountError):
    """A file or folder cannot be written: make room, or choose one that you may write."""


class OutputTaken(HeadcountError):
    """Something is where the output should go: choose another name, or overwrite what headcount wrote."""


class UnsuitableModel(HeadcountError):
    """The model or its tokenizer cannot do what was asked: take another one."""


class NotReached(HeadcountError):
    """An intervention did not reach the forward pass: the result would be that of the untouched model."""


class ModelUnavailable(HeadcountError):
    """A model cannot be loaded: check the name, the folder or the connection."""


class NotFinite(HeadcountError):
    """Weights, or what a model computes, are NaN or infinite: repair the checkpoint or use a dtype with more range."""


class DataProblem(HeadcountError):
    """The data cannot be used as given: fix the file or name other columns."""


class StudyProblem(HeadcountError):
    """A study folder cannot be read, written or added to: choose another one or the same options."""


class TrainingDiverged(HeadcountError):
    """A training whose loss is no longer a number: lower the learning rate."""


class CannotPrune(HeadcountError):
    """Heads cannot be cut out of this model, or not these: choose other heads, or ablate them."""


class PruneMismatch(HeadcountError):
    """A pruned model does not compute what the whole one does without these heads: a defect; nothing was changed."""


class HeadcountWarning(UserWarning):
    """What a user should know of a result that was computed all the same, in one line."""


class BlankRows(HeadcountWarning):
    """Rows with nothing to look at or to predict were left out."""


def short(value: object, most: int = 80) -> str:
    """A value of the user's data as a message quotes it: long ones are cut, and their length is told.

    >>> short("some text"), short("word " * 300, most=20)
    ("'some text'", "'word word word word... (1,502 characters)")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most].rstrip()}... ({len(text):,} characters)"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Some names of the user's data in a row: of many the first, and how many there are.

    >>> listed(["a", "b"]), listed(range(30), most=3)
    ('a, b', '0, 1, 2, ... (30 in all)')
    """
    words = [one if len(one) <= 40 else f"{one[:40]}..." for one in map(str, names)]
    return ", ".join(words if len(words) <= most else [*words[:most], f"... ({len(words)} in all)"]) or "nothing"


def cannot_write(place: object, error: OSError) -> str:
    """What is wrong with a place that could not be written, and what helps there."""
    remedy = {
        errno.EROFS: "choose a folder that can be written",
        errno.EACCES: "choose a folder that you may write",
        errno.EPERM: "choose a folder that you may write",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ENOTDIR: "a file is where a folder should be: choose another one",
        errno.EEXIST: "a file is where a folder should be: choose another one",
        errno.EISDIR: "a folder is where a file should be: choose another name",
        errno.ENOENT: "make the folder first, or choose another one",
    }.get(error.errno or 0, "check that the disk works and has room, and run the same command again")
    reason = error.strerror or str(error).partition("\n")[0]
    # safetensors and torch pass the system's words on, not its number.
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
        remedy = "no room on the disk: free some and run the same command again"
    return f"cannot write {place}: {reason}; {remedy}"
