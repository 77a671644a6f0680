"""What `ablated` refuses, each with one line."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption, UnknownHead
from tests.contracts.zoo import BY_NAME, inputs, run, tiny


@pytest.mark.parametrize(
    ("heads", "options", "kind", "expected"),
    [
        ("L3H0", {}, UnknownHead, "L0 to L2"),
        ("L1H", {}, UnknownHead, "expected L3H7"),
        ([], {}, UnknownHead, "at least one"),
        ("", {}, UnknownHead, "at least one"),
        ("cross.L1", {}, UnknownHead, "no stack"),
        ("L1", {"how": "median"}, InvalidOption, "zero, uniform, mean"),
        ("L1", {"how": "mean"}, InvalidOption, "needs reference="),
        ("L1", {"how": "mean", "reference": []}, InvalidOption, "empty"),
        ("L1", {"how": "zero", "reference": [1]}, InvalidOption, "takes no reference="),
    ],
)
def test_what_is_refused(heads: object, options: dict[str, object], kind: type[Exception], expected: str) -> None:
    with pytest.raises(kind, match=expected) as caught, hc.ablated(tiny("bert"), heads, **options):  # type: ignore[arg-type]
        pass
    assert "\n" not in str(caught.value)


def test_a_reference_can_be_prepared_once() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"], "right")
    means = hc.mean_outputs(model, batch)
    with hc.ablated(model, "L1", how="mean", reference=batch):
        expected = run(model, batch)
    with hc.ablated(model, "L1", how="mean", reference=means):
        assert torch.equal(run(model, batch), expected)


def test_half_precision() -> None:
    model, batch = tiny("bert").bfloat16(), inputs(BY_NAME["bert"], "right")
    for how in ("zero", "uniform"):
        with hc.ablated(model, "L1H0", how=how):
            assert run(model, batch).dtype == torch.bfloat16
