"""Every number carries its provenance: all results of a study, and those in memory, say where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import headcount as hc
from headcount.choosing.dynamics import dynamics
from headcount.choosing.smaller import Target, find_smaller
from headcount.core.provenance import PACKAGES, missing
from headcount.costs.cost import cost
from headcount.training.trainer import Settings
from tests import planted


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a result of every kind."""
    folder = tmp_path_factory.mktemp("provenance")
    model, tokenizer, texts, out = planted.classifier(), planted.tokenizer(folder), planted.texts(48), folder / "study"
    options: dict[str, Any] = {"task": "sst2", "out": out}
    hc.sweep(model, tokenizer, texts, by="layer", **options)
    hc.importance(model, tokenizer, texts, **options)
    hc.measure(model, tokenizer, texts, text="sentence", only=["position", "patterns"], out=out)
    hc.find_patterns(model, tokenizer, texts, text="sentence", out=out, name="typical")
    hc.compare(model, planted.classifier(), tokenizer, texts, text="sentence", out=out)
    hc.maps(model, tokenizer, "so it is good", out=out)
    find_smaller(model, tokenizer, texts, task="sst2", target=Target(keep=2), steps=2, randoms=1, study=out)
    cost({"whole": model}, batches=(1,), lengths=(8,), repeats=1, study=out)
    planted.save(folder / "model")
    texts.to_parquet(folder / "texts.parquet")
    hc.finetune(
        folder / "model",
        "sst2",
        folder / "texts.parquet",
        folder / "runs",
        device="cpu",
        settings=Settings(epochs=1, checkpoints=2, max_length=16),
    )
    dynamics(folder / "runs" / "sst2" / "pretrained" / "seed-0", texts, task="sst2", steps=2, study=out)
    return out


def test_every_result_of_a_study(study: Path) -> None:
    tree = hc.open_study(study)
    results = {node.path.strip("/"): node.attrs for node in tree.subtree if "complete" in node.attrs}
    kinds = {name.split("/")[0] for name in results}
    assert kinds == {"sweep", "pruning", "measures", "patterns", "compare", "maps", "cost"}
    assert {"pruning/curve@prune-choosing", "pruning/dynamics", "cost/models"} <= set(results)
    for name, attributes in results.items():
        assert attributes["complete"], name
        assert not missing(attributes), f"{name} does not say its {', '.join(missing(attributes))}"
        assert set(PACKAGES) <= set(attributes["versions"]), name


def test_results_in_memory(tmp_path: Path) -> None:
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(48)
    found: list[xr.Dataset] = [
        hc.sweep(model, tokenizer, texts, task="sst2"),
        hc.importance(model, tokenizer, texts, task="sst2"),
        hc.measure(model, tokenizer, texts, text="sentence", only=["position"])["position"].to_dataset(),
        hc.compare(model, planted.classifier(), tokenizer, texts, text="sentence")["cosine"].to_dataset(),
        find_smaller(model, tokenizer, texts, task="sst2", target=Target(keep=2), steps=2, randoms=1).confirmed,
    ]
    for one in found:
        assert not missing(one.attrs), one.attrs
    assert not missing(cost({"whole": model}, batches=(1,), lengths=(8,), repeats=1).attrs)


def test_rows_keep_their_numbers_in_the_data(study: Path) -> None:
    """The halves of a choice speak of the rows of the file, not of their places within a half."""
    tree = hc.open_study(study)
    halves = [tree[f"sweep/sets-zero@prune-{part}"]["example"].values for part in ("choosing", "confirming")]
    assert sorted(int(row) for half in halves for row in half) == list(range(48))
    texts = planted.texts(48)
    swept = tree["sweep/sets-zero@prune-confirming"].to_dataset()
    assert (swept["label"].values == texts["label"].loc[swept["example"].values].values).all()


def test_what_is_missing_is_named() -> None:
    assert missing({}) == ["model", "data", "seed", "versions", "device"]
