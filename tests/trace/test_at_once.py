"""How many batches run at once: within the memory, and one where a pass leaves something in the model."""

from __future__ import annotations

import pytest
import torch
import transformers as tf

from headcount.trace.at_once import CPU_MEMORY, batches_at_once, bytes_per_token
from tests.contracts.zoo import tiny


def test_memory_is_shared_by_the_batches() -> None:
    model = tiny("bert")
    assert batches_at_once(model, 100, 1000) == 10
    assert batches_at_once(model, 100, 99) == 1
    assert batches_at_once(model, CPU_MEMORY // 3) == 3


def test_a_device_that_is_no_cpu_runs_one() -> None:
    with torch.device("meta"):
        model = tf.BertModel(tf.BertConfig(num_hidden_layers=1))
    assert batches_at_once(model, 1) == 1


@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        ({"rope_type": "default", "rope_theta": 1e4}, 10),
        ({"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}, 1),
        (
            {
                "rope_type": "longrope",
                "rope_theta": 1e4,
                "factor": 2.0,
                "original_max_position_embeddings": 8,
                "long_factor": [2.0] * 4,
                "short_factor": [1.0] * 4,
            },
            1,
        ),
    ],
    ids=lambda value: value["rope_type"] if isinstance(value, dict) else "",
)
def test_frequencies_that_a_pass_changes(rope: dict[str, object], expected: int) -> None:
    config = tf.LlamaConfig(
        vocab_size=9,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=8,
        max_position_embeddings=16,
        rope_parameters=rope,
    )
    assert batches_at_once(tf.LlamaModel(config), 1, 10) == expected


def test_what_a_token_needs() -> None:
    model = tiny("bert")
    assert bytes_per_token(model, layers=2) == 2 * bytes_per_token(model)
    assert bytes_per_token(model, vocabulary=True) > bytes_per_token(model)
    assert bytes_per_token(model) >= model.config.hidden_size * model.dtype.itemsize
