"""Everything that heads can be coloured by: titles, kinds, signs, values and intervals in the right place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.ablation.screened import SELECTED
from headcount.choosing.gates import SCHEMAS
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.core.sweep_schemas import sweep_schemas
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import share_of_attention
from headcount.patterns.naming import PATTERNS
from headcount.patterns.shapes import SHAPES
from headcount.reporting.colourings import Colouring, effect_of, find_colourings
from headcount.reporting.view import View, find_layout, number, read_view
from tests import planted
from tests.choosing import planted_roles
from tests.measures import cases
from tests.measures.planted import PAIRS, planted_attention
from tests.reporting import studies

UNEVEN = Layout({"encoder": ((0, 2), (), (1,)), "cross": ((0, 1, 2, 3),)})
STATISTICS = ("score", "delta", "low", "high", "p", "q")


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def random(layout: Layout, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return by_head({head: generator.normal() for head in layout}, layout)


def sweep(layout: Layout = UNEVEN, **attributes: Any) -> xr.Dataset:
    """A sweep by head whose numbers are all different."""
    arrays = {name: (HEAD_DIMS, random(layout, seed)) for seed, name in enumerate(STATISTICS)}
    said = {"by": "head", "how": "uniform", "metric": "accuracy", "higher_is_better": True, "model": "m", "task": "t"}
    return xr.Dataset(arrays | {"baseline": ((), 0.75)}, coords=head_coords(layout), attrs=said | attributes)


def measured(layout: Layout, **variables: Any) -> xr.Dataset:
    """A measure: each variable by its further dimensions."""
    coords = head_coords(layout) | {"link": ["verb to subject", "a <b>"], "feature": ["noun", "cls"]}
    sizes = {"link": 2, "feature": 2}
    arrays = {}
    for seed, (name, further) in enumerate(variables.items()):
        values = np.stack([random(layout, 10 * seed + number) for number in range(sizes.get(further, 1))], -1)
        arrays[name] = ((*HEAD_DIMS, further), values) if further else (HEAD_DIMS, values[..., 0])
    return xr.Dataset(arrays, coords=coords)


def by_id(metrics: list[Colouring]) -> dict[str, Colouring]:
    found = {metric["id"]: metric for metric in metrics}
    assert len(found) == len(metrics), "every id once"
    return found


def expected(layout: Layout, array: xr.DataArray) -> list[float | None]:
    return [number(float(array.sel(stack=head.stack, layer=head.layer, head=head.head))) for head in layout]


def test_a_sweep_by_head() -> None:
    found = sweep()
    view = view_of({"sweep/head-uniform": found})
    metric = find_colourings(view)[0]
    assert metric["id"] == "sweep/head-uniform:delta"
    assert metric["title"] == "Change of accuracy without the head"
    assert (metric["kind"], metric["unit"], metric["effect"]) == ("diverging", "accuracy", True)
    assert metric["baseline"] == 0.75
    for key, name in (("values", "delta"), ("low", "low"), ("high", "high"), ("p", "p"), ("q", "q")):
        assert metric[key] == expected(view.layout, found[name]), key


def test_heads_that_were_not_run() -> None:
    """They are on the page, with the reason; the effect comes first, then why each was run."""
    found = sweep(Layout.even({"encoder": (2, 3)}), screen={"top": 1, "control": 1, "of": 6})
    reasons = np.array([[[1, 0, 0], [0, 0, 2]]], dtype=float)
    found = found.where(xr.DataArray(reasons > 0, dims=HEAD_DIMS))
    found["baseline"], found["selected"] = 0.75, (HEAD_DIMS, reasons, SELECTED.attributes())
    for name, schema in sweep_schemas("accuracy", True, "head").items():
        if name in found:
            found[name].attrs |= schema.attributes()
    effect, why = find_colourings(view_of({"sweep/head-zero-screened": found}))
    assert effect["unknown"] == "not run"
    assert [value is None for value in effect["values"]] == [False, True, True, True, True, False]
    assert (why["names"], why["values"]) == (["not run", "top", "control"], [1, 0, 0, 0, 0, 2])
    assert "effect" not in why


@pytest.mark.parametrize(
    ("higher", "said"),
    [
        (True, "below 0: the model needs the head; above 0: it does better without it"),
        (False, "above 0: the model needs the head; below 0: it does better without it"),
    ],
)
def test_the_sign_is_that_of_the_metric(higher: bool, said: str) -> None:
    found = sweep(metric="loss", higher_is_better=higher, how="zero")
    metric = find_colourings(view_of({"sweep/head-zero": found}))[0]
    assert metric["says"].startswith(said)
    assert "its output is 0" in metric["says"]
    assert metric["higher"] is higher
    assert metric["values"] == expected(UNEVEN, found["delta"]), "the numbers are the study's own, never turned round"


def test_the_sign_of_a_real_loss() -> None:
    """Heads without which a language model's loss is larger: the page says that they are needed."""
    model, tokenizer = studies.measured.masked()
    found = hc.sweep(model, tokenizer, pd.DataFrame({"text": studies.sentences(12)}), task="masked-lm", how="zero")
    metric = find_colourings(view_of({"sweep/head-zero": found}))[0]
    assert metric["higher"] is False
    worse = [value for value in metric["values"] if value > 0]
    assert worse
    assert metric["says"].startswith("above 0: the model needs the head")
    score = [
        float(found["score"].sel(stack="encoder", layer=head.layer, head=head.head))
        for head in find_layout({"sweep/head-zero": found})
    ]
    assert metric["values"] == pytest.approx([one - float(found["baseline"]) for one in score], rel=1e-3, abs=1e-6)


