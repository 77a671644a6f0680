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


class MaskedLM(Language):
    """15 % of the tokens are masked, at least one; which ones depends on the seed and the row alone."""

    name = "masked-lm"
    aliases = ("fill-mask", "mlm")
    auto_class = "AutoModelForMaskedLM"

    def special_ids(self, tokenizer: Any) -> set[int]:
        """Unknown and masked words too: the model is not asked for them."""
        return set(tokenizer.all_special_ids)

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        if tokenizer.mask_token_id is None:
            raise DataProblem("the tokenizer has no mask token; masked-lm needs one, causal-lm does not")
        rows, cut = super().encode(examples, tokenizer, limit, seed)
        for row, number in zip(rows, examples.ids, strict=True):
            special = tokenizer.get_special_tokens_mask(row["input_ids"], already_has_special_tokens=True)
            free = np.flatnonzero(np.array(special) == 0)
            count = max(1, round(MASKED_SHARE * len(free)))
            masked = set(np.random.default_rng([seed, int(number)]).permutation(free)[:count].tolist())
            ids = row["input_ids"]
            row["labels"] = [token if index in masked else IGNORED for index, token in enumerate(ids)]
            row["input_ids"] = [tokenizer.mask_token_id if index in masked else ids[index] for index in range(len(ids))]
        return rows, cut

    def nothing_left(self, row: Encoding) -> bool:
        return all(label == IGNORED for label in row["labels"])
