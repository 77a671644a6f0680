"""Is a typed text like those that the model's results are about? What is unusual about it, in lines for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headcount.data.kinds.kind import Kind
from headcount.errors import HeadcountError

ENOUGH = 5
"""Texts without which nothing is said of their range."""
ENOUGH_WORDS = 20
"""Texts without which nothing is said of their words."""


@dataclass(frozen=True)
class Text:
    """A text in tokens: all of them, and those that are neither special nor unknown; `unknown` are the rest."""

    length: int
    words: tuple[int, ...]
    unknown: int
    parts: int

    @property
    def unknown_share(self) -> float:
        return self.unknown / max(1, self.unknown + len(self.words))


class Likeness:
    """The range of some texts (`origin` names them), and what of a typed one lies outside.

    Length, unknown tokens, texts or pairs, and words that the others do not have: each is compared with the most
    unusual of these texts, the last one with each of them left out in turn.
    """

    def __init__(
        self, kind: Kind, tokenizer: Any, limit: int, texts: Sequence[tuple[str, ...]] = (), origin: str = "the texts"
    ) -> None:
        self.kind, self.tokenizer, self.limit = kind, tokenizer, limit
        self.texts, self.origin = tuple(texts), origin

    def lines(self, texts: Sequence[str], row: dict[str, Any]) -> list[str]:
        """What is unusual about typed texts, `row` being their encoding; nothing where they are like the others."""
        own = self._count(row, texts)
        known = self.known
        if len(known) < ENOUGH:
            return [_unknown_words(own)] if own.unknown else []
        return [line for line in (self._length(own), self._parts(own), self._unknown(own), self._words(own)) if line]

    @cached_property
    def known(self) -> list[Text]:
        """The texts that it is compared with."""
        found = []
        for texts in self.texts:
            typed = self.kind.as_typed(texts)
            try:
                row = self.kind.read_typed(self.tokenizer, typed, self.limit).row
            except HeadcountError:
                continue
            found.append(self._count(row, typed))
        return found

    def _count(self, row: dict[str, Any], texts: Sequence[str]) -> Text:
        ids = row["input_ids"]
        ids = ids[0] if ids and isinstance(ids[0], list) else ids  # of a multiple choice, the first one
        unknown = self.tokenizer.unk_token_id
        special = set(self.tokenizer.all_special_ids) - {unknown}
        words = tuple(token for token in ids if token not in special and token != unknown)
        missing = sum(token == unknown for token in ids) if unknown not in (None, self.tokenizer.eos_token_id) else 0
        return Text(len(ids), words, missing, sum(bool(text.strip()) for text in texts))

    def _length(self, own: Text) -> str:
        lengths = [text.length for text in self.known]
        low, high = min(lengths), max(lengths)
        is_short = own.length < low and not self.kind.writes  # a prompt is the beginning of a text
        return (
            f"It has {own.length} tokens; {self.origin} have {low} to {high}." if is_short or own.length > high else ""
        )

    def _parts(self, own: Text) -> str:
        parts = {text.parts for text in self.known}
        if len(parts) > 1 or own.parts in parts or self.kind.texts_needed > 1 or self.kind.writes:
            return ""
        return f"It is {_spell_parts(own.parts)}; {self.origin} are {'pairs' if parts == {2} else 'single texts'}."

    def _unknown(self, own: Text) -> str:
        most = max(text.unknown_share for text in self.known)
        if own.unknown_share <= most:
            return ""
        usual = f"of {self.origin}, at most {_percent(most)} are" if most else f"{self.origin} have none"
        return f"{_unknown_words(own).rstrip('.')}; {usual}."

    def _words(self, own: Text) -> str:
        """Words that no other text has, where more of them are than in any other text."""
        if len(self.known) < ENOUGH_WORDS or len(own.words) < 3:
            return ""
        new = sum(not self._texts_with[word] for word in own.words) / len(own.words)
        if new <= self._most_new:
            return ""
        return (
            f"{_percent(new)} of its tokens occur in none of {self.origin}; in each of these, at most "
            f"{_percent(self._most_new)} occur in no other."
        )

    @cached_property
    def _texts_with(self) -> Counter[int]:
        return Counter(word for text in self.known for word in set(text.words))

    @cached_property
    def _most_new(self) -> float:
        shares = [
            sum(self._texts_with[word] == 1 for word in text.words) / max(1, len(text.words)) for text in self.known
        ]
        return max(shares)


def _spell_parts(parts: int) -> str:
    return "a single text" if parts <= 1 else "a pair"


def _unknown_words(own: Text) -> str:
    total = own.unknown + len(own.words)
    return f"{own.unknown} of its {total} tokens {'is' if own.unknown == 1 else 'are'} unknown to the tokenizer."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
