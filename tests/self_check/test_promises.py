"""The checks pass on every family, and fail on models that are really broken, at the promise that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from headcount.core.heads import Head, HeadSet
from headcount.pruning.prune import prune
from headcount.self_check import promises
from headcount.self_check.promises import PROMISES, Check, check_promises
from headcount.trace.anatomy import read_anatomy
from tests.contracts.zoo import CASES, Case, tiny
from tests.self_check import broken

GATES, ZERO, BEHIND, REPLAY, CUT = list(PROMISES)[1:]


def outcomes(checks: list[Check]) -> dict[str, str]:
    return {check.promise: check.outcome for check in checks}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_family_keeps_its_promises(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    checks = check_promises(model)
    for check in checks:
        expected = "skipped" if check.promise == CUT and case.name == "albert" else "passed"
        assert check.outcome == expected, check
        assert check.why
    after = model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize(
    ("make", "failing", "said"),
    [
        (broken.shifted, {ZERO, CUT}, "where rounding explains"),
        (broken.remembering, {BEHIND}, "something else than before"),
    ],
)
def test_a_broken_model_fails_where_it_is_broken(make: Callable[[], Any], failing: set[str], said: str) -> None:
    checks = check_promises(make())
    found = {check.promise for check in checks if check.outcome == "failed"}
    assert failing <= found
    assert GATES not in found
    assert any(said in check.why for check in checks if check.promise in failing)


@pytest.mark.parametrize(
    ("make", "said"), [(broken.drifting, "different outputs, without Headcount"), (broken.overflowing, "not finite")]
)
def test_what_cannot_be_judged_is_skipped(make: Callable[[], Any], said: str) -> None:
    found, repeats, *others = check_promises(make())
    assert found.outcome == "passed"
    assert repeats.outcome == "failed"
    assert said in repeats.why
    assert {check.outcome for check in others} == {"skipped"}
    assert {check.why for check in others} == {"it needs that the model gives the same output twice"}


def test_a_model_that_is_not_understood() -> None:
    found, *others = check_promises(torch.nn.Linear(2, 2))  # type: ignore[arg-type]
    assert found.outcome == "failed"
    assert {check.outcome for check in others} == {"skipped"}


def test_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    late = check_promises(tiny("bert"), longest=0)
    assert all("the checks before it took 0 seconds" in check.why for check in late[1:2])
    monkeypatch.setattr(promises, "free_memory", lambda: 1000)
    cut = check_promises(tiny("bert"))[-1]
    assert cut.outcome == "skipped"
    assert "a copy of the model takes 1 MB, and 1 MB are free" in cut.why


def test_a_head_that_does_nothing_proves_nothing() -> None:
    model = tiny("bert")
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.output.dense.weight.zero_()
    found = outcomes(check_promises(model))
    assert found[GATES] == "passed"
    assert {found[each] for each in (ZERO, BEHIND, REPLAY, CUT)} == {"skipped"}


def test_a_model_with_few_heads_left_is_not_broken() -> None:
    """Not all of them are cut, although the check would take one of every layer."""
    model = tiny("bert")
    layout = read_anatomy(model).layout
    first = [
        Head(stack, layer, heads[0]) for stack, layers in layout.stacks.items() for layer, heads in enumerate(layers)
    ]
    cut = check_promises(prune(model, HeadSet.all(layout) - HeadSet.of(first, layout)))[-1]
    assert (cut.promise, cut.outcome) == (CUT, "passed")
    one = check_promises(prune(model, HeadSet.of(first[1:], layout)))[-1]
    assert (one.outcome, "a single head" in one.why) == ("skipped", True)
