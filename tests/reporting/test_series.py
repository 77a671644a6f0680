"""Layers, curves, dynamics, distances, costs, offsets, relations: plain numbers, those of the study, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing.curves import curve as curve_of
from headcount.choosing.dynamics import _arrays
from headcount.choosing.orders import by_values
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, by_layer, head_coords
from headcount.core.store import Study
from headcount.models.fingerprint import model_fingerprint
from headcount.reporting.published import find_published
from headcount.reporting.series import (
    find_costs,
    find_curves,
    find_dynamics,
    find_embedding,
    find_layers,
    find_offsets,
    find_relations,
)
from headcount.reporting.view import View, find_layout, number, read_view
from tests import planted
from tests.measures import cases
from tests.measures.planted import PAIRS, ROLES, planted_attention
from tests.study_results import write_result

NAN = float("nan")
LAYOUT = Layout.even({"encoder": (2, 2)})


def view_of(results: dict[str, xr.Dataset], layout: Layout | None = None) -> View:
    return View("study", results, (), layout or find_layout(results))


def plain(value: Any) -> None:
    """What JSON can hold, and no NaN."""
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def layer_sweep(layout: Layout, **attributes: Any) -> xr.Dataset:
    generator = np.random.default_rng(0)
    places = [
        (stack, layer)
        for stack in layout.stacks
        for layer in range(layout.layers(stack))
        if layout.stacks[stack][layer]
    ]
    arrays = {
        name: (HEAD_DIMS[:2], by_layer({place: generator.normal() for place in places}, layout))
        for name in ("score", "delta", "low", "high", "q")
    }
    said = {"by": "layer", "metric": "accuracy", "higher_is_better": True, "how": "uniform", "model": "m", "task": "t"}
    return xr.Dataset(
        arrays | {"baseline": ((), 0.8)}, coords=head_coords(layout, heads=False), attrs=said | attributes
    )


def test_layers_of_one_stack() -> None:
    one = layer_sweep(Layout({"encoder": ((0, 1), (), (1,))}))
    found = find_layers(view_of({"sweep/layer-uniform": one}))
    plain(found)
    assert [(each["name"], each["metric"], each["baseline"]) for each in found] == [("layer-uniform", "accuracy", 0.8)]
    assert [row["layer"] for row in found[0]["rows"]] == ["L0", "L2"], "a layer without heads cannot be left out"
    for row in found[0]["rows"]:
        for key in ("score", "delta", "low", "high", "q"):
            assert row[key] == number(float(one[key].sel(stack="encoder", layer=int(row["layer"][1:]))))


SIDES = Layout.even({"encoder": (3, 2), "decoder": (2, 2), "cross": (2, 2)})


def test_layers_of_several_stacks() -> None:
    view = view_of({"sweep/layer-zero": layer_sweep(SIDES)}, SIDES)
    assert [row["layer"] for row in find_layers(view)[0]["rows"]] == [
        "encoder.L0",
        "encoder.L1",
        "encoder.L2",
        "decoder.L0",
        "decoder.L1",
        "cross.L0",
        "cross.L1",
    ]


def test_layers_of_several_stacks_without_a_result_by_head() -> None:
    names = [row["layer"] for row in find_layers(view_of({"sweep/layer-zero": layer_sweep(SIDES)}))[0]["rows"]]
    assert len(set(names)) == 7


def test_a_sweep_by_head_is_no_sweep_by_layer() -> None:
    heads = xr.Dataset({"delta": (HEAD_DIMS, np.zeros((1, 2, 2)))}, coords={"stack": ["encoder"]})
    assert find_layers(view_of({"sweep/head-zero": heads, "sweep/sets-zero@prune": xr.Dataset()})) == []


def curve(**attributes: Any) -> xr.Dataset:
    """Two orders, the second shorter than the curve."""
    values = {
        "score": [[0.9, 0.8], [0.7, NAN]],
        "delta": [[0.0, -0.1], [-0.2, NAN]],
        "p": [[1.0, 0.5], [0.25, NAN]],
        "low": [[-0.05, -0.2], [-0.3, NAN]],
        "high": [[0.05, 0.0], [-0.1, NAN]],
    }
    said = {"task": "sst2", "metric": "accuracy", "higher_is_better": True, "heads": 8, "examples": 12, "model": "m"}
    return xr.Dataset(
        {key: (("order", "removed"), np.array(one)) for key, one in values.items()} | {"baseline": ((), 0.9)},
        coords={"order": ["importance", "random 1"], "removed": [2, 5]},
        attrs=said | attributes,
    )


def test_curves() -> None:
    found = find_curves(view_of({"pruning/curve@prune": curve(), "pruning/importance": xr.Dataset()}))
    plain(found)
    assert len(found) == 1
    one = found[0]
    assert (one["name"], one["metric"], one["task"], one["baseline"]) == ("curve@prune", "accuracy", "sst2", 0.9)
    assert (one["heads"], one["examples"], one["removed"]) == (8, 12, [2, 5])
    first, second = one["lines"]
    assert first == {
        "order": "importance",
        "score": [0.9, 0.8],
        "low": [0.85, 0.7],
        "high": [0.95, 0.9],
        "p": [1.0, 0.5],
    }
    assert second["score"] == [0.7, None]
    assert second["low"] == [0.6, None]
    assert one["published"] == find_published("sst2", "accuracy")


def test_curves_of_tasks_that_no_paper_has() -> None:
    assert find_curves(view_of({"pruning/curve": curve(task="mine")}))[0]["published"] is None
    assert find_curves(view_of({"pruning/curve": curve(metric="loss")}))[0]["published"] is None


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints, as `headcount dynamics` keeps them, without the training."""
    place = tmp_path_factory.mktemp("dynamics")
    tokenizer, texts = planted.tokenizer(place / "words"), planted.texts(40)
    curves, values = [], []
    models = {step: planted.classifier() for step in (0, 6, 12)}
    for step, model in models.items():
        with torch.no_grad():
            model.bert.encoder.layer[0].attention.output.dense.weight[:, :4] *= step / 12
    marks = {f"step-{step}": model_fingerprint(model) for step, model in models.items()}
    Study(place / "study").announce("pruning/dynamics", {"models": marks}, {})
    for step, model in models.items():
        values.append(hc.importance(model, tokenizer, texts, task="sst2")["michel"])
        order = by_values(values[-1].values, LAYOUT)
        curves.append(
            curve_of(
                model,
                tokenizer,
                texts,
                {"importance": order},
                task="sst2",
                steps=2,
                name=f"step-{step:06d}",
                out=place / "study",
            )
        )
    arrays = _arrays([Path(f"step-{step:06d}") for step in models], curves, values)
    result = xr.Dataset(dict(arrays), attrs={**curves[0].attrs, "estimator": "michel"})
    write_result(place / "study", "pruning/dynamics", {}, result)
    return place / "study"


