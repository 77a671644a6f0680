"""`synthetic:NAME,option=value`: what it names, in strings and in Python, and one line for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.data.row_numbers import source_of
from headcount.data.synthetic.repeat import Repeat
from headcount.data.synthetic.source import SOURCES, Synthetic, find_source, refuse_source
from headcount.errors import DataProblem, InvalidOption
from tests.data.synthetic.tokenizers import make


@given(
    length=st.integers(2, 10**6),
    times=st.integers(2, 9),
    examples=st.none() | st.integers(1, 99),
)
def test_a_string_and_python_are_the_same(length: int, times: int, examples: int | None) -> None:
    options = {"length": length, "times": times} | ({} if examples is None else {"examples": examples})
    words = "".join(f",{option}={value}" for option, value in options.items())
    made = Synthetic("repeat", **options)
    assert find_source(f"synthetic:repeat{words}") == find_source(str(made)) == find_source(made) == made
    assert made.source == Repeat(examples, length, times)


@given(
    depth=st.lists(st.floats(0, 1), min_size=1, max_size=4, unique=True), tokens=st.sets(st.integers(64), max_size=3)
)
def test_several_values(depth: list[float], tokens: set[int]) -> None:
    tokens = {count for count in tokens if count < 2**31} or {64}
    made = Synthetic("needle", depth=depth, tokens=tokens, text=Path("a/b.txt"))
    assert find_source(str(made)) == made


@pytest.mark.parametrize("data", ["repeat", "bundled:pairs", Path("synthetic:repeat"), None, 3, pd.DataFrame()])
def test_anything_else_is_no_source(data: Any) -> None:
    assert find_source(data) is None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("synthetic:", "got the synthetic texts ''; expected one of repeat, needle, names, agreement, few-shot"),
        ("synthetic:copy", "'copy'; expected one of repeat, needle, names, agreement, few-shot"),
        (
            "synthetic:repeat,size=3",
            "the option 'size' in 'synthetic:repeat,size=3'; repeat has examples, length, times",
        ),
        ("synthetic:repeat,length", "got 'length' in .*; expected each option once"),
        ("synthetic:repeat,length=3,length=4", "got 'length=4' in .*; expected each option once"),
        ("synthetic:repeat,length=one", "got 'one' for 'length' in .*; expected a whole number of at least 2"),
        ("synthetic:repeat,times=1", "got '1' for 'times' in .*; expected a whole number of at least 2"),
        ("synthetic:needle,depth=2", "got '2' for 'depth' in .*; expected a number from 0 to 1"),
        ("synthetic:needle,tokens=512/x", "for 'tokens' in .*; expected a whole number of at least 64, or several"),
        ("synthetic:needle,text=", "got '' for 'text' in .*; expected the path of a text file"),
        (
            "synthetic:agreement,number=dual",
            "got 'dual' for 'number' in .*; expected one of singular, plural, or several",
        ),
        (
            "synthetic:few-shot,task=rhymes",
            "'rhymes' for 'task' in .*; expected one of opposites, plural, past-tense, capi",
        ),
        ("synthetic:few-shot,shots=1", "got '1' for 'shots' in .*; expected a whole number of at least 2"),
        ("synthetic:names,examples=0", "got '0' for 'examples' in .*; expected a whole number of at least 1"),
    ],
)
def test_one_line_for_what_is_wrong(spec: str, words: str) -> None:
    with pytest.raises(InvalidOption, match=words) as caught:
        find_source(spec)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_other_text_is_understood_or_refused_in_one_line(text: str) -> None:
    message = ""
    try:
        assert find_source(f"synthetic:{text}") is not None
    except InvalidOption as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


def test_python_names_what_is_wrong() -> None:
    with pytest.raises(InvalidOption, match=r"got 1 for 'times' in Synthetic\('repeat'\)"):
        hc.Synthetic("repeat", times=1)


@pytest.mark.parametrize("name", SOURCES)
def test_how_many(name: str) -> None:
    tokenizer = make("bpe")
    options: dict[str, Any] = {"needle": {"tokens": 128}, "few-shot": {"task": "opposites/plural"}}.get(name, {})
    made = Synthetic(name, **options)
    whole = made.read(tokenizer, None, 0)
    assert len(whole) == 100
    pd.testing.assert_frame_equal(made.read(tokenizer, 7, 0), whole.head(7))
    assert len(Synthetic(name, examples=3, **options).read(tokenizer, 7, 0)) == 3
    assert (whole["text"] == whole["prompt"] + whole["completion"]).all()
    assert source_of(whole) == str(made)


def test_refused_where_it_makes_no_sense() -> None:
    refuse_source("data.csv", "there are no labels", "labelled examples")
    with pytest.raises(
        DataProblem, match="^got 'synthetic:names', but there are no labels; expected labelled examples"
    ):
        refuse_source(Synthetic("names"), "there are no labels", "labelled examples")
