"""The patterns of a page: shares as the study has them, head by head, and typical maps that lose nothing but shades."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.attention_maps.typical import TYPICAL
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.patterns.naming import PATTERNS
from headcount.reporting.document import describe, make_page
from headcount.reporting.patterns import find_pattern_result, find_typical, read_patterns
from headcount.reporting.view import View, find_layout, number, read_view
from tests.reporting import studies
from tests.reporting.pages import inflate_layer

STUDIES = ("patterns", "translation", "grouped", "pruned")
RULE = {
    "maps": 10,
    "accuracy": 0.8,
    "f1": 0.7,
    "f1_low": 0.6,
    "f1_high": 0.8,
    "f1_same_models": 0.9,
    "f1_agreed": 0.75,
    "agreement": 0.9,
}
UNEVEN = Layout({"encoder": ((0, 2), (), (1,)), "decoder": ((0, 1, 3),)})


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def shares(layout: Layout, seed: int = 0) -> np.ndarray:
    """Shares of the five patterns [stack, layer, head, pattern] that sum to 1 for each head."""
    generator = np.random.default_rng(seed)
    drawn = {head: generator.dirichlet(np.ones(len(PATTERNS))) for head in layout}
    columns = [by_head({head: one[place] for head, one in drawn.items()}, layout) for place in range(len(PATTERNS))]
    return np.stack(columns, -1)


def patterns(layout: Layout = UNEVEN, seed: int = 0) -> xr.Dataset:
    """A result of the measure in which every pattern has shares of its own."""
    share = shares(layout, seed)
    mostly = np.where(np.isnan(share[..., 0]), np.nan, np.nan_to_num(share, nan=-1.0).argmax(-1))
    whole = np.array([np.nanmean(one, axis=(0, 1)) if np.isfinite(one).any() else one[0, 0] for one in share])
    ends = {"": 0.0, "_low": -0.01, "_high": 0.01}
    arrays: dict[str, Any] = {f"share{end}": ((*HEAD_DIMS, "pattern"), share + by) for end, by in ends.items()}
    arrays |= {f"whole_share{end}": (("stack", "pattern"), whole + by) for end, by in ends.items()}
    arrays |= {"mostly": (HEAD_DIMS, mostly), "sure": (HEAD_DIMS, share.max(-1))}
    return xr.Dataset(
        arrays,
        coords=head_coords(layout) | {"pattern": list(PATTERNS)},
        attrs={
            "rule": RULE,
            "confusion": np.eye(5, dtype=int).tolist(),
            "f1": dict.fromkeys(PATTERNS, 1.0),
            "reliability": [],
        },
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of each kind of model."""
    folder = tmp_path_factory.mktemp("patterns")
    for name in STUDIES:
        getattr(studies, f"{name}_study")(folder / name)
    return folder


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest, place: Path) -> Path:
    return place / str(request.param)


viewed = cache(read_view)


@cache
def stored(study: Path, group: str) -> xr.Dataset:
    return hc.open_study(study)[group].to_dataset().load()


def told_of(view: View) -> dict[str, Any]:
    told = read_patterns(view)
    assert told is not None
    return told


def test_shares_of_all_maps_are_the_studys(study: Path) -> None:
    own, told = stored(study, "measures/patterns"), told_of(viewed(study))
    assert told["names"] == list(PATTERNS) == [str(one) for one in own["pattern"].values]
    for one in told["stacks"]:
        place = list(own["stack"].values).index(one["stack"])
        for key, array in (("share", "whole_share"), ("low", "whole_share_low"), ("high", "whole_share_high")):
            np.testing.assert_allclose(one[key], own[array].values[place], rtol=1e-3, err_msg=key)
        assert sum(one["share"]) == pytest.approx(1, abs=1e-3)
        by_text = own["values_share"].values[:, place]
        long = np.isfinite(by_text[..., 0]).any((1, 2))
        np.testing.assert_allclose(one["share"], np.nanmean(by_text[long], axis=(1, 2)).mean(0), rtol=1e-3)


