"""Which synthetic texts are meant: `synthetic:NAME,option=value,...`, or `Synthetic(NAME, option=value)` in Python."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from headcount.data.row_numbers import remember_source
from headcount.data.synthetic.agreement import Agreement
from headcount.data.synthetic.contract import EXAMPLES, Source
from headcount.data.synthetic.few_shot import FewShot
from headcount.data.synthetic.names import Names
from headcount.data.synthetic.needle import Needle
from headcount.data.synthetic.repeat import Repeat
from headcount.errors import DataProblem, InvalidOption, listed, short

PREFIX = "synthetic:"
WELL_FORMED = "synthetic:repeat,length=50,times=2"
SOURCES: dict[str, type[Source]] = {source.name: source for source in (Repeat, Needle, Names, Agreement, FewShot)}


@dataclass(frozen=True, init=False)
class Synthetic:
    """Synthetic texts as data for every verb: the same as the string that `str` gives.

    >>> str(Synthetic("repeat", length=25)), Synthetic("needle", depth=(0.1, 0.9)).source.depth
    ('synthetic:repeat,length=25', (0.1, 0.9))
    """

    source: Source

    def __init__(self, name: str, **options: Any) -> None:
        object.__setattr__(self, "source", _make(name, options, f"Synthetic({name!r})"))

    def __str__(self) -> str:
        source = self.source
        given = [(each.name, getattr(source, each.name)) for each in fields(source)]
        changed = [f"{name}={_spell(value)}" for name, value in given if value != getattr(type(source), name)]
        return PREFIX + ",".join([source.name, *changed])

    def read(self, tokenizer: Any, limit: int | None, seed: int) -> pd.DataFrame:
        """The texts for this tokenizer: `prompt`, `completion`, both joined as `text`, and what else is known of them.

        Without the option `examples` there are `limit` of them, 100 by default.
        """
        table = self.source.table(tokenizer, self.source.examples or limit or EXAMPLES, seed)
        return remember_source(table.assign(text=table["prompt"] + table["completion"]), str(self))


def find_source(data: Any) -> Synthetic | None:
    """The synthetic texts that `data` names; None if it is anything else."""
    if isinstance(data, Synthetic):
        return data
    if not isinstance(data, str) or not data.startswith(PREFIX):
        return None
    name, *words = data.removeprefix(PREFIX).split(",")
    options: dict[str, str] = {}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or option in options:
            raise InvalidOption(
                f"got {short(word)} in {short(data)}; expected each option once, such as {WELL_FORMED!r}"
            )
        options[option] = value
    made = Synthetic.__new__(Synthetic)
    object.__setattr__(made, "source", _make(name, options, short(data)))
    return made


def refuse_source(data: Any, because: str, expected: str) -> None:
    """Refuse synthetic texts where they make no sense."""
    if find_source(data) is not None:
        raise DataProblem(f"got {short(str(data))}, but {because}; expected {expected}")


def _make(name: str, options: dict[str, Any], subject: str) -> Source:
    """The source with these options; `subject` is what the user wrote, for errors."""
    if name not in SOURCES:
        raise InvalidOption(
            f"got the synthetic texts {short(name)}; expected one of {', '.join(SOURCES)}, such as 'synthetic:repeat'"
        )
    known = {each.name: each.metadata for each in fields(SOURCES[name])}
    values = {}
    for option, value in options.items():
        if option not in known:
            raise InvalidOption(f"got the option {short(option)} in {subject}; {name} has {listed(known)}")
        try:
            values[option] = known[option]["read"](value)
        except (ValueError, TypeError):
            expected = known[option]["expected"]
            raise InvalidOption(f"got {short(value)} for {option!r} in {subject}; expected {expected}") from None
    return SOURCES[name](**values)


def _spell(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
