"""Annotated sentences as the model reads them: their tokens, the word of each, and the words that were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from headcount.data.blank_rows import known_blank
from headcount.data.examples import draw_present_rows
from headcount.data.kinds.texts import PLAIN
from headcount.data.kinds.tokens import Encoding
from headcount.data.marks import VocabularyIds, find_facts
from headcount.data.word_pieces import locate_words, lost_words, words_of_tokens
from headcount.errors import DataProblem, short
from headcount.measures.inputs import Inputs
from headcount.models.decoder_inputs import decoder_inputs


@dataclass(frozen=True)
class Sentences:
    """Some sentences, in the order of `inputs`."""

    annotated: list[Any]
    """Each with a `name` and `words`."""
    inputs: Inputs
    words: list[list[int | None]]
    """The word of each token."""
    known: list[list[bool]]
    """Of each word whether it has tokens of its own; the attention of the others is not known."""
    lost: dict[str, int]
    """How many words have no token (dropped by the tokenizer or cut off), and how many share one with another word."""


def encode_sentences(
    sentences: Sequence[Any],
    model: PreTrainedModel,
    tokenizer: Any,
    limit: int | None,
    seed: int,
    longest: int,
) -> Sentences:
    """Some of the sentences, drawn at random where there is a `limit`, as tokens; sentences without words are left out.

    A sentence that has a `text` is fed as it is written, any other as its words with a space between.
    """
    written = [getattr(sentence, "text", None) or " ".join(sentence.words) for sentence in sentences]
    table = pd.DataFrame({"words": written})
    table = draw_present_rows(table, ("words",), PLAIN, tokenizer, limit, seed)
    chosen = [sentences[row] for row in table.index]
    texts = list(table["words"])
    options: dict[str, Any] = {"return_offsets_mapping": True, "verbose": False}
    whole = tokenizer(texts, **options)
    cut = sum(len(ids) > longest for ids in whole["input_ids"])
    encoded = tokenizer(texts, truncation=True, max_length=longest, **options) if cut else whole
    rows, facts, words, known = [], [], [], []
    lost = {"without a token": 0, "sharing a token": 0}
    vocabulary = VocabularyIds.of(tokenizer)
    for number, sentence in enumerate(chosen):
        row: Encoding = {key: list(encoded[key][number]) for key in encoded if key != "offset_mapping"}
        spans, sequences = encoded["offset_mapping"][number], encoded.sequence_ids(number)
        characters = [locate_words(texts[number], sentence.words)]
        dropped, merged = lost_words(characters, spans, sequences)
        lost["without a token"] += len(dropped)
        lost["sharing a token"] += len(merged)
        numbers = words_of_tokens(characters, spans, sequences)
        if all(word is None for word in numbers):
            raise DataProblem(f"sentence {sentence.name}: nothing but special tokens in {short(texts[number])}")
        rows.append(row)
        facts.append(find_facts(row, vocabulary, numbers))
        words.append(numbers)
        known.append([word not in dropped | merged for word in range(len(sentence.words))])
    targets = None
    if getattr(model.config, "is_encoder_decoder", False):
        # Only the encoder is looked at: the decoder has one token to begin with.
        for row in rows:
            row["decoder_input_ids"] = decoder_inputs(model, row["input_ids"][:1])
        targets = [find_facts({"input_ids": row["decoder_input_ids"]}, vocabulary, [None]) for row in rows]
    lengths = np.array([one.length for one in facts])
    ids = table.index.to_numpy()
    inputs = Inputs(rows, facts, targets, lengths, ids, texts, False, False, cut, longest, False, known_blank(table))
    return Sentences(chosen, inputs, words, known, lost)
