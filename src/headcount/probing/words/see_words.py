"""One pass over some sentences: what is seen of the attention between their words, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from transformers import PreTrainedModel

from headcount.measures.contract import Seen
from headcount.measures.layers import see_layers
from headcount.measures.measurement import Measurement
from headcount.models.dispatched import input_device
from headcount.probing.words.between_words import WordPieces, as_word_pieces
from headcount.trace.edits import LayerKey
from headcount.trace.view import AttentionView

Answer = TypeVar("Answer")


def see_words(
    measurement: Measurement,
    words: Sequence[Sequence[int | None]],
    known: Sequence[Sequence[bool]],
    numbers: np.ndarray,
    model: PreTrainedModel,
    source: str,
    look: Callable[[AttentionView, WordPieces], Answer],
) -> dict[LayerKey, Answer]:
    """What `look` gives for every layer and the sentences of these numbers; of an encoder-decoder, for the encoder's.

    `words` and `known` are those of all sentences: the word of each token, and which words count.
    """
    batch, queries, targets = measurement.batch(numbers, links=False)
    pieces = as_word_pieces(
        [words[number] for number in numbers], [known[number] for number in numbers], input_device(model), source
    )
    answers: dict[LayerKey, Answer] = {}

    def see(seen: Seen) -> None:
        if targets is None or seen.stack == "encoder":
            answers[seen.stack, seen.view.block.layer] = look(seen.view, pieces)

    see_layers(model, measurement.anatomy, batch, queries, targets, measurement.setting.classes, see)
    return answers
