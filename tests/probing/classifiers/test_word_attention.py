"""Attention between words with ROOT, equal to a loop over pieces; what it takes, and that it is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.core.heads import Layout
from headcount.errors import DataProblem, HeadcountError, NotFinite
from headcount.measures.measurement import Measurement, find_setting
from headcount.probing.classifiers import word_attention
from headcount.probing.classifiers.word_attention import add_root, check_bytes, collect_attention, heads_looked_at
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.words.sentences import Sentences, encode_sentences
from headcount.trace.anatomy import read_anatomy
from tests.measures.tiny import causal, masked, translator
from tests.probing.treebank import sentences


def prepared(model: Any, tokenizer: Any, count: int = 6) -> tuple[Measurement, Sentences]:
    trees = DependencyTrees().read(sentences(count), tokenizer, 64)
    encoded = encode_sentences(trees, model, tokenizer, None, 0, 64)
    anatomy = read_anatomy(model)
    setting = find_setting(model, tokenizer, anatomy, encoded.inputs)
    return Measurement(model, tokenizer, anatomy, encoded.inputs, setting, 40, 0, None, None, None, None), encoded


def test_equal_to_a_loop_over_pieces() -> None:
    model, tokenizer = masked()
    measurement, encoded = prepared(model, tokenizer)
    rooted = add_root(encoded)
    assert rooted.has_root
    told: list[int] = []
    collected = collect_attention(measurement, rooted, model, "mean", told.append)
    assert told[-1] == len(collected) == 6
    for number, attention in enumerate(collected):
        row = {key: torch.tensor([value]) for key, value in encoded.inputs.rows[number].items()}
        maps = hc.observe(model, row).maps["encoder"].double().numpy()[:, :, 0]
        maps = maps.reshape(-1, *maps.shape[2:])
        pieces = [
            [token for token, word in enumerate(rooted.words[number]) if word == candidate]
            for candidate in range(len(rooted.known[number]))
        ]
        assert pieces[0] == [0, maps.shape[-1] - 1], "[CLS] and [SEP]"
        for i, own in enumerate(pieces):
            for j, others in enumerate(pieces):
                expected = np.mean([maps[:, token, others].sum(-1) for token in own], 0)
                np.testing.assert_allclose(attention[i, j].numpy(), expected, atol=1e-3)


def test_a_decoder_attends_to_nothing_that_follows() -> None:
    model, tokenizer = causal()
    measurement, encoded = prepared(model, tokenizer)
    rooted = add_root(encoded)
    assert not rooted.has_root
    for attention in collect_attention(measurement, rooted, model, "mean"):
        later = torch.ones(attention.shape[:2]).triu(1).bool()
        assert not attention[later].any()
        assert not attention[0].any()
        assert not attention[:, 0].any(), "no special tokens: nothing is known about ROOT"
        assert attention[1:].sum() > 0


def test_of_an_encoder_decoder_the_encoder() -> None:
    model, tokenizer = translator()
    measurement, encoded = prepared(model, tokenizer)
    heads = heads_looked_at(measurement.anatomy.layout)
    assert {head.stack for head in heads} == {"encoder"}
    collected = collect_attention(measurement, add_root(encoded), model, "mean")
    assert {attention.shape[-1] for attention in collected} == {len(heads)}


def test_half_of_the_sentences_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = masked()
    measurement, encoded = prepared(model, tokenizer)
    rooted = add_root(encoded)
    expected = collect_attention(measurement, rooted, model, "mean")
    whole = word_attention._between

    def between(*arguments: Any) -> Any:
        if len(arguments[-1]) > 1:
            raise MemoryError
        return whole(*arguments)

    monkeypatch.setattr(word_attention, "_between", between)
    for one, other in zip(collect_attention(measurement, rooted, model, "mean"), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-4)

    def never(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(word_attention, "_between", never)
    with pytest.raises(HeadcountError, match="no memory on cpu for one sentence of"):
        collect_attention(measurement, rooted, model, "mean")


def test_a_row_that_is_not_finite_is_named() -> None:
    model, tokenizer = masked()
    measurement, encoded = prepared(model, tokenizer)
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[:] = torch.inf
    with pytest.raises(NotFinite, match=r"row \d: .* not finite"):
        collect_attention(measurement, add_root(encoded), model, "mean")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.array([5, 11])
    heads = len(heads_looked_at(Layout.even({"encoder": (2, 3)})))
    assert check_bytes(sizes, heads, 2) == 2 * (25 + 121) * 6 * 2
    monkeypatch.setattr(word_attention, "MOST_BYTES", 2000)
    with pytest.raises(DataProblem, match="of 2 sentences takes .* such as limit=1"):
        check_bytes(sizes, heads, 2)
