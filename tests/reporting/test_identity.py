"""Is a study named as it is, and do its four numbers stand beside what they must be compared with?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.reporting.identity import find_identity, find_key_numbers, find_shared_keys, model_before, scored_model
from headcount.reporting.view import View, read_view
from tests.reporting import studies


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    return read_view(studies.classifier_study(tmp_path_factory.mktemp("identity") / "study"))


def test_the_model_its_size_and_the_task(view: View) -> None:
    told = find_identity(view)
    assert told["shape"] == "3 x 4 heads"
    assert told["asks"] == "Is the review positive or negative?"
    assert scored_model(view) == "models/tuned"
    cost = next(iter(view.of("cost").values()))
    assert told["parameters"] in (None, *cost["parameters"].values.tolist())


def test_the_four_numbers_are_the_studys(view: View) -> None:
    heads, baseline, significant, cut = find_key_numbers(view)
    sweep = view.results["sweep/head-uniform"]
    assert heads["value"] == "12"
    assert baseline["value"] == f"{float(sweep['baseline']):.2f}"
    assert baseline["spread"] == f"[{float(sweep['baseline_low']):.2f}, {float(sweep['baseline_high']):.2f}]"
    labels = sweep["label"].values
    assert baseline["beside"].endswith(f"commonest answer: {max(labels.mean(), 1 - labels.mean()):.2f}")
    assert significant["value"] == f"{int((sweep['q'] < 0.05).sum())} of 12"
    curve = view.results["pruning/curve@prune-confirming"]
    if cut["value"] == "0":
        assert "not even by its point estimate" in cut["beside"]
        return
    count = int(cut["title"].split("without ")[1].split(" of")[0])
    step = curve.isel(order=0).sel(removed=count)
    assert float(cut["value"]) == pytest.approx(float(step["delta"]), abs=0.0051)
    randoms = [name for name in map(str, curve["order"].values) if name.startswith("random ")]
    mean = float(curve["delta"].sel(order=randoms, removed=count).mean())
    assert f"random order{'s' if len(randoms) > 1 else ''}: {mean:+.2f}" in cut["beside"]


def test_what_is_missing_names_the_command(tmp_path: Path) -> None:
    numbers = find_key_numbers(read_view(studies.partial_study(tmp_path / "maps")))
    assert numbers[0]["value"] == "4"
    assert all("headcount" in one["missing"] for one in numbers[1:])
    assert find_key_numbers(read_view(studies.empty_study(tmp_path / "empty"))) == []


def test_the_model_before_fine_tuning(view: View) -> None:
    assert model_before(view) == "models/before"


def test_what_is_not_known_is_not_said(tmp_path: Path) -> None:
    maps = read_view(studies.partial_study(tmp_path / "maps"))
    assert model_before(maps) == ""
    assert find_shared_keys(maps) == {}


def test_the_day_is_that_of_the_newest_result(tmp_path: Path) -> None:
    path = studies.partial_study(tmp_path / "study")
    for file in [path, *path.glob("*/*/zarr.json")]:
        os.utime(file, (86_400 * 365, 86_400 * 365))
    assert "197" in read_view(path).date
    os.utime(next(path.glob("*/*/zarr.json")), (1_000_000_000, 1_000_000_000))
    assert read_view(path).date in ("8 September 2001", "9 September 2001")