def test_dynamics(settled: Path) -> None:
    """As the study has them: a row for each checkpoint, a column for each step."""
    view = read_view(settled)
    told = find_dynamics(view)
    assert told is not None
    plain(told)
    stored = hc.open_study(settled)["pruning/dynamics"].to_dataset()
    assert told["checkpoints"] == [0, 6, 12]
    assert told["removed"] == stored["removed"].values.tolist() == [2, 4]
    assert told["heads"] == 4
    assert told["gates"] is False
    assert told["metric"] == "accuracy"
    for key, name in (
        ("agreement", "agreement"),
        ("low", "agreement_low"),
        ("high", "agreement_high"),
        ("baseline", "baseline"),
    ):
        assert told[key] == [number(float(one)) for one in stored[name].values]
    for row, checkpoint in zip(told["score"], told["checkpoints"], strict=True):
        scores = stored["score"].sel(checkpoint=checkpoint)
        assert row == [number(float(scores.sel(removed=step))) for step in told["removed"]]
    assert [one["name"] for one in find_curves(view)] == ["curve@step-000012"], "the others are the dynamics' own"
    assert find_dynamics(view_of({})) is None


@pytest.fixture(scope="module")
def measures() -> View:
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS[:4], columns=["first", "second"])
    trees = cases.table([cases.sentence(one) for one in cases.TREES])
    first = hc.measure(
        model, tokenizer, pairs, text=("first", "second"), only=("position", "distances"), distance_examples=2
    )
    words = hc.measure(model, tokenizer, trees, only=("links",))
    results = {f"measures/{name}": node.to_dataset() for name, node in first.children.items()}
    return view_of(results | {"measures/links@words": words["links"].to_dataset()})


