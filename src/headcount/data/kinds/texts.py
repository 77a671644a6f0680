"""How the texts of a row are read and tokenized, to find those that are blank."""

from __future__ import annotations

from typing import Any, ClassVar


class Texts:
    """Texts without a task; kinds of tasks override what differs."""

    words: ClassVar[bool] = False
    """Whether a text is a list of words instead of a string."""
    all_texts_needed: ClassVar[bool] = False
    """Whether a row is blank if any of its texts is; otherwise only if all of them are."""
    least_tokens: ClassVar[int] = 1
    """A text with fewer tokens is blank."""

    def is_list(self, column: int) -> bool:
        """Whether the cells of a text column are lists of strings; `column` is its number among the text columns."""
        return self.words

    def special_ids(self, tokenizer: Any) -> set[int]:
        """The ids of special tokens, without those of unknown and masked words, which are text."""
        return set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}

    def token_ids(self, tokenizer: Any, texts: list[Any], column: int) -> list[list[int]]:
        """The token ids of the texts of one column; `column` is its number among the text columns."""
        lists = self.is_list(column)
        if lists:
            texts = [list(words) for words in texts]
        ids: list[list[int]] = tokenizer(texts, is_split_into_words=lists, verbose=False)["input_ids"]
        return ids


PLAIN = Texts()
"""Texts without a task."""
