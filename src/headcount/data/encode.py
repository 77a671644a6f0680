"""Examples into token ids: one unpadded encoding each, cut to what the model takes, cuts counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.data.examples import Examples
from headcount.errors import DataProblem, short

Encoding = dict[str, Any]
IGNORED = -100
MASKED_SHARE = 0.15


@dataclass(frozen=True)
class Encodings:
    """One encoding for each example (a list of them for each choice of a multiple choice), and how many were cut."""

    rows: list[Encoding]
    lengths: np.ndarray
    cut: int
    limit: int


def encode(examples: Examples, tokenizer: Any, limit: int, seed: int = 0) -> Encodings:
    """The encodings of all examples; texts beyond `limit` tokens are cut and counted."""
    kind = examples.task.kind
    make = {
        "token-classification": _tokens,
        "multiple-choice": _choices,
        "masked-lm": _masked,
        "causal-lm": _causal,
        "translation": _translation,
    }.get(kind, _texts)
    rows, cut = make(examples, tokenizer, limit, seed)
    blank = next((number for number, row in enumerate(rows) if _is_blank(row, kind)), None)
    if blank is not None:
        raise DataProblem(
            f"{examples.where(blank)}: nothing to look at or to predict in {short(examples.texts[blank])}; leave it out"
        )
    return Encodings(rows, np.array([_length(row) for row in rows]), cut, limit)


def _is_blank(row: Encoding, kind: str) -> bool:
    if kind in ("masked-lm", "token-classification"):
        return all(label == IGNORED for label in row["labels"])
    return _length(row) < (2 if kind == "causal-lm" else 1)


def _length(row: Encoding) -> int:
    if isinstance(row["input_ids"][0] if row["input_ids"] else 0, list):
        return max(len(one) for one in row["input_ids"])
    return len(row["input_ids"])


def _call(tokenizer: Any, texts: Any, pairs: Any, limit: int, **options: Any) -> tuple[list[Encoding], int]:
    """Encodings of texts, and how many had to be cut."""
    whole = tokenizer(texts, pairs, truncation=False, verbose=False, **options)
    cut = sum(len(ids) > limit for ids in whole["input_ids"])
    made = tokenizer(texts, pairs, truncation=True, max_length=limit, **options) if cut else whole
    return [{key: made[key][number] for key in made} for number in range(len(texts))], cut


def _texts(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    pairs = [text[1] for text in examples.texts] if len(examples.texts[0]) > 1 else None
    rows, cut = _call(tokenizer, [text[0] for text in examples.texts], pairs, limit)
    for row, label in zip(rows, examples.labels, strict=True):
        row["labels"] = label
    return rows, cut


def _choices(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    """The context with each choice in turn."""
    count = len(examples.texts[0]) - 1
    contexts = [text[0] for text in examples.texts for _ in range(count)]
    rows, cut = _call(tokenizer, contexts, [choice for text in examples.texts for choice in text[1:]], limit)
    merged = []
    for number, label in enumerate(examples.labels):
        part = rows[number * count : (number + 1) * count]
        merged.append({key: [one[key] for one in part] for key in part[0]} | {"labels": label})
    return merged, cut


def _tokens(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    """A word's tag stands at its first piece; the other pieces are not scored."""
    rows, cuts = [], 0
    for text, tags in zip(examples.texts, examples.labels, strict=True):
        made = tokenizer(text[0], is_split_into_words=True, truncation=True, max_length=limit)
        words = made.word_ids()
        first = [word is not None and word not in words[:place] for place, word in enumerate(words)]
        cuts += len([word for word in set(words) if word is not None]) < len(text[0])
        labels = [tags[word] if new else IGNORED for word, new in zip(words, first, strict=True)]
        rows.append({key: made[key] for key in made} | {"labels": labels})
    return rows, cuts


def _causal(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    rows, cut = _call(tokenizer, [text[0] for text in examples.texts], None, limit)
    for row in rows:
        row["labels"] = list(row["input_ids"])
    return rows, cut


def _masked(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    """15 % of the tokens masked, at least one; which ones depends on the seed and the row alone."""
    if tokenizer.mask_token_id is None:
        raise DataProblem("the tokenizer has no mask token; masked-lm needs one, causal-lm does not")
    rows, cut = _causal(examples, tokenizer, limit, seed)
    for row, number in zip(rows, examples.ids, strict=True):
        special = tokenizer.get_special_tokens_mask(row["input_ids"], already_has_special_tokens=True)
        places = np.flatnonzero(np.array(special) == 0)
        chosen = np.random.default_rng([seed, int(number)]).permutation(places)[
            : max(1, round(MASKED_SHARE * len(places)))
        ]
        row["labels"] = [token if place in chosen else IGNORED for place, token in enumerate(row["labels"])]
        row["input_ids"] = [
            tokenizer.mask_token_id if place in chosen else token for place, token in enumerate(row["input_ids"])
        ]
    return rows, cut


def _translation(examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
    rows, cut = _call(tokenizer, [text[0] for text in examples.texts], None, limit)
    targets = tokenizer(text_target=list(examples.labels), truncation=True, max_length=limit)["input_ids"]
    for row, target in zip(rows, targets, strict=True):
        row["labels"] = target
    return rows, cut
