"""Measures of one's own: whether what was given is one, and what tells one version of it from another."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch

from headcount.core.provenance import fingerprint
from headcount.errors import InvalidOption
from headcount.measures.contract import Question

LIBRARY = "headcount."
NAME = re.compile("[a-z][a-z_]*")


def check_own(question: Any, known: Mapping[str, Question]) -> None:
    """An error if it is no measure, has no usable name or the name of another one, or says nothing of its values."""
    if not isinstance(question, Question):
        shown = f"the class {question.__name__}" if isinstance(question, type) else type(question).__name__
        hint = f"; write {question.__name__}()" if isinstance(question, type) and issubclass(question, Question) else ""
        raise InvalidOption(f"got {shown} in only=; expected names of measures and instances of hc.Question{hint}")
    if any(question is each for each in known.values()):
        return
    described = f"the measure {type(question).__name__}"
    for attribute in ("name", "summary"):
        if not isinstance(getattr(question, attribute, None), str):
            raise InvalidOption(f"{described} has no {attribute}; expected {attribute} = '...' in its class")
    if not NAME.fullmatch(question.name):
        raise InvalidOption(f"{described} has the name {question.name!r}; expected lower-case letters and underscores")
    if question.name in known:
        raise InvalidOption(f"{described} has the name {question.name!r}, which Headcount's own has; expected another")
    if not question.schemas:
        raise InvalidOption(
            f"{described} has no schemas; expected schemas = {{'value': hc.Schema('...')}} in its class"
        )
    if wrong := [name for name in question.schemas if not name.isidentifier()]:
        raise InvalidOption(f"{described} has the variable {wrong[0]!r}; expected an identifier, such as 'attention'")


def check_answer(question: Question, values: Any, variables: Mapping[str, Any], shape: tuple[int, int]) -> None:
    """An error if `see` gave less than it should, or not a value for every text and head."""
    if not isinstance(values, Mapping) or not set(variables) <= set(values):
        got = sorted(values) if isinstance(values, Mapping) else type(values).__name__
        raise InvalidOption(f"see of the measure {question.name} gave {got}; expected a dict of {sorted(variables)}")
    for name in variables:
        array = values[name]
        size = tuple(array.shape) if isinstance(array, torch.Tensor) else type(array).__name__
        if size[:2] != shape or len(size) != 2 + len(variables[name]):
            raise InvalidOption(
                f"see of the measure {question.name} gave {name} as {size}; expected a tensor of {shape[0]} texts and "
                f"{shape[1]} heads, {shape}"
            )


def version_of(question: Question) -> str | None:
    """A digest of the code and the attributes of a measure that is not Headcount's; None for Headcount's."""
    own = [each for each in type(question).__mro__ if not f"{each.__module__}.".startswith(LIBRARY)][:-1]
    own = [each for each in own if issubclass(each, Question)]
    if not own:
        return None
    parts = [(name, _said(value)) for each in own for name, value in sorted(vars(each).items()) if _counts(name)]
    return fingerprint([*parts, *((name, _said(value)) for name, value in sorted(vars(question).items()))])


def _counts(name: str) -> bool:
    return not (name.startswith("_abc") or (name.startswith("__") and name != "__init__"))


def _said(value: Any) -> Any:
    """Of a function its source; of arrays all numbers; sets in one order."""
    if isinstance(value, FunctionType):
        try:
            return inspect.getsource(value)
        except (OSError, TypeError):  # typed at a prompt
            return list(map(str, _parts_of_code(value.__code__)))
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Mapping):
        return {str(key): _said(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_said(each) for each in value]
    return value


def _parts_of_code(code: CodeType) -> Iterator[Any]:
    yield code.co_code.hex()
    yield code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts_of_code(constant)
        else:
            yield constant
