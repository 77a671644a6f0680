"""What a decoder reads is what the model itself makes of its labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.errors import ModelUnavailable
from headcount.models.decoder_inputs import decoder_inputs
from tests.contracts.zoo import BY_NAME, tiny

FAMILIES = [case.name for case in BY_NAME.values() if case.kind == "pair"]
TARGET = [7, 8, 9, 0, 5, 2]
LANGUAGE = {6: 5, 1: 4, 37: 39}
"""By the length of a target: where mBART finds the token of its language, so many places in as it has no padding."""


def read_by(model: Any, labels: list[int]) -> list[int]:
    """The tokens that reach the decoder when the model is given labels."""
    seen: list[torch.Tensor] = []

    def look(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        seen.append(kwargs["input_ids"] if "input_ids" in kwargs else args[0])

    handle = model.get_decoder().register_forward_pre_hook(look, with_kwargs=True)
    try:
        with torch.no_grad():
            model(input_ids=torch.tensor([[5, 6, 7]]), labels=torch.tensor([labels]))
    finally:
        handle.remove()
    assert len(seen) == 1
    found: list[int] = seen[0][0].tolist()
    return found


def test_the_families() -> None:
    assert set(FAMILIES) == {"bart", "mbart", "t5", "marian"}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("start", [1, 11])
def test_as_the_model_moves_its_labels(name: str, start: int) -> None:
    model = tiny(name, head="AutoModelForSeq2SeqLM")
    model.config.decoder_start_token_id = start
    for target in (TARGET, [4], [0, 0], list(range(3, 40))):
        if name == "mbart" and not any(target):
            continue  # it looks for the last token that is no padding
        found = decoder_inputs(model, target)
        assert found == read_by(model, target)
        assert found == [LANGUAGE[len(target)] if name == "mbart" else start, *target[:-1]]
        assert all(type(one) is int for one in found)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_without_a_head_reads_the_same(name: str) -> None:
    bare = tiny(name)
    assert not hasattr(bare, "prepare_decoder_input_ids_from_labels")
    assert decoder_inputs(bare, TARGET) == decoder_inputs(tiny(name, head="AutoModelForSeq2SeqLM"), TARGET)


def test_mbart_needs_no_start_token() -> None:
    """Its start is the token of the language, the last one of the target; real configs have no other."""
    for head in ("AutoModel", "AutoModelForSeq2SeqLM"):
        model = tiny("mbart", head=head)
        model.config.decoder_start_token_id = None
        assert decoder_inputs(model, [7, 8, 9, 2, 55]) == [55, 7, 8, 9, 2]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_target_is_left_as_it_is(name: str) -> None:
    target = list(TARGET)
    for head in ("AutoModel", "AutoModelForSeq2SeqLM"):
        decoder_inputs(tiny(name, head=head), target)
        assert target == TARGET


@pytest.mark.parametrize(
    "head",
    [
        "AutoModel",
        "AutoModelForSeq2SeqLM",
    ],
)
@pytest.mark.parametrize("name", ["bart", "t5"])  # Marian's config does not allow it
def test_without_a_start_token(name: str, head: str) -> None:
    model = tiny(name, head=head)
    model.config.decoder_start_token_id = None
    with pytest.raises(ModelUnavailable, match=f"{type(model).__name__} has no decoder_start_token_id") as error:
        decoder_inputs(model, TARGET)
    assert "\n" not in str(error.value)
