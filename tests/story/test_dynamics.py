"""When the order of heads settles, as a sentence."""

from __future__ import annotations

import xarray as xr

from headcount.story.dynamics import dynamics_sentences, settling_sentence


def hand_made(agreement: list[float]) -> xr.Dataset:
    return xr.Dataset({"agreement": ("checkpoint", agreement)}, {"checkpoint": [0, 10, 20]})


def test_it_says_when_the_order_settles() -> None:
    assert settling_sentence(hand_made([0.2, 0.95, 1.0])).startswith(
        "From step 10 of 20 on the order of heads agrees with the last (rank correlation 0.9 or more)"
    )


def test_the_last_checkpoint_is_no_proof() -> None:
    assert "does not settle before the end (rank correlation below 0.9 until step 20)" in settling_sentence(
        hand_made([0.2, 0.3, 1.0])
    )


def test_of_a_training_it_says_how_far_the_examples_go() -> None:
    curves = hand_made([0.2, 0.95, 1.0]).assign_attrs(examples=32)
    measured = curves.assign(stability=("checkpoint", [0.1, 0.2, 0.43]))
    few = (
        "At the last step, two halves of the 32 examples order the heads with a rank correlation of 0.43: more examples"
    )
    assert dynamics_sentences(curves) == [settling_sentence(curves)]
    assert dynamics_sentences(measured)[1].startswith(few)
    enough = curves.assign(stability=("checkpoint", [0.1, 0.2, 0.95]))
    assert dynamics_sentences(enough)[1].endswith("a rank correlation of 0.95.")
    assert dynamics_sentences(measured.isel(checkpoint=[0])) == [], "one measurement settles nothing"


def test_it_names_gates() -> None:
    gates = hand_made([0.2, 0.95, 1.0]).assign_attrs(what="gates")
    assert settling_sentence(gates).startswith("From step 10 of 20 on the order of heads by learned gates agrees with")
    assert settling_sentence(gates.isel(checkpoint=[0, 2])).startswith("The order of heads by learned gates does not")
