"""Random tokens, repeated: the second copy can be predicted from the first, and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.synthetic.contract import Source, number
from headcount.data.synthetic.whole_words import POOL, draw_whole_words
from headcount.errors import DataProblem

TRIES = 20


@dataclass(frozen=True)
class Repeat(Source):
    """`length` random tokens, `times` times over: the prompt is the first copy, the completion all others.

    Tokens are whole words, each at most once in a copy, so that a token of the second copy has exactly one earlier
    occurrence. Every text is encoded again: it gives exactly these tokens, the same in each copy.
    """

    name = "repeat"
    summary = "random tokens, repeated"

    length: int = number(50, 2)
    times: int = number(2, 2)

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        words = draw_whole_words(tokenizer, max(POOL, 2 * self.length), seed)
        if len(words) < self.length:
            raise DataProblem(
                f"the tokenizer has {len(words):,} tokens that are whole words, fewer than the length {self.length:,} "
                "of 'synthetic:repeat'; give a smaller length"
            )
        ids, texts = np.array(list(words)), list(words.values())
        rows = []
        for row in range(count):
            generator = np.random.default_rng([seed, row])
            rows.append(self._row(tokenizer, ids, texts, generator))
        return pd.DataFrame(rows)

    def _row(self, tokenizer: Any, ids: np.ndarray, texts: list[str], generator: np.random.Generator) -> dict[str, str]:
        """Drawn again if the words, side by side, are encoded as other tokens than alone."""
        for _ in range(TRIES):
            chosen = generator.permutation(len(ids))[: self.length]
            copy = " ".join(texts[number] for number in chosen)
            wanted = ids[chosen].tolist() * self.times
            # Of most BPE tokenizers a word is a token with its space, which the first word then needs, too.
            for start in (" ", ""):
                prompt, completion = start + copy, (" " + copy) * (self.times - 1)
                encoded = tokenizer(prompt + completion, add_special_tokens=False, verbose=False)["input_ids"]
                if list(encoded) == wanted:
                    return {"prompt": prompt, "completion": completion}
        raise DataProblem(
            f"{type(tokenizer).__name__} encodes none of {TRIES} texts of random tokens as these tokens; 'synthetic:"
            "repeat' needs a tokenizer that separates words at spaces"
        )
