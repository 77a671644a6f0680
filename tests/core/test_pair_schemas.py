"""What the variables of pairs mean: which sign is redundant depends on the metric."""

from __future__ import annotations

from headcount.core.pair_schemas import pair_schemas


def test_the_direction_of_the_metric() -> None:
    accuracy, loss = pair_schemas("accuracy", True), pair_schemas("loss", False)
    assert accuracy["interaction"].direction.startswith("below 0: redundant")
    assert loss["interaction"].direction.startswith("above 0: redundant")
    assert accuracy["loss_interaction"].direction.startswith("above 0: redundant")
    assert accuracy["joint"].direction == "below 0: the heads are needed"
    assert not any(schema.shown for schema in accuracy.values()), "pairs have a figure of their own"
    assert accuracy["kind"].names == ("no significant interaction", "redundant", "synergistic")
