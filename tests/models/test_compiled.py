"""Every function of a model takes what `torch.compile(model)` gives and finds the same as in the model itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.errors import UnknownFamily
from headcount.models.compiled import plain_model
from headcount.models.fingerprint import model_fingerprint, model_name
from headcount.models.zeroed import zeroed
from tests import planted
from tests.contracts.zoo import BY_NAME, inputs, tiny


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture
def model() -> Any:
    return tiny("bert", head="AutoModelForSequenceClassification")


def compiled(model: Any) -> Any:
    return torch.compile(model, backend="eager")


def test_other_things_stay_as_they_are(model: Any) -> None:
    assert plain_model(model) is model
    assert plain_model(compiled(model)) is model
    assert plain_model("L3") == "L3"


def test_names_and_places(model: Any) -> None:
    assert model_fingerprint(compiled(model)) == model_fingerprint(model)
    assert model_name(compiled(model)) == model_name(model)
    assert hc.read_anatomy(compiled(model)).layout == hc.read_anatomy(model).layout


def test_observation_and_means(model: Any) -> None:
    batch = inputs(BY_NAME["bert"], "right")
    assert torch.equal(hc.observe(compiled(model), batch).maps["encoder"], hc.observe(model, batch).maps["encoder"])
    found, expected = (hc.mean_outputs(one, batch)["encoder"] for one in (compiled(model), model))
    assert torch.equal(found, expected)


def test_sweeps_measures_and_importance(tokenizer: Any) -> None:
    model, data = planted.classifier(), planted.texts(8)

    def entropy(one: Any) -> xr.Dataset:
        return hc.measure(one, tokenizer, data, only="entropy", text="sentence")["entropy"].to_dataset()

    for compute in (
        lambda one: hc.sweep(one, tokenizer, data, task="sst2", how="uniform"),
        lambda one: hc.importance(one, tokenizer, data, task="sst2"),
        entropy,
    ):
        found, expected = compute(compiled(model)), compute(model)
        xr.testing.assert_equal(found.drop_attrs(), expected.drop_attrs())


def test_pruning_and_saving(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    wrapped = compiled(model)
    assert hc.prune(wrapped, {1: [2]}) is model
    assert hc.read_anatomy(zeroed(wrapped)).layout.count == 12
    hc.save(wrapped, tokenizer, tmp_path / "pruned")
    assert hc.read_anatomy(hc.load(tmp_path / "pruned")[0]).layout.count == 11


def test_parts_that_were_replaced_are_named() -> None:
    model = tiny("bert")
    for number, layer in enumerate(model.encoder.layer):
        model.encoder.layer[number] = torch.compile(layer, backend="eager")
    with pytest.raises(UnknownFamily, match=r"compile them in place, with part\.compile\(\)"):
        hc.read_anatomy(model)
