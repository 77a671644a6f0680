from __future__ import annotations

import pytest
import xarray as xr

from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at
from tests.measures.planted import ROLES, SENTENCES


def test_is_the_formula(texts: Texts) -> None:
    texts.compare("spread", lambda text: naive.spread(text.maps))


@pytest.fixture(scope="module")
def found(planted_texts: Texts) -> xr.Dataset:
    return planted_texts.measured("spread")["spread"].to_dataset()


def test_planted_heads(found: xr.Dataset, planted_texts: Texts) -> None:
    for row in range(len(SENTENCES)):
        length = len(planted_texts.seen(row))
        confidence, distance = found.values_confidence.sel(example=row), found.values_distance.sel(example=row)
        # The one token with no token before (after) it attends to all alike: (length - 1) / 2 away on average.
        step = (length - 1) * (1 + 1 / 2) / length
        expected = {
            "previous": ((length - 1 + 1 / length) / length, step),
            "next": ((length - 1 + 1 / length) / length, step),
            "same": (1, 0),
            "first": (1, (length - 1) / 2),
            "separator": (1, (length - 1) / 2),
        }
        for role, (sure, far) in expected.items():
            assert at(confidence, ROLES[role]) == pytest.approx(sure, abs=2e-3)
            assert at(distance, ROLES[role]) == pytest.approx(far, abs=0.02)
        for place in UNIFORM:
            assert at(confidence, place) == pytest.approx(1 / length, abs=1e-6)
            assert at(distance, place) == pytest.approx((length**2 - 1) / (3 * length), abs=1e-4)


def test_focused_heads(found: xr.Dataset) -> None:
    for role in ("previous", "next", "same", "first", "separator"):
        assert at(found.focused, ROLES[role]) == 1
    for place in UNIFORM:
        assert at(found.focused, place) == 0
