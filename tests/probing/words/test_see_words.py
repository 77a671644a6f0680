"""One pass over some sentences: every layer that is looked at, for the sentences that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headcount.data.read_annotated import read_annotated
from headcount.measures.measurement import Measurement, find_setting
from headcount.probing.words.between_words import between_words
from headcount.probing.words.see_words import see_words
from headcount.probing.words.sentences import encode_sentences
from headcount.trace.anatomy import read_anatomy
from tests.measures.tiny import causal, masked, translator
from tests.probing.treebank import sentences


@pytest.mark.parametrize(("make", "stack"), [(masked, "encoder"), (causal, "decoder"), (translator, "encoder")])
def test_a_sentence_in_a_batch_is_seen_as_it_is_alone(make: Any, stack: str) -> None:
    model, tokenizer = make()
    model = model.double()
    encoded = encode_sentences(read_annotated(sentences(6)), model, tokenizer, None, 0, 40)
    anatomy = read_anatomy(model)
    setting = find_setting(model, tokenizer, anatomy, encoded.inputs)
    measurement = Measurement(model, tokenizer, anatomy, encoded.inputs, setting, 500, 0, None, None, None, None)

    def look(numbers: list[int]) -> dict[Any, torch.Tensor]:
        return see_words(measurement, encoded.words, encoded.known, np.array(numbers), model, "mean", between_words)

    together = look([4, 1, 2])
    assert {name for name, _ in together} == {stack}
    assert len(together) == len([block for block in anatomy if block.stack == stack])
    for row, number in enumerate([4, 1, 2]):
        size = len(encoded.known[number])
        for key, alone in look([number]).items():
            torch.testing.assert_close(together[key][row, :, :size, :size], alone[0])