def test_named_results_carry_their_names() -> None:
    layout = UNEVEN
    view = view_of(
        {
            "measures/special": measured(layout, sep=""),
            "measures/special@before": measured(layout, sep=""),
            "sweep/head-zero": sweep(how="zero"),
            "sweep/head-zero@seed-1": sweep(how="zero"),
        }
    )
    found = by_id(find_colourings(view))
    assert found["measures/special@before:sep"]["title"] == "Attention to [SEP] (before)"
    assert found["measures/special:sep"]["title"] == "Attention to [SEP]"
    assert found["sweep/head-zero@seed-1:delta"]["title"] == "Change of accuracy without the head (seed-1)"


def test_sweeps_of_two_kinds_can_be_told_apart() -> None:
    view = view_of({"sweep/head-uniform": sweep(), "sweep/head-zero": sweep(how="zero")})
    titles = [metric["title"] for metric in find_colourings(view)]
    assert len(set(titles)) == 2


def test_importance_of_two_names_can_be_told_apart() -> None:
    one = measured(UNEVEN, michel="").assign_attrs(measure="importance")
    view = view_of({"pruning/importance@step-1": one, "pruning/importance@step-2": one})
    titles = [metric["title"] for metric in find_colourings(view)]
    assert len(set(titles)) == 2


def test_sweeps_that_are_not_by_head_are_no_colours() -> None:
    layers = sweep().isel(head=0, drop=True).assign_attrs(by="layer")
    sets = xr.Dataset({"delta": ("set", [0.1])}, attrs=sweep().attrs | {"by": "sets"})
    view = view_of({"sweep/layer-uniform": layers, "sweep/sets-zero": sets, "sweep/head-zero": sweep()})
    assert [metric["id"] for metric in find_colourings(view)] == ["sweep/head-zero:delta"]


def test_the_head_alone_in_its_layer() -> None:
    view = view_of({"sweep/all-but-one-zero": sweep(by="all-but-one")})
    assert find_colourings(view)[0]["title"] == "Change of accuracy with this head alone in its layer"


def test_what_the_head_alone_in_its_layer_says() -> None:
    view = view_of({"sweep/all-but-one-zero": sweep(by="all-but-one")})
    assert "without it" not in find_colourings(view)[0]["says"]


def test_a_page_begins_with_the_sweep_by_head() -> None:
    view = view_of({"sweep/all-but-one-zero": sweep(by="all-but-one"), "sweep/head-zero": sweep()})
    effect = effect_of(find_colourings(view))
    assert effect is not None
    assert effect["id"] == "sweep/head-zero:delta"


def test_without_a_sweep_there_is_no_effect() -> None:
    assert effect_of(find_colourings(view_of({"measures/special": measured(UNEVEN, sep="")}))) is None


def test_importance() -> None:
    data = measured(UNEVEN, michel="", michel_low="", michel_high="", taylor="", gate="", michel_normed="")
    view = view_of({"pruning/importance": data.assign_attrs(measure="importance"), "pruning/curve": data})
    found = by_id(find_colourings(view))
    assert set(found) == {f"pruning/importance:{name}" for name in ("michel", "michel_normed", "taylor", "gate")}
    assert found["pruning/importance:taylor"]["kind"] == "diverging"
    assert found["pruning/importance:taylor"]["higher"] is False, "orange is what is needed: a rise of the loss"
    assert found["pruning/importance:michel"]["kind"] == "sequential"
    for key, name in (("values", "michel"), ("low", "michel_low"), ("high", "michel_high")):
        assert found["pruning/importance:michel"][key] == expected(view.layout, data[name])
    assert "low" not in found["pruning/importance:gate"]


