"""Errors and warnings, one class for each remedy, and how their one-line messages quote data and name write errors."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class HeadcountError(Exception):
    """Base of all errors that Headcount raises on purpose."""


class UnknownHead(HeadcountError):
    """A head is misspelt, or the model does not have it: `headcount heads MODEL` lists the heads."""


class UnknownFamily(HeadcountError):
    """The model's architecture is not understood: describe it in `headcount/models/families`."""


class InvalidOption(HeadcountError):
    """An option has an invalid value, or no effect here: change it as the message says."""


class MissingPackage(HeadcountError):
    """An optional package is not installed: install the extra that the message names."""


class CannotWrite(HeadcountError):
    """A file or folder cannot be written: free disk space, or choose another path."""


class OutputTaken(HeadcountError):
    """The output path already exists: choose another one, or overwrite what Headcount wrote."""


class UnsuitableModel(HeadcountError):
    """The model or its tokenizer cannot do what was asked: use another one."""


class NotReached(HeadcountError):
    """An intervention did not reach the forward pass: the result would be that of the unchanged model."""


class ModelUnavailable(HeadcountError):
    """A model cannot be loaded: check the name, the folder or the connection."""


class NotFinite(HeadcountError):
    """Weights or outputs are NaN or infinite: repair the checkpoint, or use a dtype with a larger range."""


class DataProblem(HeadcountError):
    """The data cannot be used: fix the file, or name other columns."""


class StudyProblem(HeadcountError):
    """A study cannot be read, written or added to: choose another folder, or the options of its results."""


class TrainingDiverged(HeadcountError):
    """Training diverged: lower the learning rate."""


class ChecksFailed(HeadcountError):
    """A self-check failed: report it with what `headcount doctor` printed."""


class CannotPrune(HeadcountError):
    """The heads cannot be removed from this model: choose other heads, or ablate them."""


class NoModelWritten(HeadcountError):
    """No cut is shown to stay within the tolerance: give a larger one, or more examples."""


class PruneMismatch(HeadcountError):
    """The pruned model differs from the ablated one: a bug in Headcount; the model was left unchanged."""


class ClusterProblem(HeadcountError):
    """A cluster cannot be used: check its address, its resources and the versions of its packages."""


class UnitsFailed(HeadcountError):
    """Some parts of a run failed on every worker that tried them: the rest is saved; run the same command again."""


class HeadcountWarning(UserWarning):
    """Base of all warnings: something to know about a result, in one line."""


class BlankRows(HeadcountWarning):
    """Blank rows of the data were left out."""


def short(value: object, most: int = 80) -> str:
    """Quote a value in a message; long ones are truncated, followed by their length.

    >>> short("some text"), short("word " * 300, most=20)
    ("'some text'", "'word word word word... (1,502 characters)")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most].rstrip()}... ({len(text):,} characters)"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names separated by commas; of many, the first ones and the total number.

    >>> listed(["a", "b"]), listed(range(30), most=3)
    ('a, b', '0, 1, 2, ... (30 in all)')
    """
    words = [name if len(name) <= 40 else f"{name[:40]}..." for name in map(str, names)]
    return ", ".join(words if len(words) <= most else [*words[:most], f"... ({len(words)} in all)"]) or "nothing"


def cannot_write(path: object, error: OSError) -> str:
    """Why a path could not be written, and what to do."""
    remedy = {
        errno.EROFS: "choose a folder that can be written",
        errno.EACCES: "choose a folder that you may write",
        errno.EPERM: "choose a folder that you may write",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ENOTDIR: "a file is where a folder should be: choose another one",
        errno.EEXIST: "a file is where a folder should be: choose another one",
        errno.EISDIR: "a folder is where a file should be: choose another name",
        errno.ENOENT: "create the folder first, or choose another one",
    }.get(error.errno or 0, "check that the disk works and has room, and run the same command again")
    reason = error.strerror or str(error).partition("\n")[0]
    # safetensors and torch pass on the message of the system, not its error number.
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
        remedy = "no room on the disk: free some space and run the same command again"
    return f"cannot write {path}: {reason}; {remedy}"
