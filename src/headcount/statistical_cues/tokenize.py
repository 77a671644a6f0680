"""From texts to the tokens that cues are made of, for all texts at once: on white space, into words, or into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.core.options import without_effect
from headcount.errors import InvalidOption

RULES = ("words", "whitespace", "pieces")
_WORD = r"\p{L}\p{M}\p{N}_"
_APOSTROPHES = "'\u2019"
_SPACE = r"\s\p{Z}"
CHUNK = 20_000
"""Texts that are split at a time."""
_STEPS = (
    (rf"([^{_WORD}{_SPACE}{_APOSTROPHES}])", r" \1 "),  # every other mark is a token
    (rf"(^|[{_SPACE}])([{_APOSTROPHES}]+)", r"\1\2 "),  # quotation marks, but not the apostrophe of don't
    (rf"([{_APOSTROPHES}]+)([{_SPACE}]|$)", r" \1\2"),
)
"""Where `words` puts spaces, in this order."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of all texts in a row: those of text i are `names[codes[starts[i]:starts[i + 1]]]`."""

    codes: np.ndarray
    starts: np.ndarray
    names: np.ndarray


def check_rule(rule: str, cased: bool, tokenizer: Any) -> None:
    """Refuse an unknown rule, one whose tokenizer is not there, and a tokenizer that nothing needs."""
    if rule not in RULES:
        raise InvalidOption(f"got tokens={rule!r}; expected one of {', '.join(RULES)}")
    if rule == "pieces":
        without_effect("cased", cased, "the tokenizer of tokens='pieces' has its own rule for upper case")
        if tokenizer is None:
            raise InvalidOption("tokens='pieces' needs a tokenizer: name one with tokenizer=")


def split_texts(texts: Sequence[str], rule: str, cased: bool = False, tokenizer: Any = None) -> Tokens:
    """The tokens of texts, lower case unless `cased`.

    `whitespace`: what stands between white space. `words`: words, with their inner apostrophes, and every mark of
    punctuation on its own. `pieces`: those of the tokenizer, without special tokens.

    >>> tokens = split_texts(["Don't stop!", ""], "words")
    >>> tokens.names[tokens.codes].tolist(), tokens.starts.tolist()
    (["don't", 'stop', '!'], [0, 3, 3])
    """
    if rule == "pieces":
        return _pieces(texts, tokenizer)
    names: dict[str, int] = {}
    codes, counts = [], []
    for start in range(0, len(texts), CHUNK):  # strings that are taken apart need many times their memory
        chunk_codes, chunk_counts, chunk_names = _split(texts[start : start + CHUNK], rule, cased)
        numbers = np.array([names.setdefault(name, len(names)) for name in chunk_names], dtype=np.int32)
        codes.append(numbers[chunk_codes])
        counts.append(chunk_counts)
    return Tokens(np.concatenate(codes), _starts(np.concatenate(counts)), np.array(list(names), dtype=object))


def _split(texts: Sequence[str], rule: str, cased: bool) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The codes of all tokens, the number of tokens of each text, and the tokens that the codes stand for."""
    strings = pa.array(texts, pa.large_string())
    if not cased:
        strings = pc.utf8_lower(strings)
    for pattern, spaced in _STEPS if rule == "words" else ():
        strings = pc.replace_substring_regex(strings, pattern, spaced)
    lists = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(strings))
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    encoded = pc.dictionary_encode(lists.flatten())
    codes, names = encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
    if "" in names:  # an empty text splits into one empty token
        known = codes != names.index("")
        owners = np.repeat(np.arange(len(texts)), counts)[known]
        codes, counts = codes[known], np.bincount(owners, minlength=len(texts))
    return codes, counts, names


def _pieces(texts: Sequence[str], tokenizer: Any) -> Tokens:
    ids = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    counts = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    flat = np.concatenate([np.asarray(row, dtype=np.int64) for row in ids]) if counts.sum() else np.zeros(0, np.int64)
    known, codes = np.unique(flat, return_inverse=True)
    names = np.array(tokenizer.convert_ids_to_tokens(known.tolist()), dtype=object)
    return Tokens(codes.astype(np.int32), _starts(counts), names)


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])