def test_learned_gates_come_after_importance() -> None:
    gates = measured(UNEVEN, openness="")
    gates["openness"].attrs = SCHEMAS["openness"].attributes()
    gates = gates.assign(gate=gates["openness"].expand_dims(price=[0.1, 0.2]))
    importance = measured(UNEVEN, michel="").assign_attrs(measure="importance")
    found = find_colourings(view_of({"pruning/gates": gates, "pruning/importance": importance}))
    assert [metric["id"] for metric in found] == ["pruning/importance:michel", "pruning/gates:openness"]
    assert (found[1]["title"], found[1]["kind"]) == (SCHEMAS["openness"].title, "diverging")


def test_roles_by_gates_are_colours(tmp_path: Path) -> None:
    planted_roles.roles(planted.tokenizer(tmp_path / "words"), max_steps=1, out=tmp_path / "study")
    found = by_id(find_colourings(read_view(tmp_path / "study")))
    names = ("role", "facilitation", "interference", "irrelevance", "seed_range")
    assert set(found) == {f"pruning/roles:{name}" for name in names}
    assert found["pruning/roles:role"]["kind"] == "category"
    assert found["pruning/roles:role"]["names"] == ["facilitating", "interfering", "irrelevant", "unclear"]
    assert len(found["pruning/roles:facilitation"]["values"]) == 8
    assert not any("low" in each for each in found.values()), "seeds give no 95 % interval"


def test_further_dimensions_are_metrics_of_their_own() -> None:
    data = measured(UNEVEN, gain="link", gain_low="link", gain_high="link", attention="feature", same="")
    view = view_of({"measures/links@words": data})
    found = by_id(find_colourings(view))
    for link, title in (("verb to subject", "Verb to subject"), ("a <b>", "A <b>")):
        metric = found[f"measures/links@words/{link}:gain"]
        assert metric["title"] == f"{title}: over the same offset elsewhere (words)"
        assert metric["kind"] == "diverging"
        for key, name in (("values", "gain"), ("low", "gain_low"), ("high", "gain_high")):
            assert metric[key] == expected(view.layout, data[name].sel(link=link)), key
    assert found["measures/links@words/cls:attention"]["values"] == expected(
        view.layout, data["attention"].sel(feature="cls")
    )
    assert "measures/links@words:gain" not in found


def test_a_number_that_no_head_has_is_left_out() -> None:
    data = measured(UNEVEN, sep="", cls="", gain="link")
    data["cls"] = data["cls"] * np.nan
    data["gain"][..., 1] = np.nan
    ids = {metric["id"] for metric in find_colourings(view_of({"measures/special": data}))}
    assert ids >= {"measures/special:sep", "measures/special/verb to subject:gain"}
    assert not ids & {"measures/special:cls", "measures/special/a <b>:gain"}


def test_roles_that_no_head_has_are_left_out() -> None:
    ids = [metric["id"] for metric in find_colourings(view_of({"measures/spread": measured(UNEVEN, distance="")}))]
    assert ids == ["measures/spread:distance"]


def test_a_role_has_one_colour_whichever_others_there_are() -> None:
    """And what has no role stays in the background."""

    def colours(**values: list[float]) -> dict[str, int]:
        arrays = {
            name: (
                ("stack", "layer", "head"),
                np.array([[row]]),
                share_of_attention(name, role=name, rank=rank).attributes(),
            )
            for rank, (name, row) in enumerate(values.items(), 1)
            if any(row)
        }
        data = xr.Dataset(arrays, {"stack": ["encoder"], "layer": [0], "head": range(3)})
        roles = next(each for each in find_colourings(view_of({"measures/special": data})) if each["id"] == "roles")
        assert roles["names"][roles["none"]] == "no clear role"
        return dict(zip(roles["names"], roles["colours"], strict=True))

    both = colours(**{"previous token": [0.9, 0.1, 0.1], "next token": [0.1, 0.9, 0.2]})
    alone = colours(**{"previous token": [0, 0, 0], "next token": [0.1, 0.9, 0.2]})
    assert both["next token"] == alone["next token"] != both["previous token"]


