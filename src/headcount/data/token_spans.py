"""The characters of each token: the tokenizer's own offsets or, where it has none, those of its pieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcount.data.kinds.tokens import Encoding
from headcount.data.word_pieces import Span
from headcount.errors import UnsuitableModel

WORD_START = "▁"
"""SentencePiece's sign for a space."""


@dataclass(frozen=True)
class Traced:
    """A text as tokens, with the characters of each, and 0 for tokens of the text, None for special ones."""

    row: Encoding
    spans: list[Span]
    sequences: list[int | None]


def encode_with_spans(tokenizer: Any, texts: Sequence[str], longest: int) -> tuple[list[Traced | None], int]:
    """The texts as tokens, None where the pieces of a tokenizer without offsets do not spell the text.

    Texts of more than `longest` tokens are cut; their number comes second.
    """
    if getattr(tokenizer, "is_fast", False):
        return _by_offsets(tokenizer, list(texts), longest)
    return _by_pieces(tokenizer, texts, longest)


def check_reads_texts(tokenizer: Any) -> None:
    """An error for what is no tokenizer, such as the image processor of a vision model."""
    if not hasattr(tokenizer, "tokenize"):
        raise UnsuitableModel(f"got {type(tokenizer).__name__}; expected a tokenizer of texts")


def _by_offsets(tokenizer: Any, texts: list[str], longest: int) -> tuple[list[Traced | None], int]:
    options: dict[str, Any] = {"return_offsets_mapping": True, "verbose": False}
    whole = tokenizer(texts, **options)
    cut = sum(len(ids) > longest for ids in whole["input_ids"])
    encoded = tokenizer(texts, truncation=True, max_length=longest, **options) if cut else whole
    traced: list[Traced | None] = []
    for number, spans in enumerate(encoded["offset_mapping"]):
        row = {key: list(encoded[key][number]) for key in encoded if key != "offset_mapping"}
        traced.append(Traced(row, spans, encoded.sequence_ids(number)))
    return traced, cut


def _by_pieces(tokenizer: Any, texts: Sequence[str], longest: int) -> tuple[list[Traced | None], int]:
    traced: list[Traced | None] = []
    cut = 0
    for text in texts:
        row = dict(tokenizer(text, return_special_tokens_mask=True, verbose=False))
        if truncated := len(row["input_ids"]) > longest:
            cut += 1
            row = dict(tokenizer(text, return_special_tokens_mask=True, truncation=True, max_length=longest))
        special = row.pop("special_tokens_mask")
        spans = locate_pieces(text, tokenizer.tokenize(text))
        # Other tokens than its pieces: which characters they cover is not known.
        if spans is None or (special.count(0) > len(spans) if truncated else special.count(0) != len(spans)):
            traced.append(None)
            continue
        remaining = iter(spans)
        of_tokens = [(0, 0) if mark else next(remaining) for mark in special]
        traced.append(Traced(row, of_tokens, [None if mark else 0 for mark in special]))
    return traced, cut


def locate_pieces(text: str, pieces: Sequence[str]) -> list[Span] | None:
    """The characters of each piece in the text that the pieces spell, up to case, spaces and compatible forms.

    None where they do not spell it. A piece that is nothing but a space has no characters.

    >>> locate_pieces("Où va-t-on ?", ["▁Où", "▁va", "-", "t", "-", "on", "▁", "?"])
    [(0, 2), (3, 5), (5, 6), (6, 7), (7, 8), (8, 10), (10, 10), (11, 12)]
    >>> locate_pieces("Où", ["▁Ou", "est"]) is None
    True
    """
    letters = [(letter, at) for at, character in enumerate(text) for letter in _letters(character)]
    spans, start, end = [], 0, 0
    for piece in pieces:
        spelled = _letters(piece.replace(WORD_START, " "))
        covered = letters[start : start + len(spelled)]
        if [letter for letter, _ in covered] != list(spelled):
            return None
        if covered:
            spans.append((covered[0][1], covered[-1][1] + 1))
            end = spans[-1][1]
        else:
            spans.append((end, end))
        start += len(spelled)
    return spans if start == len(letters) else None


def _letters(characters: str) -> str:
    """What characters spell: without spaces and control characters, each decomposed, in lower case."""
    return "".join(
        letter
        for letter in unicodedata.normalize("NFKD", characters).casefold()
        if not letter.isspace() and unicodedata.category(letter)[0] != "C"
    )
