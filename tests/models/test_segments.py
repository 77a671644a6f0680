"""Which models are told the texts of a pair."""

from __future__ import annotations

import pytest

from headcount.models.segments import has_segments
from tests.contracts.zoo import tiny


@pytest.mark.parametrize(("name", "expected"), [("bert", True), ("distilbert", False), ("gpt2", False)])
def test_token_types(name: str, expected: bool) -> None:
    assert has_segments(tiny(name)) is expected


def test_a_single_type_tells_nothing() -> None:
    model = tiny("roberta")
    model.config.type_vocab_size = 1
    assert not has_segments(model)
