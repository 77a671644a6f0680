"""Random inputs that a model takes, whatever it reads; that a pass over them is finite is tested beside the pruning."""

from __future__ import annotations

import torch

from headcount.models.example_inputs import example_inputs
from tests.contracts.unknown import make
from tests.contracts.zoo import tiny


def test_sounds_and_spectrograms() -> None:
    waves = example_inputs(make("wav2vec2"))
    assert {name: tuple(tensor.shape) for name, tensor in waves.items()} == {"input_values": (2, 4000)}
    speech = make("whisper").double()
    batch = example_inputs(speech)
    assert batch["input_features"].dtype == torch.float64
    assert speech(**batch).last_hidden_state.shape == (2, 6, 32)


def test_a_model_of_two_towers_gets_both() -> None:
    model = make("clip")
    batch = example_inputs(model)
    assert set(batch) == {"input_ids", "attention_mask", "pixel_values"}
    assert model(**batch).logits_per_image.shape == (2, 2)


def test_how_much_is_padded() -> None:
    assert example_inputs(tiny("bert"))["attention_mask"].sum(1).tolist() == [12, 6]
    assert example_inputs(tiny("bert"), padded=1)["attention_mask"].sum(1).tolist() == [12, 11]
