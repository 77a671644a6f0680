"""A study as a page needs it: which heads there are, every value at its head, and only what a page shows is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, ArrayPlan, by_head, head_coords
from headcount.core.store import Study
from headcount.reporting import view as view_file
from headcount.reporting.view import View, find_layout, number, read_view
from tests.measures import tiny as measured
from tests.reporting import studies
from tests.study_results import write_result

STACKS = ("encoder", "decoder", "cross")


def numbers(layout: Layout, variable: str = "delta", seed: int = 0) -> xr.Dataset:
    """A result with a number for each head of the layout."""
    generator = np.random.default_rng(seed)
    values = by_head({head: generator.normal() for head in layout}, layout)
    return xr.Dataset({variable: (HEAD_DIMS, values)}, coords=head_coords(layout))


def real(layout: Layout) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The stacks of which anything is known."""
    return {stack: layers for stack, layers in layout.stacks.items() if layers}


def view_of(**results: xr.Dataset) -> View:
    named = {name.replace("__", "/"): one for name, one in results.items()}
    return View("study", named, (), find_layout(named))


@pytest.mark.parametrize(
    "stacks",
    [
        {"encoder": ((0, 1), (0, 1))},
        {"encoder": ((0, 2, 3), (), (1, 2))},
        {"encoder": ((0, 1), (1,), ())},
        {"encoder": ((), (1, 3))},
        {"encoder": ((0, 1, 2, 3),) * 3, "decoder": ((0, 1),) * 2, "cross": ((0, 1),) * 2},
        {"encoder": ((0, 1), (), (1,)), "decoder": ((0, 1, 2, 3),) * 5, "cross": ((), (3,))},
    ],
    ids=["even", "empty in the middle", "empty at the end", "empty at the start", "uneven", "uneven and pruned"],
)
def test_the_layout_is_that_of_the_model(stacks: dict[str, tuple[tuple[int, ...], ...]]) -> None:
    layout = Layout(stacks)
    assert find_layout({"sweep/head-zero": numbers(layout)}) == layout


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(0, 100),
)
def test_every_value_is_at_its_head(stacks: list[list[set[int]]], seed: int) -> None:
    layout = Layout(
        {stack: tuple(tuple(sorted(one)) for one in layers) for stack, layers in zip(STACKS, stacks, strict=False)}
    )
    if not layout.count:
        return
    found = numbers(layout, seed=seed)
    view = view_of(sweep__head=found)
    assert list(view.layout) == list(layout)
    expected = [
        number(float(found["delta"].sel(stack=head.stack, layer=head.layer, head=head.head))) for head in layout
    ]
    assert None not in expected
    assert view.by_head(found["delta"]) == expected
    assert view.by_head(found["delta"].transpose("head", "stack", "layer")) == expected


def test_a_result_of_fewer_heads() -> None:
    """A sweep of one stack, or of a model that lost heads: the others have no value."""
    whole = Layout.even({"encoder": (3, 4), "cross": (2, 2)})
    small = Layout({"cross": ((1,), (0, 1))})
    few = numbers(small, "few")
    view = view_of(sweep__head=numbers(whole), measures__few=few)
    assert real(view.layout) == real(whole)
    found = dict(zip(map(str, whole), view.by_head(few["few"]), strict=True))
    assert {head for head, value in found.items() if value is not None} == {"cross.L0H1", "cross.L1H0", "cross.L1H1"}
    assert found["cross.L1H0"] == number(float(few["few"].sel(stack="cross", layer=1, head=0)))


def test_heads_of_all_results_are_put_together() -> None:
    """No result alone has all heads: a pruned model beside the whole one, the encoder beside the decoder."""
    left, right = Layout({"encoder": ((0,), (), (2,))}), Layout({"encoder": ((1, 3),), "decoder": ((0,), (0,))})
    found = find_layout({"sweep/head-zero@a": numbers(left), "sweep/head-zero@b": numbers(right)})
    assert real(found) == {"encoder": ((0, 1, 3), (), (2,)), "decoder": ((0,), (0,))}


def test_a_head_that_only_one_variable_knows() -> None:
    """A head that writes nothing has no direction of its output, but a map."""
    layout = Layout.even({"encoder": (2, 2)})
    found = numbers(layout, "alone").assign(both=numbers(layout, "both")["both"])
    found["alone"][0, 1, 1] = np.nan
    assert find_layout({"compare/cosine": found}) == layout


def test_values_that_are_no_numbers() -> None:
    layout = Layout.even({"encoder": (1, 4)})
    found = numbers(layout)
    view = view_of(sweep__head=found)
    found["delta"][0, 0] = [np.nan, np.inf, -np.inf, 0.0]
    assert view.by_head(found["delta"]) == [None, None, None, 0.0]


def test_results_without_heads_have_none() -> None:
    layers = xr.Dataset({"delta": (("stack", "layer"), np.zeros((1, 2)))}, coords={"stack": ["encoder"]})
    assert find_layout({"sweep/layer-uniform": layers}) == Layout({})
    assert find_layout({}) == Layout({})
    empty = numbers(Layout.even({"encoder": (2, 2)})) * np.nan
    assert find_layout({"sweep/head-zero": empty}).count == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456, 0.1235),
        (-1234567.0, -1235000.0),
        (1e-9, 1e-9),
        (0.0, 0.0),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_numbers_have_a_few_digits(value: float, expected: float | None) -> None:
    assert number(value) == expected
    assert number(np.float32(value)) == expected  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


def model_layout(model: Any) -> Layout:
    layout: Layout = hc.read_anatomy(model).layout
    return layout


