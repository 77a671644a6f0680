"""Are smaller models really made and measured, once each, in memory as in a folder, and interrupted as at once?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.budgets import trials as module
from headcount.budgets.trials import HALVES, Bench, Trial, Tried, run_trials
from headcount.choosing.halves import halves
from headcount.core.units import Selection
from headcount.data.kinds.metrics import ACCURACY
from headcount.data.tasks import find_task
from headcount.models.fingerprint import find_origin
from headcount.pruning.held_out import HeldOut
from headcount.pruning.prepared_fit import prepare_fit
from tests.budgets import small
from tests.closeness import ROUNDED, assert_same

TASK = find_task("sst2")
REMOVED = (["L0H1", "L1U0-9"], ["L2", "L0U"], ["L0H0-1", "L1H3", "L2U3"])


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def bench(tokenizer: Any) -> Bench:
    model = small.classifier()
    data = small.own_answers(model, tokenizer)
    first, second = halves(data, None, 0)
    held_out = [HeldOut.read(model, tokenizer, half, TASK, ACCURACY) for half in (first, second)]
    return Bench(model, (held_out[0], held_out[1]), prepare_fit(model, tokenizer, first, task=TASK), 1, small.LENGTH)


def planned(bench: Bench) -> list[Trial]:
    anatomy = hc.read_anatomy(bench.model)
    parts = [Selection.of(names, anatomy.layout, anatomy.units) for names in REMOVED]
    return [Trial("both", 0.8, parts[0]), Trial("both", 0.5, parts[1]), Trial("random 0", 0.8, parts[2])]


def tried(bench: Bench, study: Path | None = None) -> Tried:
    origin = find_origin(bench.model, bench.halves[0].fingerprint, 0)
    return run_trials(bench, planned(bench), origin, {"of": "test"}, {}, study, None, None)


def assert_equal(one: Tried, other: Tried) -> None:
    """In all but times."""
    for name in ("operations", "weights"):
        np.testing.assert_array_equal(one.numbers[name], other.numbers[name])
    for half in HALVES:
        assert len(one.outputs[half]) == len(other.outputs[half]) == 1 + len(REMOVED)
        for ours, theirs in zip(one.outputs[half], other.outputs[half], strict=True):
            assert set(ours) == set(theirs)
            for key, values in ours.items():
                np.testing.assert_array_equal(values, theirs[key])


def test_what_is_made_is_the_refitted_cut(bench: Bench) -> None:
    before = {key: tensor.clone() for key, tensor in bench.model.state_dict().items()}
    found = tried(bench)
    for at, trial in enumerate(planned(bench)):
        smaller = bench.make(trial.removed)
        assert small.gone(smaller, bench.model) == str(trial.removed)
        assert found.numbers["weights"][at] == small.weights_left(smaller, bench.model)
        assert found.numbers["operations"][at] == small.operations_left(smaller, bench.model)
        for half, held_out in zip(HALVES, bench.halves, strict=True):
            assert_same(found.outputs[half][1 + at]["logits"], held_out.outputs(smaller)["logits"], ROUNDED)
    for half, held_out in zip(HALVES, bench.halves, strict=True):
        assert_same(found.outputs[half][0]["logits"], held_out.outputs(bench.model)["logits"], ROUNDED)
        assert held_out.compare(*found.outputs[half]).whole[0] == 1, "labels are its own answers"
    assert all(torch.equal(tensor, before[key]) for key, tensor in bench.model.state_dict().items())


def test_speed_has_its_quartiles(bench: Bench) -> None:
    numbers = tried(bench).numbers
    assert all(np.isfinite(values).all() and (values > 0).all() for values in numbers.values())
    assert (numbers["speed_low"] <= numbers["speed_high"]).all()


def test_a_disturbed_turn_does_not_move_the_speed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program slows three turns of seven down, two of them in the middle: the ratio stays what it is."""
    load = np.array([1.0, 1.0, 9.0, 1.0, 7.0, 3.0, 1.0])
    after = load * 0.5
    after[2], after[4] = 0.6, 6.0  # the load came and went within the turn
    monkeypatch.setattr(module, "time_both", lambda *_: (load, after))
    numbers = bench.measure(bench.model)
    assert numbers["speed"] == pytest.approx(2)
    assert numbers["speed_low"] <= numbers["speed"] <= numbers["speed_high"]


def test_in_memory_as_in_a_folder(bench: Bench, tmp_path: Path) -> None:
    stored = tried(bench, tmp_path / "study")
    assert_equal(tried(bench), stored)
    again = tried(bench, tmp_path / "study")
    assert_equal(stored, again)
    np.testing.assert_array_equal(stored.numbers["speed"], again.numbers["speed"], "read, not measured again")


@pytest.mark.parametrize("after", [0, 1, 2])
def test_interrupted_and_resumed(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """As an uninterrupted run, and what was done is not done again."""
    made: list[str] = []
    plain = Bench.make

    def make(self: Bench, removed: Selection) -> Any:
        if len(made) == after:
            raise Interrupted
        made.append(str(removed))
        return plain(self, removed)

    with monkeypatch.context() as patched:
        patched.setattr(module.Bench, "make", make)
        with pytest.raises(Interrupted):
            tried(bench, tmp_path / "study")
    assert len(made) == after

    def count(self: Bench, removed: Selection) -> Any:
        made.append(str(removed))
        return plain(self, removed)

    monkeypatch.setattr(module.Bench, "make", count)
    resumed = tried(bench, tmp_path / "study")
    assert made == [str(trial.removed) for trial in planned(bench)]
    assert_equal(resumed, tried(bench))