def test_shares_of_layers_are_the_means_of_their_heads(study: Path) -> None:
    own, told = stored(study, "measures/patterns"), told_of(viewed(study))
    for one in told["stacks"]:
        share = own["share"].values[list(own["stack"].values).index(one["stack"])]
        known = np.isfinite(share[..., 0]).any(1)
        assert len(one["layers"]) == np.flatnonzero(known).max() + 1, "as deep as the stack, not as the deepest"
        for layer, row in enumerate(one["layers"]):
            assert (row is not None) == known[layer]
            if row is not None:
                np.testing.assert_allclose(row, np.nanmean(share[layer], axis=0), rtol=1e-3)


def test_every_head_has_its_own_shares(study: Path) -> None:
    """In the layout's order, with the ends of the intervals."""
    view, own = viewed(study), stored(study, "measures/patterns")
    told = told_of(view)
    for key, array in (("share", "share"), ("low", "share_low"), ("high", "share_high")):
        values = own[array]
        expected = [
            [number(float(one)) for one in values.sel(stack=head.stack, layer=head.layer, head=head.head).values]
            for head in view.layout
        ]
        assert told[key] == expected, key
    json.dumps(told, allow_nan=False)


def test_five_shares_stay_apart() -> None:
    """Every pattern, stack, layer and head with another number."""
    own = patterns()
    view = view_of({"measures/patterns": own})
    assert view.layout == Layout({"encoder": ((0, 2), (), (1,)), "decoder": ((0, 1, 3),), "cross": ()})
    told = told_of(view)
    assert [one["stack"] for one in told["stacks"]] == ["encoder", "decoder"]
    for head, row in zip(view.layout, told["share"], strict=True):
        values = own["share"].sel(stack=head.stack, layer=head.layer, head=head.head).values
        assert row == [number(float(one)) for one in values]
    encoder, decoder = told["stacks"]
    assert encoder["layers"][1] is None, "no head of the layer is left"
    assert [len(one["layers"]) for one in (encoder, decoder)] == [3, 1]
    np.testing.assert_allclose(encoder["layers"][0], own["share"].values[0, 0, [0, 2]].mean(0), rtol=1e-3)
    np.testing.assert_allclose(decoder["layers"][0], own["share"].values[1, 0, [0, 1, 3]].mean(0), rtol=1e-3)
    assert encoder["share"] != decoder["share"]


def test_how_good_the_names_are_is_told(place: Path) -> None:
    own, told = stored(place / "patterns", "measures/patterns"), told_of(viewed(place / "patterns"))
    assert told["rule"] == own.attrs["rule"]
    assert told["confusion"] == own.attrs["confusion"]
    assert np.array(told["confusion"]).shape == (5, 5)
    assert told["f1"] == own.attrs["f1"]
    assert told["reliability"] == own.attrs["reliability"]


def test_results_of_before_the_names_were_scored_by_family() -> None:
    """They have neither F1 of each pattern nor reliability, and are told without."""
    old = patterns()
    del old.attrs["f1"], old.attrs["reliability"]
    told = read_patterns(view_of({"measures/patterns": old}))
    assert told is not None
    assert told["f1"] is told["reliability"] is None
    assert told["stacks"]


@pytest.mark.parametrize(("task", "first"), [("mrpc", 0.42), ("sst2", 0.36), ("cola", None), (None, None)])
def test_the_papers_shares_are_those_of_the_task(task: str | None, first: float | None) -> None:
    attributes = {} if task is None else {"task": task}
    told = told_of(view_of({"measures/patterns": patterns(), "sweep/head-zero": xr.Dataset(attrs=attributes)}))
    assert (told["published"] and told["published"]["share"][0]) == first


def test_without_the_measure_there_is_none(tmp_path: Path) -> None:
    view = read_view(studies.partial_study(tmp_path / "study", "maps"))
    assert read_patterns(view) is None
    assert find_typical(view) == (None, {})
    assert find_pattern_result(view) == ("", None)
    told, blobs = describe(view, "study")
    assert (told["patterns"], told["typical"]) == (None, None)
    assert not any(mark.startswith("typical") for mark in blobs)


def test_a_measure_of_another_name_is_not_taken_for_it() -> None:
    view = view_of({"measures/patterns-of-mine": patterns(), "compare/patterns": patterns()})
    assert find_pattern_result(view) == ("", None)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["patterns@a", "patterns"], "patterns"),
        (["patterns", "patterns@a"], "patterns"),
        (["patterns@b", "patterns@a"], "patterns@b"),
        (["special", "patterns@a"], "patterns@a"),
    ],
)
def test_the_result_without_a_name_comes_first(names: list[str], expected: str) -> None:
    results = {f"measures/{name}": patterns(seed=seed) for seed, name in enumerate(names)}
    name, found = find_pattern_result(view_of(results))
    assert name == expected
    assert found is results[f"measures/{expected}"]