def test_a_pruned_study(place: Path) -> None:
    found = read_view(studies.pruned_study(place / "pruned"))
    assert found.layout == model_layout(hc.prune(studies.classifier(seed=5)[0], studies.GONE))
    assert found.name == "pruned"
    tree = hc.open_study(place / "pruned")
    for name, variable in (
        ("sweep/head-zero", "delta"),
        ("measures/special", "sep"),
        ("measures/entropy", "entropy"),
    ):
        array = tree[name][variable]
        expected = [
            number(float(array.sel(stack=head.stack, layer=head.layer, head=head.head))) for head in found.layout
        ]
        assert found.by_head(found.results[name][variable]) == expected


def test_a_study_of_several_stacks(place: Path) -> None:
    """Encoder of 3 layers of 4 heads, decoder and cross of 2 of 2: maps, sweep and measures agree."""
    found = read_view(studies.translation_study(place / "translation"))
    layout = model_layout(measured.translator()[0])
    assert set(found.layout) == set(layout)
    for kind in ("maps", "sweep", "measures"):
        part = {name: one for name, one in found.results.items() if name.startswith(kind)}
        assert dict(find_layout(part).stacks) == dict(layout.stacks), kind
    delta = found.results["sweep/head-uniform"]["delta"]
    assert found.by_head(delta) == [
        number(float(delta.sel(stack=head.stack, layer=head.layer, head=head.head))) for head in found.layout
    ]


def test_stacks_stand_in_the_order_of_the_model(place: Path) -> None:
    if not (place / "translation").exists():
        studies.translation_study(place / "translation")
    assert list(read_view(place / "translation").layout.stacks) == list(STACKS)


def test_a_sweep_of_one_stack_of_several(place: Path) -> None:
    """The decoder has 2 layers, the encoder, which is not in the sweep, 3; the study itself says `cross.L0H0`."""
    found = read_view(studies.generation_study(place / "generation"))
    head = next(iter(found.layout))
    assert [found.layout.spell(head), found.layout.layers("cross")] == ["cross.L0H0", 2]


@pytest.mark.parametrize("gone", ["L1", "L0", "L0H0,L1H1"])
def test_maps_alone(gone: str) -> None:
    model, tokenizer = studies.classifier(layers=2, heads=2)
    hc.prune(model, gone)
    found = view_file.find_layout({"maps/text": hc.maps(model, tokenizer, "She slept.")})
    assert found == model_layout(model)


def test_partial_studies(place: Path) -> None:
    for what in ("maps", "layer", "measures"):
        studies.partial_study(place / what, what)
    assert read_view(place / "maps").layout == Layout.even({"encoder": (2, 2)})
    assert read_view(place / "measures").layout == Layout.even({"encoder": (2, 2)})
    layers = read_view(place / "layer")
    assert layers.layout.count == 0
    assert list(layers.of("sweep")) == ["layer-uniform"]
    assert layers.of("maps") == {}


def test_an_empty_study(place: Path) -> None:
    found = read_view(studies.empty_study(place / "empty"))
    assert (found.name, found.results, found.unfinished, found.layout) == ("empty", {}, (), Layout({}))


def test_unfinished_results_are_named_and_not_shown(tmp_path: Path) -> None:
    layout = Layout.even({"encoder": (1, 2)})
    write_result(tmp_path / "s", "measures/special", {}, numbers(layout, "sep"))
    plan = {"values_sep": ArrayPlan(("example",), (4,), "float32")}
    Study(tmp_path / "s").group("measures/entropy", {}, {}, plan, {}, [(0, 2), (2, 4)])
    found = read_view(tmp_path / "s")
    assert list(found.results) == ["measures/special"]
    assert found.unfinished == ("measures/entropy",)


def test_a_name_of_a_folder_with_dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studies.empty_study(tmp_path / "runs.v2")
    monkeypatch.chdir(tmp_path / "runs.v2")
    assert read_view(".").name == "runs.v2"


def test_only_what_a_page_shows_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the values of every text, nor the outputs of sets of heads, nor large arrays, but texts, logits, maps."""
    layout = Layout.even({"encoder": (2, 2)})
    large = np.zeros((30, 7))
    more = {
        "values_sep": (("example", "class"), large),
        "logits": (("example", "class"), large),
        "loss": (("example", "class"), large),
        "text": (("example",), np.array(["x"] * 30, dtype=object)),
        "maps_encoder": (("example", "class"), large.astype("uint8")),
        "blocks_encoder": (("example", "class"), large.astype("uint8")),
        "done": (("work_unit",), np.ones(2, dtype=bool)),
    }
    write_result(
        tmp_path / "s", "sweep/head-zero", {}, numbers(layout).assign({k: more[k] for k in more if k != "done"})
    )
    write_result(tmp_path / "s", "sweep/sets-zero@prune", {}, numbers(layout).assign(logits=more["logits"]))
    pictures = xr.Dataset({"maps": (("head", "query", "key"), large.reshape(30, 7, 1).astype("uint8"))})
    for place in ("patterns/typical", "patterns/typical@mine", "measures/patterns"):
        write_result(tmp_path / "s", place, {}, pictures)
    monkeypatch.setattr(view_file, "LARGEST", 20)
    found = read_view(tmp_path / "s").results
    assert {"delta", "logits", "text", "maps_encoder", "blocks_encoder"} <= set(found["sweep/head-zero"].data_vars)
    assert not {"values_sep", "loss", "done"} & set(found["sweep/head-zero"].variables)
    assert not found["sweep/sets-zero@prune"].variables
    for place in ("patterns/typical", "patterns/typical@mine"):
        np.testing.assert_array_equal(found[place]["maps"], pictures["maps"])
    assert "maps" not in found["measures/patterns"]
