"""Names in the results of probing tell apart what they name."""

from __future__ import annotations

from headcount.core.probe_names import (
    ALL,
    ATTENTION,
    BOTH,
    DISTANCE,
    RANDOM,
    RIGHT_BRANCHING,
    TOKENIZER_LOST,
    causal_stacks,
)


def test_names_differ() -> None:
    classifiers = (DISTANCE, ATTENTION, BOTH, RIGHT_BRANCHING, ATTENTION + RANDOM, BOTH + RANDOM)
    assert len({ALL, *classifiers, *TOKENIZER_LOST}) == 1 + len(classifiers) + len(TOKENIZER_LOST)


def test_only_a_model_without_an_encoder_is_causal() -> None:
    assert causal_stacks(["decoder"])
    assert not causal_stacks(["encoder"])
    assert not causal_stacks(["encoder", "decoder", "cross"])
