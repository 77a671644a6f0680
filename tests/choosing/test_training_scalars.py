"""Trackers get as many numbers as were asked for, under names without gaps."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.choosing.training_importance import TrainingImportance
from headcount.choosing.training_rows import Row
from headcount.choosing.training_scalars import agreement, scalars
from headcount.core.heads import Layout

LAYOUT = Layout({"encoder": ((0, 1), (1,)), "decoder": ((0,),)})
MEASUREMENT = TrainingImportance("michel")


def row(step: int, *values: float) -> Row:
    array = np.full((2, 2, 2), np.nan, np.float32)
    array[0, 0], array[0, 1, 1], array[1, 0, 0] = values[:2], values[2], values[3]
    return Row(step, {"michel": array, "importance": array}, 0.25)


@pytest.mark.parametrize(("log", "count"), [("summary", 2), ("layers", 5), ("heads", 9)])
def test_as_many_as_were_asked_for(log: str, count: int) -> None:
    found = scalars(MEASUREMENT, row(0, 1, 2, 3, 4), None, LAYOUT, log)
    assert len(found) == count
    assert found["stability"] == 0.25
    assert all(np.isfinite(value) for value in found.values()), "only heads that exist"
    if log == "heads":
        assert found["importance/encoder.L1H1"] == 3
        assert found["share/decoder.L0"] == pytest.approx(0.4)


def test_agreement_with_the_measurement_before() -> None:
    first, reversed_, same = row(0, 1, 2, 3, 4), row(1, 4, 3, 2, 1), row(2, 8, 6, 4, 2)
    assert agreement(MEASUREMENT, first, reversed_) == pytest.approx(-1)
    assert scalars(MEASUREMENT, same, reversed_, LAYOUT, "summary")["agreement"] == pytest.approx(1)
    assert "agreement" not in scalars(MEASUREMENT, first, None, LAYOUT, "summary")
