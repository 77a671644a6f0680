"""A measurement keeps no attention maps: its peak memory is that of a pass and of one layer's maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf

import headcount as hc
from headcount.measures.catalogue import MEASURES
from tests.gpu.device import CUDA_ONLY, DEVICE, DTYPE, GPU, Record
from tests.measures.planted import WORDS, planted_attention

pytestmark = [*GPU, CUDA_ONLY]

LAYERS, HEADS, TOKENS, BATCH = 6, 8, 512, 8
MEGABYTE = 2**20


def make_model(dtype: torch.dtype) -> Any:
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=256,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=1024,
        max_position_embeddings=TOKENS,
        initializer_range=0.1,
    )
    return tf.BertForMaskedLM(config).eval().to(DEVICE, dtype)


def make_tokenizer() -> Any:
    tokenizer = planted_attention()[1]
    tokenizer.model_max_length = TOKENS
    return tokenizer


def annotated(count: int) -> pd.DataFrame:
    """Sentences that all have `TOKENS` tokens, with tags and links at random: every measure has work to do."""
    generator = np.random.default_rng(7)
    words = [word for word in WORDS if word.isalpha()]
    length, rows = TOKENS - 2, []
    for _ in range(count):
        rows.append(
            {
                "tokens": [str(word) for word in generator.choice(words, length)],
                "upos": [str(tag) for tag in generator.choice(["NOUN", "VERB", "PRON", "ADP"], length)],
                "heads": [0, *(int(generator.integers(1, number + 1)) for number in range(1, length))],
                "deprels": ["root", *(str(one) for one in generator.choice(["nsubj", "obj", "amod"], length - 1))],
            }
        )
    return pd.DataFrame(rows)


def peak_of(work: Callable[[], Any]) -> int:
    """Bytes that the allocator gave out at most, after a run that loads whatever is loaded once."""
    work()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats(DEVICE)
    work()
    return int(torch.cuda.max_memory_allocated(DEVICE))


@DTYPE
def test_it_does_not_grow_with_the_number_of_texts(dtype: torch.dtype, record_property: Record) -> None:
    """All measures, gradients and distances among them, over two batches and over sixteen."""
    model, tokenizer, data = make_model(dtype), make_tokenizer(), annotated(64)
    peaks = {}
    for count in (8, 64):
        texts = data.head(count)
        peaks[count] = peak_of(
            lambda texts=texts: hc.measure(
                model, tokenizer, texts, compute=hc.Compute(batch_tokens=4 * TOKENS), distance_examples=4
            )
        )
        record_property(f"peak_mb_{count}_texts", peaks[count] / MEGABYTE)
    assert peaks[64] <= 1.02 * peaks[8]


@DTYPE
def test_it_holds_the_maps_of_one_layer(dtype: torch.dtype, record_property: Record) -> None:
    """That layer's map, its scores in the model's dtype, a copy at most: never the maps of all layers."""
    model, tokenizer, data = make_model(dtype), make_tokenizer(), annotated(BATCH)
    options: Any = {"compute": hc.Compute(batch_tokens=BATCH * TOKENS)}
    known = hc.measure(model, tokenizer, data, **options, distance_examples=1).children
    names = [name for name in known if MEASURES[name].kind == "layers"]
    assert len(names) >= 9
    ids = torch.randint(5, len(WORDS), (BATCH, TOKENS), device=DEVICE)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}

    def plain() -> None:
        with torch.no_grad():
            model(**batch)

    alone = peak_of(plain)
    measured = peak_of(lambda: hc.measure(model, tokenizer, data, only=names, **options))
    kept = peak_of(lambda: hc.observe(model, batch))  # keeps the maps of all layers
    maps = BATCH * HEADS * TOKENS * TOKENS * 4  # in float32, whatever the dtype of the model
    record_property("plain_mb", alone / MEGABYTE)
    record_property("measured_mb", measured / MEGABYTE)
    record_property("observed_mb", kept / MEGABYTE)
    record_property("one_layers_maps_mb", maps / MEGABYTE)
    assert alone < measured <= alone + 2.5 * maps
    assert measured < kept
