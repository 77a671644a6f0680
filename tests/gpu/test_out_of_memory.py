"""A device that really runs out of memory gets smaller batches, then fewer variants, and the numbers stay the same."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import HeadcountError
from tests import planted
from tests.gpu.device import CUDA_ONLY, DEVICE, GPU, TOLERANCE, Record

pytestmark = [*GPU, CUDA_ONLY]

MEGABYTE = 2**20
LONGEST = 16384


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))
    found.model_max_length = LONGEST
    return found


@pytest.fixture(scope="module")
def model() -> Any:
    """Four layers of eight heads; 1,000 tokens need 4 MB for each tensor of the feed-forward part."""
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=8,
        intermediate_size=1024,
        max_position_embeddings=LONGEST,
        initializer_range=0.08,
        id2label=planted.NAMES,
        label2id={name: number for number, name in planted.NAMES.items()},
    )
    return tf.BertForSequenceClassification(config).eval().to(DEVICE)


def texts(count: int, words: int) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    rows = [" ".join(generator.choice(planted.WORDS[5:], words)) for _ in range(count)]
    return pd.DataFrame({"sentence": rows, "label": np.arange(count) % 2})


def sweep(model: Any, tokenizer: Any, data: pd.DataFrame) -> np.ndarray:
    """The logits of all variants; the plan may take the whole device."""
    options: Any = {"compute": hc.Compute(batch_tokens=10**7, memory="100GB"), "max_length": LONGEST}
    found: np.ndarray = hc.sweep(model, tokenizer, data, task="sst2", how="uniform", **options)["logits"].values
    return found


@contextmanager
def only(more: int) -> Iterator[None]:
    """So many bytes beside those that are in use: the allocator refuses all others."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    total = torch.cuda.mem_get_info(DEVICE)[1]
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved(DEVICE) + more) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def refusals() -> int:
    """How often the allocator had no memory."""
    return int(torch.cuda.memory_stats(DEVICE)["num_ooms"])


def peak_of(model: Any, tokenizer: Any, data: pd.DataFrame) -> tuple[np.ndarray, int]:
    """A sweep with all the memory it wants: its logits, and how much it took beside what was in use."""
    torch.cuda.reset_peak_memory_stats(DEVICE)
    before = torch.cuda.memory_allocated(DEVICE)
    logits = sweep(model, tokenizer, data)
    return logits, torch.cuda.max_memory_allocated(DEVICE) - before


@pytest.mark.parametrize(
    ("count", "words"), [pytest.param(256, 62, id="many texts"), pytest.param(1, 4094, id="one text")]
)
def test_less_is_run_at_once(model: Any, tokenizer: Any, count: int, words: int, record_property: Record) -> None:
    """A third of the memory: many texts are halved, and of one text the variants."""
    data = texts(count, words)
    expected, peak = peak_of(model, tokenizer, data)
    before = refusals()
    with only(peak // 3):
        found = sweep(model, tokenizer, data)
    record_property("peak_mb", peak / MEGABYTE)
    record_property("times_out_of_memory", refusals() - before)
    assert refusals() > before, "the device did not run out of memory"
    assert np.abs(found - expected).max() <= TOLERANCE[torch.float32] * np.abs(expected).max()
    again, _ = peak_of(model, tokenizer, data)
    np.testing.assert_array_equal(again, expected)


MEASURES: Any = {
    "only": ["entropy", "contribution", "position", "special"],
    "text": "sentence",
    "compute": hc.Compute(batch_tokens=10**7),
}


def measured(model: Any, tokenizer: Any, data: pd.DataFrame) -> dict[str, np.ndarray]:
    found = hc.measure(model, tokenizer, data, max_length=LONGEST, **MEASURES)
    return {
        f"{name}/{key}": one.values
        for name in found.children
        for key, one in found[name].data_vars.items()
        if key.startswith("values_")
    }


@pytest.mark.parametrize(
    ("count", "words"), [pytest.param(256, 126, id="many texts"), pytest.param(1, 4094, id="one text")]
)
def test_a_measurement_takes_less_at_once(model: Any, tokenizer: Any, count: int, words: int) -> None:
    """A third of the memory: fewer texts, and of one text fewer heads, at a time."""
    data = texts(count, words)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    used = torch.cuda.memory_allocated(DEVICE)
    expected = measured(model, tokenizer, data)
    peak, before = torch.cuda.max_memory_allocated(DEVICE) - used, refusals()
    with only(peak // 3):
        found = measured(model, tokenizer, data)
    assert refusals() > before, "the device did not run out of memory"
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        np.testing.assert_allclose(found[name], one, rtol=1e-2, atol=1e-3, err_msg=name)


def test_a_measure_that_does_not_fit_says_what_it_needs(model: Any, tokenizer: Any) -> None:
    data = texts(1, LONGEST - 2)
    with (
        only(24 * MEGABYTE),
        pytest.raises(HeadcountError, match=f"one text of {LONGEST} tokens: its maps take 512 MB"),
    ):
        measured(model, tokenizer, data)


def test_where_nothing_fits_the_error_says_so(model: Any, tokenizer: Any) -> None:
    data = texts(1, LONGEST - 2)
    sweep(model, tokenizer, data)  # it fits where nothing is limited
    before = torch.cuda.memory_allocated(DEVICE)
    with only(24 * MEGABYTE), pytest.raises(HeadcountError, match="no memory for one text"):
        sweep(model, tokenizer, data)
    gc.collect()
    assert torch.cuda.memory_allocated(DEVICE) <= before + MEGABYTE, "memory of the failed passes is still held"
    assert np.isfinite(sweep(model, tokenizer, texts(2, 10))).all()
