"""A number that makes no sense is refused by name, in every verb alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.data.number_options import check_numbers
from headcount.errors import InvalidOption
from headcount.measures.measure import measure
from tests import planted


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"seed": -1}, "seed=-1; expected at least 0"),
        ({"limit": 0}, "limit=0; expected at least 1"),
        ({"max_length": 7}, "max_length=7; expected at least 8"),
        ({"draws": 2**40}, "expected at most 2147483647"),
        ({"num_train_epochs": float("inf")}, "num_train_epochs=inf; expected a finite number, above 0"),
        ({"tolerance": float("nan")}, "tolerance=nan; expected a finite number, at least 0"),
        ({"learning_rate": 0}, "learning_rate=0; expected above 0"),
        ({"seed": 2**32}, "expected at least 0 and below 4294967296"),
    ],
)
def test_what_is_refused(numbers: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        check_numbers(**numbers)
    check_numbers(**dict.fromkeys(numbers))


def _sweep(model: Any, tokenizer: Any, **options: Any) -> Any:
    return hc.sweep(model, tokenizer, planted.texts(), task="sst2", **options)


def _importance(model: Any, tokenizer: Any, **options: Any) -> Any:
    return hc.importance(model, tokenizer, planted.texts(), task="sst2", **options)


def _smaller(model: Any, tokenizer: Any, **options: Any) -> Any:
    return hc.choose(model, tokenizer, planted.texts(), task="sst2", keep=2, **options)


def _measure(model: Any, tokenizer: Any, **options: Any) -> Any:
    return measure(model, tokenizer, planted.texts(), **options)


def _compare(model: Any, tokenizer: Any, **options: Any) -> Any:
    return hc.compare(model, model, tokenizer, planted.texts(), **options)


@pytest.mark.parametrize("verb", [_sweep, _importance, _smaller, _measure, _compare])
@pytest.mark.parametrize("option", [{"seed": -1}, {"max_length": 3}, {"limit": 0}])
def test_every_verb_refuses_them(verb: Callable[..., Any], option: dict[str, int], tmp_path: Path) -> None:
    name = next(iter(option))
    with pytest.raises(InvalidOption, match=f"got {name}="):
        verb(planted.classifier(), planted.tokenizer(tmp_path), **option)
