"""Parts of speech and roles of plain texts by a token classifier, such as one that `headcount finetune` made.

Its classes are parts of speech of Universal Dependencies, with a relation behind a colon where it has learned one:
`VERB`, `NOUN:nsubj`. What it says is silver: made by a model, not by people.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headcount.data.annotations import Annotated
from headcount.data.batches import by_length, collate, plan_batches
from headcount.errors import UnsuitableModel
from headcount.models.load import load_model, load_tokenizer
from headcount.models.longest import longest_input
from headcount.models.matching_weights import NEW_WEIGHTS
from headcount.trace.modes import evaluating

WORDS = re.compile(r"\w+(?=n['\u2019]t\b)|n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]", re.IGNORECASE)
"""Words as Universal Dependencies split English: do n't, it 's, marks alone."""
UPOS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)
BATCH = 8192
"""Tokens of a batch."""


def split_words(text: str) -> list[str]:
    """
    >>> split_words("It's late; don\u2019t wait.")
    ['It', "'s", 'late', ';', 'do', 'n\u2019t', 'wait', '.']
    """
    # Marks that nobody sees, alone: tokenizers drop them.
    return [
        word for word in WORDS.findall(text) if any(unicodedata.category(letter)[0] not in "CMZ" for letter in word)
    ]


def tag_texts(texts: list[str], tagger: str | Path, device: Any = "cpu") -> list[Annotated]:
    """The texts as annotated sentences without links between words, by the tagger (a folder, or a hub name)."""
    model = load_model(tagger, head="token-classification").to(device)
    tokenizer = load_tokenizer(tagger)
    classes = [str(model.config.id2label[number]) for number in range(model.config.num_labels)]
    strange = [name for name in classes if name.partition(":")[0] not in UPOS]
    if strange:
        raise UnsuitableModel(
            f"{tagger} knows the class {strange[0]!r}; expected parts of speech of Universal Dependencies, "
            "such as VERB or NOUN:nsubj; train one on tokens with such tags"
        )
    if getattr(model, NEW_WEIGHTS):
        raise UnsuitableModel(f"{tagger} has no trained token classifier; train one, such as with headcount finetune")
    words = [split_words(text) for text in texts]
    if not getattr(tokenizer, "is_fast", False):
        raise UnsuitableModel(f"{tagger} has {type(tokenizer).__name__}; expected a fast tokenizer, which tells words")
    limit = longest_input(model, tokenizer)
    # One text of a pair may have no words.
    annotated = {number: _annotated(number, [], [], []) for number, split in enumerate(words) if not split}
    spoken = [number for number, split in enumerate(words) if split]
    if not spoken:
        return [annotated[number] for number in range(len(texts))]
    made = tokenizer([words[number] for number in spoken], is_split_into_words=True, truncation=True, max_length=limit)
    rows = [{key: made[key][row] for key in made} for row in range(len(spoken))]
    order = by_length(np.array([len(row["input_ids"]) for row in rows]))
    with torch.no_grad(), evaluating(model):
        for start, stop in plan_batches(np.array([len(rows[number]["input_ids"]) for number in order]), BATCH):
            chosen = order[start:stop]
            best = model(**collate([rows[n] for n in chosen], tokenizer.pad_token_id or 0, device)).logits.argmax(-1)
            for row, tags in zip(chosen.tolist(), best.tolist(), strict=True):
                number, said = spoken[row], [classes[tag] for tag in tags]
                annotated[number] = _annotated(number, words[number], made.word_ids(row), said)
    return [annotated[number] for number in range(len(texts))]


def _annotated(number: int, words: list[str], of: list[int | None], tags: list[str]) -> Annotated:
    """The tag of a word is that of its first piece; words that were cut off have none (X)."""
    first: dict[int, str] = {}
    for word, tag in zip(of, tags, strict=False):
        if word is not None:
            first.setdefault(word, tag)
    parts = [first.get(word, "X").partition(":") for word in range(len(words))]
    upos, relations = tuple(one for one, _, _ in parts), tuple(relation or "dep" for _, _, relation in parts)
    return Annotated(str(number), tuple(words), upos, relations, (0,) * len(words), {})