def test_cross_attention_has_no_pattern(place: Path) -> None:
    view = viewed(place / "translation")
    told = told_of(view)
    assert [one["stack"] for one in told["stacks"]] == ["encoder", "decoder"]
    assert [len(one["layers"]) for one in told["stacks"]] == [3, 2]
    for head, row in zip(view.layout, told["share"], strict=True):
        assert (row == [None] * 5) == (head.stack == "cross"), head
    typical, blobs = find_typical(view)
    assert typical is not None
    by_stack = {one["stack"]: one for one in typical["stacks"]}
    assert (np.array(by_stack["encoder"]["text"])[..., 0] >= 0).all()
    assert (np.array(by_stack["decoder"]["text"])[:2, :2, 0] >= 0).all()
    if "cross" in by_stack:
        cross = by_stack["cross"]
        assert (np.array(cross["text"]) == -1).all()
        assert not any(inflate_layer(blobs[mark], tuple(cross["shape"][1:])).any() for mark in cross["layers"])


def test_heads_that_are_gone_have_neither_shares_nor_maps(place: Path) -> None:
    view = viewed(place / "pruned")
    told, (typical, _) = told_of(view), find_typical(view)
    assert [view.layout.spell(head) for head in view.layout] == ["L0H0", "L0H2", "L0H3", "L2H1", "L2H2"]
    assert len(told["share"]) == 5
    assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in told["share"])
    (stack,) = told["stacks"]
    assert [row is None for row in stack["layers"]] == [False, True, False]
    assert typical is not None
    texts = np.array(typical["stacks"][0]["text"])
    left = {(head.layer, head.head) for head in view.layout}
    assert {place for place in np.ndindex(texts.shape[:2]) if (texts[place] >= 0).any()} == left


