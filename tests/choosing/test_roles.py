"""Are planted heads given their roles, on any kind of task, and are the roles checked on other examples?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing.halves import halves
from headcount.choosing.roles import FITTED
from headcount.core.schema import read_schema
from headcount.errors import DataProblem, InvalidOption, StudyProblem
from tests import planted
from tests.choosing.planted_roles import (
    FACILITATING,
    HURTING,
    INTERFERING,
    IRRELEVANT,
    NEEDED,
    model,
    roles,
    texts,
)
from tests.closeness import ROUNDED, assert_same
from tests.pruning import jobs


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def found(tokenizer: Any) -> xr.Dataset:
    return roles(tokenizer)


def test_planted_heads_have_their_roles(found: xr.Dataset) -> None:
    expected = np.full((2, 4), IRRELEVANT)
    expected[NEEDED], expected[HURTING] = FACILITATING, INTERFERING
    np.testing.assert_array_equal(found["role"].sel(stack="encoder"), expected)
    encoder = found.sel(stack="encoder")
    assert float(encoder["facilitation"].values[NEEDED]) > 0.9
    assert float(encoder["interference"].values[HURTING]) > 0.6
    idle = expected == IRRELEVANT
    assert (encoder["irrelevance"].values[idle] > 0.9).all()


def test_what_held_out_examples_say_is_what_was_planted(found: xr.Dataset, tokenizer: Any) -> None:
    """Without the head that hurts, the model is the one in which it was never planted."""
    _, held_out = halves(texts(), None, 0)
    assert found["example"].values.tolist() == sorted(held_out.index)
    losses = [
        hc.sweep(one, tokenizer, held_out, task="sst2", metric="loss", by=["L1H3"])["baseline"].item()
        for one in (model(), model(hurting=False))
    ]
    interfering, irrelevant = found.sel(checked="interfering"), found.sel(checked="irrelevant")
    assert_same(float(found["baseline"]), losses[0], ROUNDED)
    assert_same(float(interfering["change"]), losses[1] - losses[0], ROUNDED)
    assert (interfering["checked_heads"].item(), interfering["verdict"].item()) == ("L1H2", "confirmed")
    assert float(interfering["change_high"]) < 0
    assert float(interfering["beyond_random_high"]) < 0
    assert (int(irrelevant["checked_size"]), irrelevant["verdict"].item()) == (6, "confirmed")
    assert abs(float(irrelevant["change"])) < 1e-6
    assert float(irrelevant["random_change"]) > 0, "random sets hold the needed head"


def test_scores_are_those_of_the_gates(found: xr.Dataset, tokenizer: Any, tmp_path: Path) -> None:
    again = roles(tokenizer, out=tmp_path / "study")
    fitted = hc.open_study(tmp_path / "study")["pruning/roles-fitted"].to_dataset()
    gates = 1 / (1 + np.exp(-fitted["values_logit"].values))
    up, down = (gates[fitted["phase"].values.astype(object) == phase] for phase in ("up", "down"))
    assert up.shape == (2, 1, 2, 4)
    assert_same(again["facilitation"].values, down.mean(0))
    assert_same(again["interference"].values, 1 - up.mean(0))
    assert_same(again["irrelevance"].values, (up * (1 - down)).mean(0))
    assert_same(again["facilitation_least"].values, down.min(0))
    assert_same(again["interference_most"].values, (1 - up).max(0))
    assert (again["seed_range"].values >= np.ptp(down, axis=0) - 1e-12).all()
    xr.testing.assert_equal(again.drop_vars("done"), found)
    for name in FITTED:
        assert read_schema(fitted[name]) is not None, name


def test_a_model_without_such_heads(tokenizer: Any) -> None:
    """Nothing interferes, so nothing is checked for it."""
    result = hc.learn_gates(
        model(hurting=False), tokenizer, texts(), task="sst2", roles=True, max_steps=40, learning_rate=0.25, seeds=1
    )
    checked = result.sel(checked="interfering")
    assert (int(checked["checked_size"]), checked["verdict"].item()) == (0, "no heads")
    assert np.isnan(float(checked["change"]))
    assert int((result["role"] == FACILITATING).sum()) == 1


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_every_kind_of_task(kind: str, tokenizer: Any) -> None:
    one, data, task = jobs.make(kind)
    many = data.loc[np.tile(data.index, 4)].reset_index(drop=True)
    before = {key: tensor.clone() for key, tensor in one.state_dict().items()}
    trained = [parameter.requires_grad for parameter in one.parameters()]
    result = hc.learn_gates(
        one,
        tokenizer,
        many,
        task=task,
        roles=True,
        max_steps=2,
        per_device_train_batch_size=2,
        seeds=1,
        randoms=1,
        learning_rate=3.0,
    )
    layout = hc.read_anatomy(one).layout
    assert np.isfinite(result["facilitation"]).sum() == layout.count == result.attrs["heads"]
    assert np.isfinite(result["values_loss"]).all()
    assert all(torch.equal(tensor, before[key]) for key, tensor in one.state_dict().items())
    assert [parameter.requires_grad for parameter in one.parameters()] == trained


def test_some_stacks_alone(tokenizer: Any) -> None:
    one, data, task = jobs.make("marian")
    many = data.loc[np.tile(data.index, 4)].reset_index(drop=True)
    few: dict[str, Any] = {"max_steps": 1, "seeds": 1, "randoms": 1, "per_device_train_batch_size": 2}
    result = hc.learn_gates(one, tokenizer, many, task=task, roles=True, stack="cross", **few)
    assert np.isfinite(result["role"].sel(stack="cross")).all()
    assert np.isnan(result["role"].sel(stack=["encoder", "decoder"])).all()
    assert result.attrs["heads"] == result["role"].sel(stack="cross").size


def test_a_pruned_model(tokenizer: Any) -> None:
    result = hc.learn_gates(
        hc.prune(model(), ["L0H1", "L1H0"]), tokenizer, texts(), task="sst2", roles=True, max_steps=2, seeds=1
    ).sel(stack="encoder")
    missing = np.zeros((2, 4), dtype=bool)
    missing[0, 1] = missing[1, 0] = True
    np.testing.assert_array_equal(np.isnan(result["role"]), missing)
    assert np.isfinite(result["values_loss"]).all()


def test_another_price_is_another_result(tokenizer: Any, tmp_path: Path) -> None:
    roles(tokenizer, max_steps=1, out=tmp_path / "study")
    with pytest.raises(StudyProblem, match=r"price: 0\.001 -> 0\.1"):
        roles(tokenizer, max_steps=1, price=0.1, out=tmp_path / "study")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"price": (0.1, 0.2)}, "one price above 0"),
        ({"price": 0.0}, "one price above 0"),
        ({"price": ()}, "one price above 0"),
        ({"seeds": 0}, "got seeds=0"),
        ({"randoms": 0}, "at least 1 random set"),
        ({"train_weights": 0.1}, "weights are frozen"),
        ({"stack": "cross"}, "the model has encoder"),
        ({"name": "x"}, "without out="),
    ],
)
def test_what_is_refused(tokenizer: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        roles(tokenizer, **options)


def test_too_few_examples_for_two_halves(tokenizer: Any) -> None:
    with pytest.raises(DataProblem, match="got 30 examples; expected at least 40"):
        roles(tokenizer, limit=30)
