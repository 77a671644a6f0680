"""How the texts of a row are read, and which of them are blank to a tokenizer."""

from __future__ import annotations

from typing import Any, ClassVar


class Texts:
    """As it stands: strings without a task. Kinds of tasks change what is different for them."""

    words: ClassVar[bool] = False
    """Whether a text is a list of words instead of a string."""
    all_texts_needed: ClassVar[bool] = False
    """Whether a row is blank that lacks one of its texts; otherwise it is blank if it lacks them all."""
    least_tokens: ClassVar[int] = 1
    """A text of fewer tokens is blank."""

    def special_ids(self, tokenizer: Any) -> set[int]:
        """The ids that are no text: special tokens, but neither unknown nor masked words."""
        return set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}

    def token_ids(self, tokenizer: Any, texts: list[Any], column: int) -> list[list[int]]:
        """The token ids of the texts of one column; `column` is its number among the text columns."""
        if self.words:
            texts = [list(words) for words in texts]
        ids: list[list[int]] = tokenizer(texts, is_split_into_words=self.words, verbose=False)["input_ids"]
        return ids


PLAIN = Texts()
"""Texts without a task."""
