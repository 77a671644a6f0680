"""Pairs of inputs that differ in a few tokens, for activation patching, with the tokens of their named parts.

A table with pairs, synthetic or a user's own, has these columns:

- `prompt`: the clean input; `completion`: its right answer, with the leading space that the tokenizer needs;
- `wrong`: a wrong answer, as it would be completed;
- `counterpart`: the corrupted input, whose right answer is not the clean one;
- `spans`: where named parts of the clean input are, as a JSON object in a string (which every file format keeps) such
  as `{"giver": [11, 12]}`: the first token and the one after the last, in the tokens of `prompt` + `completion`, with
  the special tokens at the beginning counted;
- `counterpart_spans`: the same for `counterpart` + `completion`.

Synthetic pairs align: both inputs have the same number of tokens, the same spans, and differ in single tokens alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.source_notes import add_notes
from headcount.data.spans import tokens_of_span
from headcount.data.token_spans import Traced, encode_with_spans
from headcount.errors import DataProblem

TRIES = 20


@dataclass(frozen=True)
class Filled:
    """A template with words in its fields, and the characters of each field."""

    text: str
    characters: dict[str, tuple[int, int]]

    def word(self, name: str) -> str:
        return self.text[slice(*self.characters[name])]


@dataclass(frozen=True)
class Pair:
    """A clean and a corrupted input with the same fields, and what else is known of them."""

    clean: Filled
    corrupted: Filled
    completion: str
    wrong: str
    columns: Mapping[str, Any]


def fill(template: str, words: Mapping[str, str]) -> Filled:
    """The template with these words in its fields, each of which occurs once.

    >>> fill("The {subject} is", {"subject": "key"})
    Filled(text='The key is', characters={'subject': (4, 7)})
    """
    text, characters = "", {}
    for literal, name, _, _ in Formatter().parse(template):
        text += literal
        if name is not None:
            characters[name] = (len(text), len(text) + len(words[name]))
            text += words[name]
    return Filled(text, characters)


def draw_pairs(
    source: str, tokenizer: Any, count: int, seed: int, draw: Callable[[np.random.Generator, int], Pair]
) -> pd.DataFrame:
    """`count` rows of pairs; `draw` is called again for a row whose pair the tokenizer does not align."""
    rows, refused = [], 0
    for row in range(count):
        generator = np.random.default_rng([seed, row])
        for _ in range(TRIES):
            pair = draw(generator, row)
            spans = align(tokenizer, pair)
            if spans is not None:
                rows.append(_columns(pair, spans))
                break
            refused += 1
        else:
            raise DataProblem(
                f"{type(tokenizer).__name__} aligns none of {TRIES} pairs of 'synthetic:{source}', which differ in "
                "single words; it needs a tokenizer that separates words at spaces"
            )
    notes = [f"synthetic:{source} drew {refused:,} pairs again that the tokenizer does not align"] if refused else []
    return add_notes(pd.DataFrame(rows), notes)


def align(tokenizer: Any, pair: Pair) -> dict[str, tuple[int, int]] | None:
    """The tokens of each field in both inputs, as the tokenizer encodes them with the answer.

    None if the inputs do not align: if no word differs, if a word that does, or an answer, is not one known token of
    its own, or if any other token differs.
    """
    inputs = (pair.clean, pair.corrupted)
    texts = [each.text + answer for each in inputs for answer in (pair.completion, pair.wrong)]
    traced, _ = encode_with_spans(tokenizer, texts, sys.maxsize)
    right, wrong, *others = traced
    if right is None or wrong is None or any(each is None for each in others):
        return None
    corrupted = [each for each in others if each is not None]
    spans = _tokens(right, pair.clean)
    if spans is None or _tokens(corrupted[0], pair.corrupted) != spans:
        return None
    answer = _answer(right, pair.clean)
    if answer is None or _answer(wrong, pair.clean) != answer:
        return None
    if any(_answer(each, pair.corrupted) != answer for each in corrupted):
        return None
    varied = [spans[name] for name in spans if pair.clean.word(name) != pair.corrupted.word(name)]
    if not varied or any(stop - start != 1 for start, stop in varied):
        return None
    places = {start for start, _ in varied}
    same_answer = _differing(right, corrupted[0]), _differing(wrong, corrupted[1])
    same_input = _differing(right, wrong), _differing(*corrupted)
    if any(found != places for found in same_answer) or any(found != {answer} for found in same_input):
        return None
    ids = [(each.row["input_ids"], places | {answer}) for each in (right, wrong, *corrupted)]
    return None if any(row[at] == tokenizer.unk_token_id for row, at_all in ids for at in at_all) else spans


def _tokens(traced: Traced, filled: Filled) -> dict[str, tuple[int, int]] | None:
    """The tokens of each field; None if one has none of its own."""
    spans = {}
    for name, characters in filled.characters.items():
        tokens = tokens_of_span(traced.spans, characters)
        if not tokens:
            return None
        spans[name] = (tokens[0], tokens[-1] + 1)
    return spans


def _answer(traced: Traced, filled: Filled) -> int | None:
    """The token that follows the input; None if there are several, or if it begins inside the input."""
    ends = [at for at, (_, stop) in enumerate(traced.spans) if stop > len(filled.text)]
    return ends[0] if len(ends) == 1 and traced.spans[ends[0]][0] >= len(filled.text) else None


def _differing(one: Traced, other: Traced) -> set[int] | None:
    """The positions at which two inputs have different tokens; None if their lengths differ."""
    ids, others = one.row["input_ids"], other.row["input_ids"]
    if len(ids) != len(others):
        return None
    return {at for at, (mine, theirs) in enumerate(zip(ids, others, strict=True)) if mine != theirs}


def _columns(pair: Pair, spans: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    spelled = json.dumps(spans)
    return {
        "prompt": pair.clean.text,
        "completion": pair.completion,
        "wrong": pair.wrong,
        "counterpart": pair.corrupted.text,
        "spans": spelled,
        "counterpart_spans": spelled,
        **pair.columns,
    }