def test_helpers_are_no_colours() -> None:
    layout = Layout.even({"encoder": (1, 3)})
    data = measured(layout, x="", y="", sep="", sep_low="", sep_high="", values_sep="")
    found = {metric["id"] for metric in find_colourings(view_of({"measures/distances": data}))}
    assert not found & {f"measures/distances:{name}" for name in ("x", "y", "sep_low", "sep_high", "values_sep")}
    assert "measures/distances:sep" in found


@pytest.mark.parametrize(
    ("measure", "variable", "values", "names", "places"),
    [
        ("distances", "cluster", [3, 0, 3, np.nan], ["group 0", "group 3"], [1, 0, 1, None]),
        ("distances", "cluster", [0, 1, 1, 0], ["group 0", "group 1"], [0, 1, 1, 0]),
        ("position", "positional", [0, 1, np.nan, 0], ["no", "yes"], [0, 1, None, 0]),
        ("entropy", "broad", [0, 0, 0, 0], ["no", "yes"], [0, 0, 0, 0]),
        ("spread", "focused", [1, 1, 1, 1], ["no", "yes"], [1, 1, 1, 1]),
    ],
)
def test_kinds(measure: str, variable: str, values: list[float], names: list[str], places: list[int | None]) -> None:
    layout = Layout.even({"encoder": (2, 2)})
    data = measured(layout, **{variable: ""})
    data[variable][0] = np.array(values).reshape(2, 2)
    view = view_of({f"measures/{measure}": data, "sweep/head-zero": sweep(layout)})
    metric = by_id(find_colourings(view))[f"measures/{measure}:{variable}"]
    assert metric["kind"] == "category"
    assert (metric["names"], metric["values"]) == (names, places)


def test_changes_by_fine_tuning() -> None:
    data = measured(UNEVEN, sep="", sep_low="", sep_high="")
    view = view_of({"compare/special": data, "compare/cosine": measured(UNEVEN, maps="")})
    found = by_id(find_colourings(view))
    change = found["compare/special:sep"]
    assert change["title"] == "Change: Attention to [SEP]"
    assert change["kind"] == "diverging"
    assert "above 0: more after" in change["says"]
    assert change["low"] == expected(view.layout, data["sep_low"])
    assert found["compare/cosine:maps"]["kind"] == "sequential"
    assert not found["compare/cosine:maps"]["title"].startswith("Change: ")


def test_patterns(tmp_path: Path) -> None:
    """Five kinds that the grid is coloured by; every share and every shape is a number of its own beside them."""
    studies.patterns_study(tmp_path / "study")
    found = hc.open_study(tmp_path / "study")["measures/patterns"].to_dataset().load()
    view = view_of({"measures/patterns": found})
    metrics = by_id(find_colourings(view))
    kinds = metrics.pop("patterns")
    assert (kinds["kind"], kinds["title"]) == ("category", "The pattern of its maps")
    assert kinds["names"] == list(PATTERNS) == ["vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous"]
    share = found["share"].values[0]
    assert kinds["values"] == [int(share[head.layer, head.head].argmax()) for head in view.layout]
    assert set(kinds["values"]) == {0, 1, 3, 4}
    shares = {f"measures/patterns/{name}:share": f"{name.capitalize()}: maps with this pattern" for name in PATTERNS}
    shapes = {
        f"measures/patterns/{name}:shapes": f"{name.replace('_', ' ').capitalize()}: shape of its maps"
        for name in SHAPES
    }
    sure = {"measures/patterns:sure": "How sure the rule is of the pattern"}
    assert {name: metric["title"] for name, metric in metrics.items()} == shares | shapes | sure
    assert {metric["group"] for metric in (kinds, *metrics.values())} == {"What its maps look like"}
    for name, metric in metrics.items():
        place, variable = name.rsplit(":", 1)
        choice = place.split("/")[2:]
        for key, array in (("values", variable), ("low", f"{variable}_low"), ("high", f"{variable}_high")):
            one = found[array].sel({found[array].dims[-1]: choice[0]}) if choice else found[array]
            assert metric[key] == expected(view.layout, one), (name, key)


