"""Which heads are tried, and that two outputs that differ by more than rounding are not called equal."""

from __future__ import annotations

import pytest
import torch

from headcount.self_check.trial import Failed, Skipped, begin
from tests.contracts.zoo import tiny


def test_heads_of_every_stack() -> None:
    assert str(begin(tiny("bert")).heads()) == "L0H0, L1H1, L2H2"
    names = str(begin(tiny("bart")).heads())
    assert all(f"{stack}.L" in names for stack in ("encoder", "decoder", "cross"))
    shared = begin(tiny("albert"))  # its layers share their weights: the same head everywhere
    assert str(shared.heads()) == "L0H0, L1H0, L2H0"


def test_columns_come_back() -> None:
    trial = begin(tiny("bert"))
    before = {name: tensor.clone() for name, tensor in trial.model.state_dict().items()}
    with pytest.raises(ZeroDivisionError), trial.zero_columns():
        assert not torch.equal(trial.run(), trial.plain)
        raise ZeroDivisionError
    assert all(torch.equal(tensor, trial.model.state_dict()[name]) for name, tensor in before.items())


def test_outputs_are_compared_with_rounding_and_with_the_effect() -> None:
    trial = begin(tiny("bert"))
    other = trial.plain + 1
    assert "differ by 0.0e+00" in trial.compare(other, other.clone(), "they")
    with pytest.raises(Failed, match="they differ by 5.0e-01, where rounding explains"):
        trial.compare(other, other + 0.5, "they")
    near = trial.plain + 2e-5
    with pytest.raises(Skipped, match="which is rounding in float32"):
        trial.compare(near, near + 1.5e-5, "they")
    with pytest.raises(Skipped, match="make no difference"):
        trial.compare(trial.plain, trial.plain, "they")
