"""Is a difference between two outputs seen, rounding let pass, and is the batch one that the model takes?"""

from __future__ import annotations

import pytest
import torch

from headcount.errors import NotFinite, PruneMismatch
from headcount.models.example_inputs import example_inputs
from headcount.pruning.verify import TOLERANCE, Check, check_outputs, outputs_of
from tests.contracts.pruned import whole
from tests.contracts.zoo import BY_NAME, CASES, VOCABULARY, Case, inputs, tiny


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_rounding_passes_and_more_does_not(dtype: torch.dtype) -> None:
    outputs = torch.linspace(-2, 2, 101, dtype=dtype)
    found = check_outputs(outputs, outputs)
    assert found.difference == 0
    assert found.passed
    assert found.tolerance == TOLERANCE[dtype]
    moved = outputs.double().clone()
    moved[50] += TOLERANCE[dtype] / 4
    assert check_outputs(outputs, moved.to(dtype)).passed
    for wrong in (0.5, 3.0):
        other = outputs.clone()
        other[50] += wrong + 100 * TOLERANCE[dtype]
        with pytest.raises(PruneMismatch, match="more than rounding; nothing was changed") as caught:
            check_outputs(outputs, other)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_match(value: float) -> None:
    outputs = torch.ones(3, 4)
    other = outputs.clone()
    other[1, 2] = value
    with pytest.raises(PruneMismatch):
        check_outputs(outputs, other)
    with pytest.raises(NotFinite, match="nothing was changed"):
        check_outputs(other, outputs)


def test_one_number_that_is_huge_hides_nothing() -> None:
    """Marian gives its padding token -1e9 for ever: what the others are off by must be seen."""
    outputs = torch.ones(10)
    outputs[0] = -1e9
    other = outputs.clone()
    other[1] += 1
    with pytest.raises(PruneMismatch):
        check_outputs(outputs, other)


def test_large_outputs_round_more() -> None:
    outputs = torch.full((100,), 1000.0)
    assert check_outputs(outputs, outputs + 0.01).passed
    with pytest.raises(PruneMismatch):
        check_outputs(outputs, outputs + 50)


def test_nothing_to_compare() -> None:
    assert check_outputs(torch.ones(0), torch.ones(0)).passed


def test_other_shapes_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="size"):
        check_outputs(torch.ones(3), torch.ones(4))


def test_in_words() -> None:
    assert "differ by at most 3.0e-06" in str(Check(3e-6, 1.5, 1e-4))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_batch_that_the_model_takes(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    batch = example_inputs(model)
    again = example_inputs(model)
    assert all(torch.equal(batch[key], again[key]) for key in batch), "the same every time"
    outputs = outputs_of(model, batch)
    assert torch.isfinite(outputs).all()
    if case.kind == "vision":
        return
    assert batch["attention_mask"].sum(1).tolist() == [12, 6]
    real = batch["input_ids"][batch["attention_mask"].bool()]
    assert int(real.min()) >= 3, "none of the special ones"
    assert int(batch["input_ids"].max()) < VOCABULARY
    if case.kind != "pair":
        assert len(outputs) == 18, "padding is not compared"


def test_it_draws_nothing_and_leaves_the_mode() -> None:
    model, drawn = tiny("bert").train(), torch.random.get_rng_state()
    outputs = outputs_of(model, example_inputs(model))
    assert torch.equal(drawn, torch.random.get_rng_state())
    assert model.training
    assert not outputs.requires_grad


def test_padding_is_left_out() -> None:
    case = BY_NAME["bert"]
    model, batch = tiny("bert"), inputs(case, "right")
    other = dict(batch)
    other["input_ids"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, 7)
    assert torch.equal(outputs_of(model, batch), outputs_of(model, other))


@pytest.mark.parametrize(
    ("name", "head", "shape"),
    [
        ("bert", "AutoModelForSequenceClassification", (2, 3)),
        ("bert", "AutoModelForTokenClassification", (18, 3)),
        ("bert", "AutoModelForMultipleChoice", (2, 2)),
        ("gpt2", "AutoModelForCausalLM", (18, VOCABULARY)),
        ("t5", "AutoModelForSeq2SeqLM", (2, 6, VOCABULARY)),
        ("marian", "AutoModelForSeq2SeqLM", (2, 6, VOCABULARY)),
        ("bart", "AutoModelForSequenceClassification", (2, 3)),
        ("vit", "AutoModelForImageClassification", (2, 3)),
        ("vit", "AutoModel", (2, 10, 32)),
    ],
)
def test_outputs_of_models_with_a_head(name: str, head: str, shape: tuple[int, ...]) -> None:
    model = whole(name, head=head)
    assert outputs_of(model, example_inputs(model)).shape == shape


def test_half_precision_images() -> None:
    model = tiny("vit").bfloat16()
    assert example_inputs(model)["pixel_values"].dtype == torch.bfloat16
    assert torch.isfinite(outputs_of(model, example_inputs(model))).all()
