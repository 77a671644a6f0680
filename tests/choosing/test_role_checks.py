"""The sets that are ablated on held-out examples, and what the losses without them say."""

from __future__ import annotations

import numpy as np

from headcount.choosing.role_checks import CHECKED, WHOLE, _summarise, plan_checks
from headcount.core.heads import Layout

LAYOUT = Layout.even({"encoder": (2, 4)})


def planned(interfering: int, irrelevant: int, randoms: int = 3) -> tuple[object, dict[object, float]]:
    numbers = [1.0] * interfering + [2.0] * irrelevant
    roles = dict(zip(LAYOUT, numbers + [np.nan] * (LAYOUT.count - len(numbers)), strict=True))
    return plan_checks(roles, LAYOUT, randoms, 0), roles  # type: ignore[return-value]


def test_every_role_has_its_random_sets() -> None:
    checks, _ = planned(1, 5)
    assert checks.names[0] == WHOLE  # type: ignore[attr-defined]
    variants = checks.variants  # type: ignore[attr-defined]
    assert [len(heads) for heads in variants[1:]] == [1, 1, 1, 1, 5, 5, 5, 5]
    for place in (1, 5):
        layers = sorted(head.layer for head in variants[place])
        assert all(sorted(head.layer for head in each) == layers for each in variants[place : place + 4])


def test_a_role_without_heads_is_not_run() -> None:
    checks, _ = planned(0, 2)
    assert len(checks.variants) == 5  # type: ignore[attr-defined]
    losses = np.ones((30, 5))
    found = _summarise(checks, 0, {"values_loss": losses})  # type: ignore[arg-type]
    assert found["verdict"][1].tolist() == ["no heads", "confirmed"]
    assert np.isnan(found["change"][1][0])


def test_changes_and_their_comparison_with_random_heads() -> None:
    checks, _ = planned(1, 2, randoms=2)
    generator = np.random.default_rng(0)
    base = generator.random((200, 1)) + 1
    shifts = np.array([0, -0.3, 0.1, 0.2, 0.05, 0.5, 0.6])
    losses = base + shifts + 0.01 * generator.standard_normal((200, 7)) * (shifts != 0)
    found = _summarise(checks, 0, {"values_loss": losses})  # type: ignore[arg-type]
    changes = (losses - losses[:, :1]).mean(0)
    np.testing.assert_allclose(found["change"][1], changes[[1, 4]])
    np.testing.assert_allclose(found["random_change"][1], [changes[2:4].mean(), changes[5:7].mean()])
    np.testing.assert_allclose(found["beyond_random"][1], found["change"][1] - found["random_change"][1])
    assert found["verdict"][1].tolist() == ["confirmed", "refuted"]
    assert found["checked"][1].tolist() == list(CHECKED)
    assert (found["change_low"][1] < found["change"][1]).all()
