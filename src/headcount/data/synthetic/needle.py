"""A needle in a haystack: a fact somewhere in a long text, and what asks for it at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.synthetic.contract import FILE, Source, numbers, shares
from headcount.data.synthetic.facts import Fact, draw_fact
from headcount.data.synthetic.haystack import Haystack, read_haystack
from headcount.errors import DataProblem

SPARE = 8
"""Tokens by which the parts of a text may be shorter alone than together."""


@dataclass(frozen=True)
class Needle(Source):
    """Texts of at most `tokens` tokens, special ones included, as near to it as whole sentences come.

    `depth`: where the fact is, from 0 (the beginning) to 1, after the sentence that ends nearest to it. Rows take turns
    through all depths and lengths. `text`: a file with the haystack; the bundled texts by default.

    Columns: `needle` (the sentence of the fact), `answer` (the words that are due, in the fact and at the end),
    `depth`, `tokens` (as asked for), `needle_start` and `needle_end` (the characters of the answer in the fact, in
    `text`: from the first up to the one after the last).
    """

    name = "needle"
    summary = "a fact in a haystack of other text, asked for at the end"

    text: Path | None = field(default=None, metadata=FILE)
    depth: tuple[float, ...] = shares((0.1, 0.5, 0.9))
    tokens: tuple[int, ...] = numbers((512,), 64)

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        haystack = read_haystack(self.text, tokenizer)
        settings = [(tokens, depth) for tokens in self.tokens for depth in self.depth]
        return pd.DataFrame(
            [
                _row(tokenizer, haystack, *settings[row % len(settings)], np.random.default_rng([seed, row]))
                for row in range(count)
            ]
        )


def _row(
    tokenizer: Any, haystack: Haystack, tokens: int, depth: float, generator: np.random.Generator
) -> dict[str, Any]:
    sentences, lengths = haystack.draw(tokens, generator)
    fact, answer = draw_fact(generator, " ".join(sentences))
    for count in range(_fitting(tokenizer, fact, answer, tokens, lengths), 0, -1):
        ends = np.concatenate([[0], lengths[:count].cumsum()])
        place = int(np.abs(ends - depth * ends[-1]).argmin())
        row = _compose(sentences[:place], sentences[place:count], fact, answer)
        if len(tokenizer(row["prompt"] + row["completion"], verbose=False)["input_ids"]) <= tokens:
            return {**row, "depth": depth, "tokens": tokens}
    raise DataProblem(
        f"{haystack.name} has no sentence that fits into a text of {tokens:,} tokens beside the fact; give more tokens"
    )


def _fitting(tokenizer: Any, fact: Fact, answer: str, tokens: int, lengths: np.ndarray) -> int:
    """How many sentences may fit beside the fact: rather one too many, which is then left out."""
    parts = [fact.statement.format(answer=answer), f"{fact.cue} {answer}"]
    taken = sum(len(ids) for ids in tokenizer(parts, add_special_tokens=False, verbose=False)["input_ids"])
    return int((lengths.cumsum() <= tokens - taken + SPARE).sum())


def _compose(before: list[str], after: list[str], fact: Fact, answer: str) -> dict[str, Any]:
    needle = fact.statement.format(answer=answer)
    lead = " ".join([*before, ""])
    start = len(lead) + fact.statement.index("{answer}")
    return {
        "prompt": f"{' '.join([*before, needle, *after])}\n{fact.cue}",
        "completion": f" {answer}",
        "needle": needle,
        "answer": answer,
        "needle_start": start,
        "needle_end": start + len(answer),
    }
