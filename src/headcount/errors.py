"""The errors Headcount raises, one class for each remedy, and its warnings; each message is one line."""

from __future__ import annotations


class HeadcountError(Exception):
    """Base of all errors that Headcount raises on purpose."""


class UnknownHead(HeadcountError):
    """A head is misspelt or the model does not have it: write it as `headcount heads MODEL` shows."""


class UnknownFamily(HeadcountError):
    """The model's architecture is not understood: describe it in `headcount/models/families`."""


class InvalidOption(HeadcountError):
    """An option has a value that it cannot have: use one of those that the message names."""


class NotReached(HeadcountError):
    """An intervention did not reach the forward pass: the result would be that of the untouched model."""


class ModelUnavailable(HeadcountError):
    """A model cannot be loaded: check the name, the folder or the connection."""


class DataProblem(HeadcountError):
    """The data cannot be used as given: mend the file or name other columns."""


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