def test_a_model_that_looks_back_alone(place: Path) -> None:
    """Maps of a decoder have nothing above their diagonal, whose steps are the tokens: 8 or more on 32 places."""
    told, (typical, blobs) = told_of(viewed(place / "grouped")), find_typical(viewed(place / "grouped"))
    assert [one["stack"] for one in told["stacks"]] == ["decoder"]
    assert typical is not None
    (stack,) = typical["stacks"]
    bytes_of = np.stack([inflate_layer(blobs[mark], tuple(stack["shape"][1:])) for mark in stack["layers"]])
    assert bytes_of.any()
    assert not np.triu(bytes_of, 32 // 8 + 1).any()


def test_typical_maps_lose_nothing_but_shades(study: Path) -> None:
    own = stored(study, "patterns/typical")
    typical, blobs = find_typical(viewed(study))
    assert typical is not None
    assert typical["kinds"] == list(TYPICAL)
    assert typical["texts"] == [str(one) for one in own["texts"].values]
    assert [one["stack"] for one in typical["stacks"]] == [str(one) for one in own["stack"].values]
    marks = [mark for one in typical["stacks"] for mark in one["layers"]]
    assert sorted(marks) == sorted(blobs)
    assert len(set(marks)) == len(marks)
    for place, one in enumerate(typical["stacks"]):
        maps = own["maps"].values[place]
        layers, heads, kinds, side, _ = maps.shape
        assert one["shape"] == [layers, heads * kinds, side, side]
        for layer, mark in enumerate(one["layers"]):
            found = inflate_layer(blobs[mark], (heads * kinds, side, side)).reshape(heads, kinds, side, side)
            assert np.abs(found.astype(int) - maps[layer]).max() <= 2, "64 shades"
            assert len(np.unique(found)) <= 65
        np.testing.assert_array_equal(one["text"], own["text"].values[place])
        np.testing.assert_array_equal(one["named"], np.nan_to_num(own["named"].values[place], nan=-1))
    json.dumps(typical, allow_nan=False)


def test_every_typical_map_has_a_text_a_name_and_light(study: Path) -> None:
    """And what is not there has none of them."""
    typical, blobs = find_typical(viewed(study))
    assert typical is not None
    for one in typical["stacks"]:
        texts, named = np.array(one["text"]), np.array(one["named"])
        there = texts >= 0
        np.testing.assert_array_equal(named >= 0, there)
        assert texts.max(initial=-1) < len(typical["texts"])
        assert named.max(initial=-1) < len(PATTERNS)
        maps = np.stack([inflate_layer(blobs[mark], tuple(one["shape"][1:])) for mark in one["layers"]])
        np.testing.assert_array_equal(maps.reshape(*texts.shape, -1).any(-1), there)


def test_a_typical_map_shows_the_pattern_that_most_texts_have(place: Path) -> None:
    view = viewed(place / "patterns")
    told, (typical, _) = told_of(view), find_typical(view)
    assert typical is not None
    named = np.array(typical["stacks"][0]["named"])
    for head, row in zip(view.layout, told["share"], strict=True):
        clearest, middle, exception = named[head.layer, head.head]
        assert clearest == middle == int(np.argmax(row))
        assert (exception >= 0) == (max(row) < 1)
        assert exception != clearest
    assert len({tuple(row) for row in told["share"]}) >= 4, "columns, diagonals, a block and none"


def test_typical_maps_belong_to_the_shares_that_are_shown(place: Path) -> None:
    """Of two names the maps of the one whose shares the page has."""
    view = viewed(place / "patterns")
    own, maps = view.results["measures/patterns"], view.results["patterns/typical"]
    other = maps.assign(texts=maps["texts"] + " and more")
    both = {"measures/patterns@b": own, "patterns/typical@a": maps, "patterns/typical@b": other}
    typical, _ = find_typical(view_of(both))
    assert typical is not None
    assert all(text.endswith(" and more") for text in typical["texts"])
    assert find_typical(view_of({"measures/patterns": own, "patterns/typical@a": maps}))[0] is None


def test_typical_maps_of_a_name_beside_shares_without_one(place: Path) -> None:
    """All measures, then `headcount patterns --name a`: the shares that have maps are those of the page."""
    view = viewed(place / "patterns")
    own, maps = view.results["measures/patterns"], view.results["patterns/typical"]
    both = view_of({"measures/patterns": own, "measures/patterns@a": own, "patterns/typical@a": maps})
    assert find_pattern_result(both)[0] == "patterns@a"
    assert find_typical(both)[0] is not None


def test_packed_maps_are_small(study: Path) -> None:
    """A layer's maps never need more than their bytes do as text."""
    own = stored(study, "patterns/typical")["maps"]
    _, blobs = find_typical(viewed(study))
    raw = own.values[0, 0].size
    assert max(map(len, blobs.values())) < 0.75 * 4 / 3 * raw
    assert sum(map(len, blobs.values())) < 0.6 * own.size


def test_several_studies_have_blocks_of_their_own(place: Path) -> None:
    views = [viewed(place / name) for name in STUDIES[:2]]
    page = make_page([(view, view.name) for view in views])
    data = json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    marks = []
    for number_of, (view, told) in enumerate(zip(views, data["studies"], strict=True)):
        _, blobs = find_typical(view)
        own = [mark for stack in told["typical"]["stacks"] for mark in stack["layers"]]
        assert [mark.removeprefix(f"s{number_of}-") for mark in own] == list(blobs)
        for mark, text in zip(own, blobs.values(), strict=True):
            assert f'<script type="text/plain" id="{mark}">{text}</script>' in page
        marks += own
    assert len(set(marks)) == len(marks)
    blocks = [part.split('"', 1)[0] for part in page.split('type="text/plain" id="')[1:]]
    assert len(set(blocks)) == len(blocks)
    assert set(marks) <= set(blocks)


def test_texts_that_are_too_short_have_no_shares(tmp_path: Path) -> None:
    """All measures of short texts: the one of patterns has no number, and the page no part about them."""
    model, tokenizer = studies.classifier(layers=1, heads=2)
    data = pd.DataFrame({"sentence": ["She slept.", "It was red."]})
    hc.measure(model, tokenizer, data, text="sentence", only=("patterns", "special"), out=tmp_path / "study")
    view = read_view(tmp_path / "study")
    told, _ = describe(view, "study")
    assert told["patterns"]["stacks"] == []
    assert told["patterns"]["share"] == [[None] * 5] * 2
    assert not any("maps look like" in one for section in told["findings"] for one in section["sentences"])
