"""Does the rule of the findings say what its numbers say?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from recipes.evidence import FAILS, HOLDS, OPEN, Parts, by_layer, claim, correlation, lead, resampled, verdict


@pytest.mark.parametrize(
    ("low", "high", "side", "expected"),
    [
        (0.1, 0.4, "above", HOLDS),
        (-0.4, -0.1, "above", FAILS),
        (-0.1, 0.4, "above", OPEN),
        (0.1, 0.4, "below", FAILS),
        (-0.4, -0.1, "below", HOLDS),
        (0.0, 0.4, "above", OPEN),
        (float("nan"), float("nan"), "above", OPEN),
    ],
)
def test_the_rule(low: float, high: float, side: str, expected: str) -> None:
    assert verdict(low, high, 0.0, side) == expected
    assert verdict(low + 3, high + 3, 3.0, side) == expected


def test_a_mean_has_the_interval_of_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(2, 1, (400, 1))
    mean, low, high = resampled(values, lambda means: means[0])
    assert mean == pytest.approx(values.mean())
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_who_is_ahead() -> None:
    """Of four things with means 1, 2, 3 and 3.5 the last two are ahead by 1, the first is behind all others by 1."""
    values = np.array([1, 2, 3, 3.5]) + np.random.default_rng(1).normal(0, 0.5, (300, 4))
    ahead = lead(values, [2, 3])
    assert ahead[0] == pytest.approx(1, abs=0.1)
    assert verdict(*ahead[1:]) == HOLDS
    assert verdict(*lead(values, [0], least=True)[1:]) == HOLDS
    assert verdict(*lead(values, [1, 3])[1:]) == FAILS
    alike = values[:, [3, 3]] + np.random.default_rng(2).normal(0, 0.5, (300, 2))
    assert verdict(*lead(alike, [0])[1:]) == OPEN


def test_texts_without_a_kind_are_left_out() -> None:
    values = np.array([[1.0, np.nan], [1.0, 3.0], [1.0, 3.0]])
    assert lead(values, [1]) == pytest.approx((2, 2, 2))


def test_layers() -> None:
    """Two layers of two heads: means over heads first, then over texts; the last row is of all heads."""
    rng = np.random.default_rng(3)
    values = rng.random((5, 1, 2, 2))
    kinds = rng.random((5, 1, 2, 2, 3))
    dims = ("example", "stack", "layer", "head")
    data = xr.Dataset(
        {"values_cls": (dims, values), "values_attention": ((*dims, "feature"), kinds)},
        coords={"stack": ["encoder"], "feature": ["noun", "verb", "sep"]},
    )
    table = by_layer(data).set_index(["variable", "kind", "layer"])["mean"]
    assert table["cls", "", 1] == pytest.approx(values[:, 0, 1].mean())
    assert table["cls", "", -1] == pytest.approx(values.mean())
    assert table["attention", "sep", 0] == pytest.approx(kinds[:, 0, 0, :, 2].mean())
    assert len(table) == 3 + 9


def test_a_claim_tells_its_number_and_its_verdict() -> None:
    row = claim("a gain", (0.5, 0.2, 0.9), bound=0.1, task="rte")
    assert row == {
        "finding": "a gain",
        "task": "rte",
        "value": 0.5,
        "low": 0.2,
        "high": 0.9,
        "side": "above",
        "bound": 0.1,
        "verdict": HOLDS,
    }


def test_correlation() -> None:
    first = np.random.default_rng(4).normal(size=144)
    second = first + np.random.default_rng(5).normal(size=144)
    value, low, high = correlation(first, second)
    assert value == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert low < value < high
    assert verdict(low, high) == HOLDS


def test_parts_go_on(tmp_path: Path) -> None:
    """A part that was not finished is no part; those that were are joined, the later ones below."""
    parts = Parts(tmp_path / "out")
    assert not parts.done("rte")
    parts.save("rte", {"sweep": [pd.DataFrame({"score": [1.0]}), pd.DataFrame({"score": [2.0]})]})
    (tmp_path / "out" / "parts" / "mrpc").mkdir()
    (tmp_path / "out" / "parts" / "mrpc" / "sweep.csv").write_text("score\n9\n")
    assert Parts(tmp_path / "out").done("rte")
    assert not parts.done("mrpc")
    parts.save("sst2", {"sweep": [pd.DataFrame({"score": [3.0]})]})
    assert pd.read_csv(tmp_path / "out" / "sweep.csv")["score"].tolist() == [1, 2, 3]
