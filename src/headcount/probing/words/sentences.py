"""Annotated sentences as the model reads them: their tokens, the word of each, and the words that were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from headcount.core.probe_names import NOT_SPELLED, SHARING_TOKEN, WITHOUT_TOKEN
from headcount.data.blank_rows import known_blank
from headcount.data.examples import draw_present_rows
from headcount.data.kinds.texts import PLAIN
from headcount.data.marks import VocabularyIds, find_facts
from headcount.data.token_spans import encode_with_spans
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
    encoded, cut = encode_with_spans(tokenizer, texts, longest)
    rows, facts, words, known = [], [], [], []
    untraced = sum(len(chosen[number].words) for number, encoding in enumerate(encoded) if encoding is None)
    lost = {WITHOUT_TOKEN: 0, SHARING_TOKEN: 0, NOT_SPELLED: untraced}
    vocabulary = VocabularyIds.of(tokenizer)
    traced = []
    for number, (sentence, encoding) in enumerate(zip(chosen, encoded, strict=True)):
        if encoding is None:
            continue
        traced.append(number)
        row, spans, sequences = encoding.row, encoding.spans, encoding.sequences
        characters = [locate_words(texts[number], sentence.words)]
        dropped, merged = lost_words(characters, spans, sequences)
        lost[WITHOUT_TOKEN] += len(dropped)
        lost[SHARING_TOKEN] += len(merged)
        numbers = words_of_tokens(characters, spans, sequences)
        if all(word is None for word in numbers):
            raise DataProblem(f"sentence {sentence.name}: nothing but special tokens in {short(texts[number])}")
        rows.append(row)
        facts.append(find_facts(row, vocabulary, numbers))
        words.append(numbers)
        known.append([word not in dropped | merged for word in range(len(sentence.words))])
    if not traced:
        raise DataProblem(f"the tokens of {type(tokenizer).__name__} spell none of the texts; give another tokenizer")
    targets = None
    if getattr(model.config, "is_encoder_decoder", False):
        # Only the encoder is looked at: the decoder has one token to begin with.
        for row in rows:
            row["decoder_input_ids"] = decoder_inputs(model, row["input_ids"][:1])
        targets = [find_facts({"input_ids": row["decoder_input_ids"]}, vocabulary, [None]) for row in rows]
    lengths = np.array([one.length for one in facts])
    ids, texts = table.index.to_numpy()[traced], [texts[number] for number in traced]
    inputs = Inputs(rows, facts, targets, lengths, ids, texts, False, False, cut, longest, False, known_blank(table))
    return Sentences([chosen[number] for number in traced], inputs, words, known, lost)