def test_heads_as_points(measures: View) -> None:
    told = find_embedding(measures)
    assert told is not None
    plain(told)
    stored = measures.results["measures/distances"]
    for axis in ("x", "y"):
        assert told[axis] == [
            number(float(stored[axis].sel(stack="encoder", layer=head.layer, head=head.head)))
            for head in measures.layout
        ]
    assert told["facts"] == [
        {
            "stack": "encoder",
            "within": number(float(stored["within_layers"][0])),
            "between": number(float(stored["between_layers"][0])),
            "p": number(float(stored["p"][0])),
        }
    ]
    assert find_embedding(view_of({})) is None


def test_offsets(measures: View) -> None:
    told = find_offsets(measures)
    assert told is not None
    plain(told)
    assert told["offsets"] == list(range(-8, 9))
    heads = [measures.layout.spell(head) for head in measures.layout]
    rows = dict(zip(heads, told["values"], strict=True))
    assert rows[ROLES["previous"]][told["offsets"].index(-1)] > 0.9
    assert rows[ROLES["next"]][told["offsets"].index(1)] > 0.9
    assert rows[ROLES["same"]][told["offsets"].index(0)] > 0.9
    assert rows[ROLES["previous"]][told["offsets"].index(1)] < 0.1
    assert find_offsets(view_of({})) is None


def test_relations(measures: View) -> None:
    told = find_relations(measures)
    plain(told)
    stored = measures.results["measures/links@words"]
    assert [one["name"] for one in told] == [str(one) for one in stored["link"].values]
    for one in told:
        assert one["result"] == "links@words"
        for key in ("attention", "control", "gain_low", "gain_high"):
            array = stored[key].sel(link=one["name"], stack="encoder")
            assert one[key] == [number(float(array.sel(layer=head.layer, head=head.head))) for head in measures.layout]
    assert find_relations(view_of({})) == []


def test_a_model_of_many_heads(tmp_path: Path) -> None:
    """As GPT-3 has them: 96 layers of 96 heads at 17 offsets are more than 100 000 numbers."""
    layout = Layout.even({"decoder": (96, 96)})
    previous = by_head(dict.fromkeys(layout, 0.25), layout)
    attention = np.repeat(previous[..., None], 17, -1)
    arrays = dict.fromkeys(("previous", "previous_low", "previous_high"), (HEAD_DIMS, previous))
    result = xr.Dataset(
        arrays | {"attention": ((*HEAD_DIMS, "offset"), attention)},
        coords=head_coords(layout) | {"offset": list(range(-8, 9))},
    )
    write_result(tmp_path / "study", "measures/position", {}, result)
    hc.report([tmp_path / "study"], tmp_path / "report.html")
    found = find_offsets(read_view(tmp_path / "study"))
    assert found is None or len(found["values"]) == layout.count


def test_costs(tmp_path: Path) -> None:
    """Six digits: a number of parameters stays a number of parameters."""
    rows = pd.DataFrame(
        [
            {
                "model": name,
                "batch": 16,
                "length": length,
                "ms": 1.23456789,
                "ms_low": 1.0,
                "ms_high": 2.0,
                "per_second": 1e4,
                "flops": 2_712_345_678,
                "peak_bytes": 31_890_000_000,
                "parameters": 109_483_778,
                "attention_parameters": 28_348_416,
                "bytes": NAN,
            }
            for name in ("whole", "small")
            for length in (0, 128)
        ]
    )
    result = xr.Dataset({key: ("row", rows[key].to_numpy()) for key in rows.columns})
    write_result(tmp_path / "study", "cost/after", {"models": {"whole": "1", "small": "2"}}, result)
    found = find_costs(read_view(tmp_path / "study"))
    plain(found)
    assert [one["name"] for one in found] == ["after"]
    assert [(row["model"], row["batch"], row["length"]) for row in found[0]["rows"]] == [
        ("whole", 16, 0),
        ("whole", 16, 128),
        ("small", 16, 0),
        ("small", 16, 128),
    ]
    first = found[0]["rows"][0]
    assert (first["ms"], first["parameters"], first["bytes"]) == (1.23457, 109_484_000, None)
    said = {"title": "Median time of a pass", "unit": "ms"}
    assert found[0]["said"]["ms"] == said, "known of arrays of earlier studies, which say nothing of themselves"
    assert find_costs(view_of({})) == []
