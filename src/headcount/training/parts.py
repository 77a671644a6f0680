"""Parts of the input: which columns a model reads, and a task's tables with these columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.kinds.multiple_choice import ChoicesAlone, MultipleChoice
from headcount.errors import DataProblem, InvalidOption, listed, short
from headcount.training.splits import Splits

ALL = "all"
"""The input that has every column."""
CHOICES = "choices"
"""What stands for the columns of the choices in an input, besides what their names share."""
SENTENCE_ENDS = (".", "?", "!", ":", ";", '."', '?"', '!"')


@dataclass(frozen=True)
class Part:
    """An input: the columns of the texts (with choices, those of the context) and of the choices."""

    name: str
    columns: tuple[str, ...]
    choices: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The name as a folder that every file system takes.

        >>> Part("reason,warrant", ()).folder, Part("../a b", ()).folder
        ('reason,warrant', '%2E.%2Fa b')
        """
        safe = quote(self.name, safe=", ")
        return f"%2E{safe[1:]}" if safe.startswith(".") else safe


def shared_name(choices: Sequence[str]) -> str:
    """The name that the columns of the choices share before their numbers; empty if they share none.

    >>> shared_name(["warrant0", "warrant1"]), shared_name(["ending_1", "ending_2"]), shared_name(["first", "second"])
    ('warrant', 'ending', '')
    """
    names = {name.rstrip("0123456789").rstrip("_-. ") for name in choices}
    return names.pop() if len(names) == 1 else ""


def find_parts(
    inputs: Sequence[str], present: Iterable[str], text: Sequence[str] | None, choices: Sequence[str] = ()
) -> list[Part]:
    """The parts that `inputs` name, each a list of columns separated by commas, or `all`.

    `present`: the columns of the table. `text`: the columns of the texts, or, with choices, those of their context;
    None for all that the inputs name. `choices`, or what the names of their columns share, stands for the choices.
    """
    present = list(present)
    word = shared_name(choices)
    if not word or word in present:
        word = CHOICES
    words = {word, CHOICES} if choices else set()
    typed = split_inputs(inputs)
    if text is None:
        text = list(dict.fromkeys(name for names in typed for name in names if name not in words and names != [ALL]))
    for name in (*choices, *text):
        if name not in present:
            raise DataProblem(f"no column {short(name)} for the inputs; the data has {listed(present)}")
    known = [*text, *([word] if choices else [])]
    parts: list[Part] = []
    for entry, names in zip(inputs, typed, strict=True):
        names = known if names == [ALL] else [word if name in words else name for name in names]
        _check_names(entry, names, known, choices, word)
        chosen = [name for name in known if name in names]
        part = Part(
            ALL if chosen == known else ",".join(chosen), tuple(name for name in text if name in chosen), tuple(choices)
        )
        if part in parts:
            before = inputs[parts.index(part)]
            more = "; if there are more columns, name them with text=" if ALL in (entry.strip(), before.strip()) else ""
            raise InvalidOption(
                f"got {short(before)} and {short(entry)} in inputs=, which are the same; expected each once{more}"
            )
        parts.append(part)
    return parts


def split_inputs(inputs: Sequence[str]) -> list[list[str]]:
    """The columns that each input names.

    >>> split_inputs(["warrant", "reason, warrant"])
    [['warrant'], ['reason', 'warrant']]
    """
    if not inputs:
        raise InvalidOption("got inputs= without an input; expected columns separated by commas, or all")
    typed = [[name.strip() for name in entry.split(",")] for entry in inputs]
    for entry, names in zip(inputs, typed, strict=True):
        if not all(names):
            raise InvalidOption(f"got {short(entry)} in inputs=; expected columns separated by commas, or all")
    return typed


def _check_names(entry: str, names: list[str], known: list[str], choices: Sequence[str], word: str) -> None:
    for name in names:
        if name in choices:
            raise InvalidOption(f"got {short(name)} in inputs=, one of the choices; write {word} for all of them")
        if name not in known:
            raise InvalidOption(f"got {short(name)} in inputs=; expected some of {listed([*known, ALL])}")
        if names.count(name) > 1:
            raise InvalidOption(f"got {name} twice in inputs={short(entry)}; expected each column once")
    if choices and word not in names:
        raise InvalidOption(
            f"got {short(entry)} in inputs=, without the choices; every choice is scored, so write "
            f"{short(','.join([*names, word]))}"
        )


def restrict(splits: Splits, part: Part) -> Splits:
    """The splits with the columns of a part alone; several columns of a context become one text."""
    joined = len(part.columns) > 1 and bool(part.choices)
    context = (", ".join(part.columns),) if joined else part.columns
    texts = (*context, *part.choices)
    label = [splits.task.label] if splits.task.label else []

    def columns_of(table: pd.DataFrame) -> pd.DataFrame:
        if joined:
            rows = table[list(part.columns)].itertuples(index=False, name=None)
            table = table.assign(**{context[0]: pd.Series(map(join_texts, rows), table.index, dtype=object)})
        return table[[*texts, *label]]

    task = replace(splits.task, texts=(texts,))
    if part.choices:
        task = replace(task, kind=MultipleChoice() if context else ChoicesAlone())
    tests = {name: columns_of(table) for name, table in splits.tests.items()}
    train, validation = columns_of(splits.train), columns_of(splits.validation)
    return replace(splits, task=task, train=train, validation=validation, tests=tests)


def join_texts(texts: Iterable[Any]) -> Any:
    """Texts as one, each with a full stop if it has none and another follows; one that is no text, if there is one.

    >>> join_texts(["It is good", "It helps."]), join_texts([None, "It helps."])
    ('It is good. It helps.', 'It helps.')
    """
    present = [text for text in texts if not is_absent(text)]
    wrong = [text for text in present if not isinstance(text, str)]
    if wrong:
        return wrong[0]  # refused where texts are read, with its row
    stripped = [text.strip() for text in present if text.strip()]
    ended = [text if text.endswith(SENTENCE_ENDS) else f"{text}." for text in stripped[:-1]]
    return " ".join([*ended, *stripped[-1:]])
