"""Is the table of times what was measured, does it add up, and is it read where a study has it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.costs import layer_times as layer_times_file
from headcount.costs.layer_times import LayerTimes, layer_times, widths
from headcount.errors import CannotPrune, InvalidOption
from headcount.models.anatomy import read_anatomy
from tests.contracts.pruned import PRUNABLE, Before
from tests.contracts.zoo import Case, inputs, tiny

QUICK: dict[str, Any] = {"batch": 2, "length": 8, "repeats": 1}


def planted(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
    """These times instead of measured ones; every call is made once."""

    def times(model: Any, calls: Any, repeats: int, progress: Any) -> dict[str, float]:
        with torch.no_grad():
            for call in calls.values():
                call()
        assert set(calls) == set(seconds)
        return seconds

    monkeypatch.setattr(layer_times_file, "_time", times)


def bert_times(head: float = 3.0, unit: float = 0.25, layer: float = 5.0) -> dict[str, float]:
    """A BERT with 3 layers of 4 heads and 40 units; layers take longer in the pass than alone."""
    alone = {f"encoder {count}": layer + head * count for count in range(5)}
    alone |= {f"encoder.units {count}": layer + unit * count for count in (0, 32, 40)}
    return alone | {"rest": 20.0, "whole": 20.0 + 2 * 3 * (4 * head + 40 * unit)}


def test_times_of_parts_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, bert_times())
    table = layer_times(tiny("bert"), **QUICK)
    assert list(table.counts) == ["encoder", "encoder.units"]
    assert table.rest == 20.0
    assert table.seconds(("encoder", 1), 3) == pytest.approx(2 * 9.0)
    assert table.seconds(("encoder.units", 1), 16) == pytest.approx(2 * 4.0), "between 0 and 32"
    assert table.predict({}) == pytest.approx(20 + 2 * 3 * 22)
    half = {("encoder", layer): 2 for layer in range(3)} | {("encoder.units", layer): 20 for layer in range(3)}
    assert table.predict(half) == pytest.approx(20 + 3 * 22)
    assert table.faster(half) == pytest.approx(152 / 86)
    assert table.predict(dict.fromkeys(table.whole, 0)) == table.rest


def test_more_parts_never_take_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = bert_times() | {"encoder 2": 14.0, "encoder 3": 11.0, "encoder 1": 4.0}
    planted(monkeypatch, noisy)
    table = layer_times(tiny("bert"), **QUICK)
    assert (np.diff(table.times["encoder"]) >= 0).all()
    assert table.times["encoder"][0] == 0
    assert table.predict({}) == pytest.approx(noisy["whole"])


@pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)
def test_every_family_is_measured(case: Case) -> None:
    model = tiny(case.name, case.kernels[0]).train()
    before = Before(model.eval(), inputs(case))
    steps: list[tuple[int, int | None]] = []
    table = layer_times(model, **QUICK, progress=lambda done, total: steps.append((done, total)))
    before.check()
    stacks = ("encoder.units", "decoder.units") if case.kind == "pair" else (f"{case.stacks[0]}.units",)
    assert set(table.counts) == {*case.stacks, *stacks}
    assert table.whole == {block.layer_key: block.count for block in read_anatomy(model).blocks()}
    for stack, counts in table.counts.items():
        whole = table.whole[stack, 0]
        assert list(counts) == (widths(whole) if stack.endswith(".units") else list(range(whole + 1)))
        assert (np.diff(table.times[stack]) >= 0).all()
    assert 0 < table.rest <= table.predict({})
    assert steps[-1][0] == steps[-1][1] == len(steps)


def test_a_pruned_model_has_times_up_to_its_largest_layers() -> None:
    model = hc.prune(tiny("bert"), ["L0", "L1H0-1", "L2U", "L1U0-9"])
    table = layer_times(model, **QUICK)
    assert table.whole == {
        ("encoder", 1): 2, ("encoder", 2): 4, ("encoder.units", 0): 40, ("encoder.units", 1): 30
    }  # fmt: skip
    assert list(table.counts["encoder"]) == [0, 1, 2, 3, 4]
    assert list(table.counts["encoder.units"]) == [0, 32, 40]


def test_a_study_keeps_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("bart")
    first = layer_times(model, **QUICK, study=tmp_path / "study")
    monkeypatch.setattr(layer_times_file, "_time", lambda *_: pytest.fail("measured again"))
    again = layer_times(model, **QUICK, study=tmp_path / "study")
    assert (first.whole, first.rest, first.batch, first.length) == (again.whole, again.rest, 2, 8)
    for stack in first.counts:
        assert np.array_equal(first.counts[stack], again.counts[stack])
        assert np.array_equal(first.times[stack], again.times[stack])
    stored = hc.open_study(tmp_path / "study")["cost/layer-times"]
    assert stored.attrs["threads"] == torch.get_num_threads()
    assert stored["seconds"].attrs["units"] == "s"
    hc.report(tmp_path / "study", tmp_path / "page.html")


def test_arrays_are_read_as_they_are_written() -> None:
    import xarray as xr

    counts = {"decoder": np.array([0, 1, 2]), "decoder.units": np.array([0, 32])}
    times = {"decoder": np.array([0, 0.5, 0.75]), "decoder.units": np.array([0, 2.0])}
    table = LayerTimes(counts, times, {("decoder", 0): 2, ("decoder.units", 1): 32}, 0.25, 4, 16)
    read = LayerTimes.read(xr.Dataset(dict(table.arrays())), 4, 16)
    assert read.whole == table.whole
    assert read.predict({("decoder", 0): 1}) == table.predict({("decoder", 0): 1}) == 0.25 + 0.5 + 2.0


def test_what_cannot_be_measured() -> None:
    with pytest.raises(CannotPrune, match="uses the weights of one layer for all"):
        layer_times(tiny("albert"), **QUICK)
    with pytest.raises(InvalidOption, match="got the length 128; the model takes at most 64 tokens"):
        layer_times(tiny("bert"))
    with pytest.raises(InvalidOption, match="got repeats=0"):
        layer_times(tiny("bert"), **QUICK | {"repeats": 0})


def test_widths() -> None:
    assert widths(0) == [0]
    assert widths(20) == [0, 20]
    for width in (1536, 3072, 11008):
        found = widths(width)
        assert found[0] == 0
        assert found[-1] == width
        assert 10 <= len(found) <= 15
        assert all(number % 32 == 0 for number in found)
