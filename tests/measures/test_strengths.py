"""Is the strength of a role what its formula says, with an interval of the paired excess?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from headcount.measures.entropy import BROAD, Entropy
from headcount.measures.position import Position
from headcount.measures.strengths import strengths_of_roles

SHAPE = (40, 1, 2, 3)


def drawn(low: float, high: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, SHAPE)


@pytest.fixture
def values() -> dict[str, np.ndarray]:
    """Heads somewhat above chance, which differs between texts; the last text has no previous token."""
    chance = np.broadcast_to(drawn(0.05, 0.3, 0)[:, :, :1, :1], SHAPE).copy()
    found = {"previous": chance + drawn(0, 0.1, 1), "previous_chance": chance}
    found["previous"][-1] = found["previous_chance"][-1] = np.nan
    return found


def test_the_naive_formula(values: dict[str, np.ndarray]) -> None:
    arrays = strengths_of_roles(Position(), values, seed=0)
    excess = values["previous"][:-1] - values["previous_chance"][:-1]
    expected = excess.sum(0) / (1 - values["previous_chance"][:-1]).sum(0)
    np.testing.assert_allclose(arrays["previous_strength"][1], expected, rtol=1e-5)
    p = ttest_1samp(excess, 0, alternative="greater").pvalue
    np.testing.assert_allclose(arrays["previous_strength_p"][1], p, rtol=1e-3, atol=1e-12)


def test_the_interval_is_that_of_the_paired_excess(values: dict[str, np.ndarray]) -> None:
    """Chance differs much between texts, the excess over it does not: unpaired intervals would be far wider."""
    arrays = strengths_of_roles(Position(), values, seed=0)
    value, low, high = (arrays[f"previous_strength{end}"][1] for end in ("", "_low", "_high"))
    assert (low < value).all()
    assert (value < high).all()
    error = np.nanstd(values["previous"] - values["previous_chance"], axis=0) / np.sqrt(SHAPE[0])
    assert ((high - low) < 6 * error).all()
    assert (low > 0).all()


def test_roles_that_cannot_be_asked_are_left_out(values: dict[str, np.ndarray]) -> None:
    assert set(strengths_of_roles(Position(), values, seed=0)) == {
        f"previous_strength{end}" for end in ("", "_low", "_high", "_p")
    }


def test_a_uniform_head_attends_broadly_and_one_at_the_threshold_does_not() -> None:
    uniform = np.ones(SHAPE) * np.linspace(1, 4, SHAPE[0])[:, None, None, None]
    entropy = uniform.copy()
    entropy[..., 0], entropy[..., 1] = BROAD * uniform[..., 0], 0
    found = strengths_of_roles(Entropy(), {"entropy": entropy, "uniform": uniform}, seed=0)["share_of_uniform_strength"]
    np.testing.assert_allclose(found[1][0, 0], [0, -BROAD / (1 - BROAD), 1], atol=1e-5)


def test_one_text_shows_nothing() -> None:
    one = {"previous": np.full((1, 1, 1, 1), 0.9), "previous_chance": np.full((1, 1, 1, 1), 0.1)}
    assert np.isnan(strengths_of_roles(Position(), one, seed=0)["previous_strength_p"][1]).all()
