"""Masked language modelling: the loss of tokens that were masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.data.kinds.language import Language
from headcount.data.kinds.tokens import IGNORED, Encoding, tokenize
from headcount.data.kinds.typed import MASK, Question, Typed
from headcount.errors import DataProblem

if TYPE_CHECKING:
    from headcount.data.examples import Examples

MASKED_SHARE = 0.15


def mask_tokens(row: Encoding, free: np.ndarray, tokenizer: Any, seed: int, number: int) -> Encoding:
    """The row with some of its `free` tokens masked, at least one, and labels at their positions.

    The choice depends only on the seed and the number of the row.
    """
    count = max(1, round(MASKED_SHARE * len(free)))
    masked = set(np.random.default_rng([seed, number]).permutation(free)[:count].tolist())
    ids = list(enumerate(row["input_ids"]))
    labels = [token if index in masked else IGNORED for index, token in ids]
    return {
        **row,
        "input_ids": [tokenizer.mask_token_id if index in masked else token for index, token in ids],
        "labels": labels,
    }


class MaskedLM(Language):
    """15 % of the tokens are masked, at least one, but no special tokens."""

    name = "masked-lm"
    aliases = ("fill-mask", "mlm")
    auto_class = "AutoModelForMaskedLM"
    masked = True
    no_question = f"type {MASK} for the word that the model is to guess"

    def special_ids(self, tokenizer: Any) -> set[int]:
        """Unknown and masked words too, since the model is not asked to predict them."""
        return set(tokenizer.all_special_ids)

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        if tokenizer.mask_token_id is None:
            raise DataProblem("the tokenizer has no mask token; masked-lm needs one, causal-lm does not")
        rows, cut = super().encode(examples, tokenizer, limit, seed)
        special = [tokenizer.get_special_tokens_mask(row["input_ids"], already_has_special_tokens=True) for row in rows]
        free = [np.flatnonzero(np.array(flags) == 0) for flags in special]
        numbered = zip(rows, free, examples.ids, strict=True)
        return [mask_tokens(row, tokens, tokenizer, seed, int(number)) for row, tokens, number in numbered], cut

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        """Each masked word is a question."""
        text = texts[0] if tokenizer.mask_token is None else texts[0].replace(MASK, tokenizer.mask_token)
        rows, cut = tokenize(tokenizer, [text], None, limit)
        masked = [at for at, token in enumerate(rows[0]["input_ids"]) if token == tokenizer.mask_token_id]
        return Typed(rows[0], tuple(Question("masked word", at) for at in masked), cut > 0)

    def as_typed(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The first text with its longest word masked."""
        words = texts[0].split(" ")
        longest = max(range(len(words)), key=lambda number: len(words[number]))
        return (" ".join([*words[:longest], MASK, *words[longest + 1 :]]),)

    def nothing_left(self, row: Encoding) -> bool:
        return all(label == IGNORED for label in row["labels"])