def test_patterns_of_a_named_result() -> None:
    found = measured(UNEVEN, mostly="", sure="").assign_coords(pattern=list(PATTERNS))
    found["mostly"] = found["sure"] * 0 + 3
    metrics = by_id(find_colourings(view_of({"measures/patterns@mine": found})))
    assert metrics["patterns"]["title"] == "The pattern of its maps (mine)"
    assert metrics["patterns"]["values"] == [3] * UNEVEN.count
    assert "measures/patterns@mine:mostly" not in metrics


def test_a_change_of_patterns_is_no_pattern() -> None:
    """What fine-tuning changed stands with the other changes, and the number of a pattern is no amount."""
    changed = measured(UNEVEN, mostly="", sure="")
    metrics = find_colourings(view_of({"compare/patterns": changed}))
    assert [(metric["id"], metric["group"]) for metric in metrics] == [
        ("compare/patterns:sure", "Changed by fine-tuning")
    ]


def test_patterns_that_no_head_has_are_no_colour() -> None:
    """All texts were too short: a grid of nothing would be the first that a page shows."""
    found = measured(UNEVEN, mostly="", sure="").assign_coords(pattern=list(PATTERNS)) * np.nan
    metrics = find_colourings(view_of({"measures/patterns": found, "measures/special": measured(UNEVEN, sep="")}))
    assert "patterns" not in [metric["id"] for metric in metrics]


def test_maps_alone_have_heads_to_click_on() -> None:
    model, tokenizer = studies.classifier(layers=2, heads=2)
    hc.prune(model, ["L0H1"])
    metrics = find_colourings(view_of({"maps/text": hc.maps(model, tokenizer, "She slept.")}))
    assert [metric["values"] for metric in metrics] == [[0, 0, 0]]
    assert metrics[0]["kind"] == "category"
    assert find_colourings(view_of({})) == []


def test_every_metric_of_a_real_measurement() -> None:
    """Ids and titles once each, a value for each head of the layout, kinds that a page knows, ends in order."""
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS[:4], columns=["first", "second"])
    trees = cases.table([cases.sentence(one) for one in cases.TREES[:3]])
    first = hc.measure(model, tokenizer, pairs, text=("first", "second"), distance_examples=2)
    words = hc.measure(model, tokenizer, trees, only=("features", "links"))
    results = {f"measures/{name}": node.to_dataset() for name, node in first.children.items()}
    results |= {f"measures/{name}@words": node.to_dataset() for name, node in words.children.items()}
    view = view_of(results)
    metrics = find_colourings(view)
    by_id(metrics)
    titles = [metric["title"] for metric in metrics]
    assert len(set(titles)) == len(titles)
    for metric in metrics:
        assert len(metric["values"]) == 16
        assert metric["kind"] in ("diverging", "sequential", "category")
        assert any(value is not None for value in metric["values"])
        if metric["kind"] == "category":
            assert {value for value in metric["values"] if value is not None} <= set(range(len(metric["names"])))
        for low, value, high in zip(metric.get("low", []), metric["values"], metric.get("high", []), strict=False):
            assert value is None or low is None or low - 1e-3 * abs(low) <= value <= high + 1e-3 * abs(high)
    previous = by_id(metrics)["measures/position:previous"]
    assert previous["values"] == expected(view.layout, results["measures/position"]["previous"])


def test_a_few_named_choices_come_first() -> None:
    """The first of each kind, ten at most, and nothing about roles that no head has."""
    layout = Layout.even({"encoder": (1, 3)})
    ones = {
        "induction": ("gain", [0.2, 0.0, 0.0], [0.5, 0.0, 0.0]),
        "duplicate": ("gain", [0.01, 0.0, 0.0], [0.02, 0.0, 0.0]),
    }
    results = {}
    for name, (variable, strengths, values) in ones.items():
        schema = MEASURES[name].schemas[variable].attributes()
        parts = {"": strengths, "_low": strengths, "_high": strengths, "_p": [1e-6, 0.9, 0.9]}
        arrays = {f"{variable}_strength{end}": (HEAD_DIMS, np.array([[part]])) for end, part in parts.items()}
        results[f"measures/{name}"] = xr.Dataset(
            {variable: (HEAD_DIMS, np.array([[values]]), schema), **arrays}, coords=head_coords(layout)
        )
    found = sweep(layout)
    colourings = find_colourings(view_of({"sweep/head-zero": found, "sweep/head-mean": found, **results}))
    main = [colouring["id"] for colouring in colourings if colouring["main"]]
    assert main == ["sweep/head-zero:delta", "roles", "measures/induction:gain"]
    assert all(isinstance(colouring["main"], bool) for colouring in colourings)
