"""What `how=` may be: the name of a replacement, or one of those that take outputs from another input, with options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headcount.ablation.replacements import REPLACEMENTS
from headcount.core.options import one_of
from headcount.data.number_options import check_numbers
from headcount.errors import InvalidOption
from headcount.trace.parts import PARTS

DIRECTIONS = ("denoise", "noise")
ALIGNMENTS = ("position", "span")
ALL, LAST, ANSWER = "all", "last", "answer"
"""Positions of a patch that need no names in the data."""


@dataclass(frozen=True)
class Patch:
    """What a head does on one input takes the place of what it does on the other (activation patching).

    `part`: what is replaced: the head's `output`, or only its `query`, `key`, `value` or attention `weights`; its
    output then follows from the rest. `direction`: `denoise` runs the counterpart with a head of the text (what
    suffices), `noise` runs the text with a head of the counterpart (what is needed). `positions`: `all`, `last` (the
    last token of the prompt), `answer` (where the answer is predicted), or the name of a span in the data. `align`:
    `position` matches tokens by their position, `span` only those inside spans of the same name.
    """

    part: str = "output"
    direction: str = "denoise"
    positions: str = ALL
    align: str = "position"

    name = "patch"

    def __post_init__(self) -> None:
        one_of("part", self.part, PARTS)
        one_of("direction", self.direction, DIRECTIONS)
        one_of("align", self.align, ALIGNMENTS)
        if self.align == "span" and self.part == "weights":
            raise InvalidOption(
                "got part='weights' and align='span': maps of texts of different lengths have different keys; take "
                "another part"
            )


@dataclass(frozen=True)
class FunctionVector(Patch):
    """A patch with a mean: a head's mean output at the last token of other clean prompts, put into corrupted ones.

    Prompts whose column `task` is the same belong together. Those of a task are split into two halves without a common
    answer, and each half is given the means of the other one.
    """

    positions: str = LAST

    name = "function-vector"


@dataclass(frozen=True)
class Resample:
    """A head's output on another example, drawn at random among those of similar length; `draws`: how often."""

    draws: int = 1

    name = "resample"

    def __post_init__(self) -> None:
        check_numbers(draws=self.draws)


@dataclass(frozen=True)
class Means:
    """A head's mean output over `reference=`: `by` token (`tokens`) or at each `position`, for texts of one length."""

    by: str = "tokens"

    name = "mean"

    def __post_init__(self) -> None:
        one_of("by", self.by, ("tokens", "position"))


@dataclass(frozen=True)
class Plain:
    """A replacement without options."""

    name: str


How = str | Patch | Resample | Means
"""What a user gives; a name is short for the replacement with its defaults."""
Spec = Patch | Resample | Means | Plain
WITH_OPTIONS: dict[str, Any] = {"mean": Means, "patch": Patch, "resample": Resample}


def names_of_hows() -> tuple[str, ...]:
    """All names that `how=` takes."""
    return tuple(dict.fromkeys((*REPLACEMENTS, *WITH_OPTIONS)))


def find_how(how: How | Spec) -> Spec:
    """The replacement that is meant.

    >>> find_how("patch") == Patch(), find_how("zero")
    (True, Plain(name='zero'))
    """
    if not isinstance(how, str):
        return how
    if how in WITH_OPTIONS:
        return WITH_OPTIONS[how]()  # type: ignore[no-any-return]
    one_of("how", how, names_of_hows())
    return Plain(how)


def how_options(spec: Spec) -> dict[str, Any]:
    """The options of a replacement that has some; means over tokens are stored as before there were others."""
    if isinstance(spec, Means):  # `by` is what is left out at a time
        return {} if spec == Means() else {"mean_by": spec.by}
    return {key: value for key, value in vars(spec).items() if key != "name"}


def spell_how(spec: Spec) -> str:
    """The replacement in the name of a result.

    >>> spell_how(Patch()), spell_how(Patch(part="key", direction="noise")), spell_how(Means(by="position"))
    ('patch', 'patch-key-noise', 'mean-position')
    """
    other = [str(value) for key, value in vars(spec).items() if key != "name" and value != getattr(type(spec), key)]
    return "-".join([spec.name, *other])
