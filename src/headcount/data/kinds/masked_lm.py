"""Masked language modelling: the loss of tokens that were masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.data.kinds.language import Language
from headcount.data.kinds.tokens import IGNORED, Encoding
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

    def nothing_left(self, row: Encoding) -> bool:
        return all(label == IGNORED for label in row["labels"])
