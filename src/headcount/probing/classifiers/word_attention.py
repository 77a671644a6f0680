"""The attention between the words of each sentence, and ROOT, of all heads at once: what classifiers learn from.

It is the only attention that a measurement keeps: between words, in float16, in memory alone, and never more than
`MOST_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.heads import Head, Layout
from headcount.core.probe_names import causal_stacks
from headcount.data.batches import by_length, plan_batches
from headcount.engines.workers import spread
from headcount.errors import DataProblem, HeadcountError
from headcount.measures.measurement import Measurement
from headcount.models.fingerprint import device_label
from headcount.probing.words.between_words import between_words
from headcount.probing.words.see_words import see_words
from headcount.probing.words.sentences import Sentences
from headcount.trace.anatomy import read_anatomy
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.memory import spell_bytes, try_in_memory
from headcount.trace.not_finite import NotFiniteRow, not_finite

MOST_BYTES = 4 * 2**30
"""Of all sentences together."""
BYTES = torch.float16.itemsize


@dataclass(frozen=True)
class RootedWords:
    """The words of each token, and which words are known, with ROOT as word 0: all special tokens of the sentence."""

    words: list[list[int | None]]
    known: list[list[bool]]

    @property
    def sizes(self) -> np.ndarray:
        return np.array([len(flags) for flags in self.known])

    @property
    def has_root(self) -> bool:
        """Whether any sentence has special tokens; without them, nothing attends to ROOT."""
        return any(flags[0] for flags in self.known)


def add_root(sentences: Sentences) -> RootedWords:
    """The words of encoded sentences, one further each; the special tokens around them are word 0."""
    words: list[list[int | None]] = []
    known = []
    for numbers, facts, flags in zip(sentences.words, sentences.inputs.facts, sentences.known, strict=True):
        special = {token for token in facts.classes["special"] if numbers[token] is None}
        words.append(
            [0 if token in special else None if word is None else word + 1 for token, word in enumerate(numbers)]
        )
        known.append([bool(special), *flags])
    return RootedWords(words, known)


def heads_looked_at(layout: Layout) -> list[Head]:
    """All heads of a model; of an encoder-decoder, those of the encoder."""
    return [head for head in layout if causal_stacks(list(layout.stacks)) or head.stack == "encoder"]


def attention_bytes(sizes: np.ndarray, heads: int) -> int:
    """What the attention between words takes."""
    return int((sizes.astype(np.int64) ** 2).sum()) * heads * BYTES


def check_bytes(sizes: np.ndarray, heads: int, models: int) -> int:
    """What the attention of so many models takes, in bytes; an error where that is too much."""
    needed = models * attention_bytes(sizes, heads)
    if needed > MOST_BYTES:
        fitting = int(len(sizes) * MOST_BYTES / needed)
        raise DataProblem(
            f"the attention between the words of {len(sizes):,} sentences takes {spell_bytes(needed)}; expected at "
            f"most {spell_bytes(MOST_BYTES)}; give fewer sentences, such as limit={fitting}"
        )
    return needed


def collect_attention(
    measurement: Measurement,
    rooted: RootedWords,
    model: PreTrainedModel,
    source: str,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[Tensor]:
    """For each sentence [M, M, K] in float16: the attention from word to word, ROOT first, of the `heads_looked_at`.

    Zero from and to words that are not known, and where a mask forbids it: in a decoder, to the words that follow.
    `on_progress` is called with the number of sentences that are done.
    """
    lengths = measurement.inputs.lengths
    order = by_length(lengths)
    batches = [order[start:stop] for start, stop in plan_batches(lengths[order], measurement.tokens)]
    size = measurement.tokens * bytes_per_token(model, measurement.setting.language is not None)
    collected: dict[int, Tensor] = {}
    with closing(
        spread(
            lambda numbers: _in_memory(measurement, rooted, model, source, numbers),
            batches,
            batches_at_once(model, size),
        )
    ) as results:
        for numbers, maps in zip(batches, results, strict=True):
            collected |= dict(zip(map(int, numbers), maps, strict=True))
            on_progress(len(collected))
    return [collected[number] for number in range(len(lengths))]


def _in_memory(
    measurement: Measurement, rooted: RootedWords, model: PreTrainedModel, source: str, numbers: np.ndarray
) -> list[Tensor]:
    """The attention of a batch; where memory does not suffice, of half the sentences at a time."""
    try:
        maps = try_in_memory(lambda: _between(measurement, rooted, model, source, numbers))
    except NotFiniteRow as error:
        number = numbers[error.row]
        batch, _, _ = measurement.batch(np.array([number]), links=False)
        row = measurement.inputs.ids[number]
        raise not_finite(model, read_anatomy(model), batch, row, error.subject) from error
    if maps is not None:
        return maps
    if len(numbers) == 1:
        raise HeadcountError(
            f"no memory on {device_label(model)} for one sentence of {measurement.inputs.lengths[numbers[0]]} tokens; "
            "leave long sentences out, or take a smaller model or another device"
        )
    middle = len(numbers) // 2
    parts = (_in_memory(measurement, rooted, model, source, part) for part in (numbers[:middle], numbers[middle:]))
    return [attention for part in parts for attention in part]


def _between(
    measurement: Measurement, rooted: RootedWords, model: PreTrainedModel, source: str, numbers: np.ndarray
) -> list[Tensor]:
    layers = see_words(
        measurement,
        rooted.words,
        rooted.known,
        numbers,
        model,
        source,
        lambda view, pieces: between_words(view, pieces).half(),
    )
    whole = torch.cat([layers[key] for key in sorted(layers)], 1).permute(0, 2, 3, 1)
    sizes = rooted.sizes[numbers]
    return [whole[row, :own, :own].clone() for row, own in enumerate(sizes)]
