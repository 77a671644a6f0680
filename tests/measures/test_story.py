"""What is told of results, on trees made by hand whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.measures.story import LINES, changed_rows, changes, left_out, pattern_rows, standing_out, strongest

NAN = np.nan


def dataset(stacks: str = "encoder", extra: dict[str, list[str]] | None = None, **values: Any) -> xr.Dataset:
    """Variables [stack, layer, head, ...] with intervals 0.1 below and 0.2 above, or as given."""
    dims = ("stack", "layer", "head", *(extra or {}))
    arrays = {}
    for name, given in values.items():
        array = np.asarray(given, dtype=float)
        arrays[name] = (dims, array)
        for end, shift in (("low", -0.1), ("high", 0.2)):
            if f"{name}_{end}" not in values and not name.endswith(("_low", "_high")):
                arrays[f"{name}_{end}"] = (dims, array + shift)
    first = next(iter(arrays.values()))[1]
    coords = {"stack": stacks.split(), "layer": range(first.shape[1]), "head": range(first.shape[2]), **(extra or {})}
    return xr.Dataset(arrays, coords={name: list(values) for name, values in coords.items()})


def tree(attrs: dict[str, Any] | None = None, **found: xr.Dataset) -> xr.DataTree:
    made = xr.DataTree.from_dict(found)
    made.attrs = attrs or {}
    return made


ONE = [[[0.1, 0.5], [0.7, -0.3], [0.2, NAN]]]
TWO = [[[0.1, 0.2], [0.3, NAN]], [[0.4, 0.9], [NAN, NAN]]]


def test_the_strongest_head() -> None:
    one = dataset(x=ONE)
    assert strongest(one, "x", {}) == ("L1H0", "0.700 [0.600, 0.900]")
    assert strongest(one, "x", {}, smallest=True) == ("L1H1", "-0.300 [-0.400, -0.100]")


def test_the_strongest_head_of_several_stacks() -> None:
    two = dataset("encoder cross", x=TWO)
    assert strongest(two, "x", {}) == ("cross.L0H1", "0.900 [0.800, 1.100]")
    assert strongest(two, "x", {}, smallest=True) == ("encoder.L0H0", "0.100 [0.000, 0.300]")
    negative = dataset("encoder cross", x=-np.array(TWO))
    assert strongest(negative, "x", {}) == ("encoder.L0H0", "-0.100 [-0.200, 0.100]")
    assert strongest(negative, "x", {}, smallest=True)[0] == "cross.L0H1"


def test_the_strongest_head_along_a_choice() -> None:
    link = ["verb to subject", "pronoun to noun"]
    both = dataset(extra={"link": link}, gain=[[[[0.1, 0.8], [0.6, 0.2]]]])
    assert strongest(both, "gain", {"link": link[0]}) == ("L0H1", "0.600 [0.500, 0.800]")
    assert strongest(both, "gain", {"link": link[1]}) == ("L0H0", "0.800 [0.700, 1.000]")


def test_the_order_of_the_dimensions_does_not_matter() -> None:
    turned = dataset("encoder cross", x=TWO).transpose("head", "layer", "stack")
    assert strongest(turned, "x", {})[0] == "cross.L0H1"


def test_heads_that_are_numbered_from_0_in_a_chosen_stack() -> None:
    two = dataset("encoder cross", x=TWO)
    assert strongest(two.sel(stack=["cross"]), "x", {})[0] == "L0H1"


def test_standing_out() -> None:
    link = ["verb to subject", "pronoun to noun"]
    found = tree(
        links=dataset(extra={"link": link}, gain=[[[[0.3, NAN], [0.1, NAN]]]]),
        position=dataset(previous=[[[0.2, 0.9, 0.4]]], next=[[[NAN, NAN, NAN]]]),
        entropy=dataset(entropy=[[[1.0, 3.0, NAN]]]),
        nonsense=dataset(previous=[[[1.0]]]),
    )
    assert standing_out(found) == [
        ("looks at the previous token", "L0H1", "0.900 [0.800, 1.100]", "0.400"),
        ("is broadest (entropy in nats)", "L0H1", "3.000 [2.900, 3.200]", "2.000"),
        ("verb to subject (over its offset)", "L0H0", "0.300 [0.200, 0.500]", "0.200"),
    ]
    assert standing_out(tree()) == []


def test_every_line_can_be_told() -> None:
    """Each one is about a variable that its measure has."""
    from headcount.measures.catalogue import MEASURES
    from headcount.measures.contract import Setting

    setting = Setting(("cls", "sep", "punctuation", "noun", "verb", "pronoun"), True, True, "masked", {"encoder": 2}, 4)
    for name, variable, choice, _ in LINES:
        dims = MEASURES[name].variables(setting)[variable]
        assert dims == tuple(choice)
        for dim, value in choice.items():
            assert value in MEASURES[name].coords(setting)[dim]
    assert len({said for *_, said in LINES}) == len(LINES)


def test_left_out() -> None:
    distances = xr.Dataset(
        {
            "p": ("stack", [0.001, NAN, 0.5]),
            "within_layers": ("stack", [0.25, NAN, 0.1]),
            "between_layers": ("stack", [0.5, NAN, 0.2]),
        },
        coords={"stack": ["encoder", "decoder", "cross"]},
    )
    attrs = {"cut": 3, "texts": 9, "left_out": {"sentences": "the texts are no pairs", "links": "no trees"}}
    assert left_out(tree(attrs, distances=distances)) == [
        "3 texts were longer than the model takes and were cut.",
        "Heads of one layer are 0.250 nats apart, heads of different layers 0.500 (encoder, p = 0.001).",
        "Heads of one layer are 0.100 nats apart, heads of different layers 0.200 (cross, p = 0.5).",
        "sentences was left out: the texts are no pairs.",
        "links was left out: no trees.",
    ]
    assert left_out(tree({"cut": 0, "left_out": {}})) == []


def compared(maps: Any, stacks: str = "encoder") -> xr.DataTree:
    """A comparison of two texts, 0.05 below and above the cosines."""
    one = dataset(stacks, maps=maps)
    return tree(cosine=one.assign(values_maps=xr.concat([one["maps"] - 0.05, one["maps"] + 0.05], "example")))


def test_changes() -> None:
    """A layer and a head with their intervals, each beside the median one."""
    layer, head = changes(compared([[[0.9, 0.8], [0.3, 0.7], [1.0, 1.0], [0.6, 0.2]]]))
    assert layer.startswith(
        "The maps of L3 differ most: mean cosine 0.400 [0.350, 0.450] (1 is identical), against 0.675"
    )
    assert head == "The maps of L3H1 differ most: 0.200 [0.100, 0.400], against 0.750 for the median head."


def test_changes_where_heads_are_absent() -> None:
    """A head that is not there has not changed, and does not count in the mean of its layer."""
    lines = changes(compared([[[0.9, NAN], [0.7, 0.1], [0.8, 0.6]]]))
    assert lines[0].startswith("The maps of L1 differ most: mean cosine 0.400 [")
    assert lines[0].endswith("against 0.700 for the median layer.")
    assert lines[1].endswith("L1H1 differ most: 0.100 [0.000, 0.300], against 0.700 for the median head.")


def test_changes_of_several_stacks() -> None:
    lines = changes(compared([[[0.9, 0.8], [0.5, 0.7]], [[0.2, 0.4], [1.0, 1.0]]], "encoder cross"))
    assert len(lines) == 4
    assert lines[0].startswith("The maps of encoder.L1 differ most: mean cosine 0.600 [")
    assert "encoder.L1H0 differ most: 0.500 [0.400, 0.700]" in lines[1]
    assert lines[2].startswith("The maps of cross.L0 differ most: mean cosine 0.300 [")
    assert "cross.L0H0 differ most: 0.200 [0.100, 0.400]" in lines[3]


def test_layers_that_a_stack_does_not_have_have_not_changed() -> None:
    maps = [[[0.9], [0.8], [0.7]], [[0.6], [0.5], [NAN]]]
    assert "nan" not in " ".join(changes(compared(maps, "encoder decoder")))


def test_nobody_is_the_most_at_what_no_head_does() -> None:
    """In a causal model no head looks at the next token."""
    rows = standing_out(tree(position=dataset(previous=ONE, next=np.zeros((1, 3, 2)))))
    assert ("looks at the next token", "no head", "", "0.000") in rows
    assert rows[0][:2] == ("looks at the previous token", "L1H0")


def test_changed_rows() -> None:
    link = ["verb to subject", "pronoun to noun"]
    found = tree(
        cosine=dataset(maps=[[[0.9, 0.8]]]),
        position=dataset(previous=[[[0.3, 0.05, -0.15, -0.7, NAN, 0.11]]]),  # low > 0: two; high < 0: one
        links=dataset(extra={"link": link}, gain=[[[[0.5, -0.5], [0.4, -0.6]]]]),
    )
    assert changed_rows(found) == [
        ("position: previous", "2", "1", "L0H0 +0.300", "L0H3 -0.700"),
        ("links: gain verb to subject", "2", "0", "L0H0 +0.500", "L0H1 +0.400"),
        ("links: gain pronoun to noun", "0", "2", "L0H0 -0.500", "L0H1 -0.600"),
    ]


def test_changed_rows_of_several_stacks() -> None:
    rows = changed_rows(tree(special=dataset("encoder cross", cls=TWO, sep=-np.array(TWO))))
    assert rows == [
        ("special: cls", "4", "0", "cross.L0H1 +0.900", "encoder.L0H0 +0.100"),
        ("special: sep", "0", "3", "encoder.L0H0 -0.100", "cross.L0H1 -0.900"),
    ]


def test_an_interval_that_ends_at_0_is_no_change() -> None:
    entropy = dataset(entropy=[[[0.1, -0.2, 0.0]]], entropy_low=[[[0.0, -0.3, 0.0]]], entropy_high=[[[0.2, 0.0, 0.0]]])
    assert changed_rows(tree(entropy=entropy)) == [("entropy: entropy", "0", "0", "L0H0 +0.100", "L0H1 -0.200")]


def test_what_no_text_answers_is_no_row() -> None:
    found = tree(repeated=dataset(gain=[[[NAN, NAN]]]), entropy=dataset(entropy=[[[0.5, 0.4]]]))
    assert [row[0] for row in changed_rows(found)] == ["entropy: entropy"]


def patterns(stacks: str, shares: Any) -> xr.Dataset:
    """Shares [stack, layer, head, pattern] of three patterns, and what follows from them."""
    names = ["vertical", "diagonal", "block"]
    made = dataset(stacks, extra={"pattern": names}, share=shares)
    array = np.asarray(shares, dtype=float)
    known = ~np.isnan(array[..., 0])
    made["mostly"] = made["share"].dims[:3], np.where(known, np.nan_to_num(array, nan=-1).argmax(-1), NAN)
    whole = made["share"].mean(("layer", "head"))
    return made.assign(whole_share=whole, whole_share_low=whole - 0.05, whole_share_high=whole + 0.1)


def test_pattern_rows() -> None:
    shares = [[[[0.6, 0.4, 0], [0.9, 0.1, 0]], [[0.1, 0.7, 0.2], [0.8, 0.2, 0]], [[1, 0, 0], [0.6, 0, 0.4]]]]
    found = patterns("encoder", shares)
    assert pattern_rows(found, "encoder") == [
        ("vertical", "67 [62, 77]", "5", "L2H0, L0H1, L1H1"),
        ("diagonal", "23 [18, 33]", "1", "L1H0"),
        ("block", "10 [5, 20]", "0", ""),
    ]
    assert pattern_rows(found, "encoder", named=1)[0][3] == "L2H0"
    # Of heads that are equally clear, the earlier ones; all of them where there is room.
    assert pattern_rows(found, "encoder", named=9)[0][3] == "L2H0, L0H1, L1H1, L0H0, L2H1"


def test_pattern_rows_of_several_stacks() -> None:
    """Heads that a stack does not have are none of its heads."""
    found = patterns("encoder decoder", [[[[1, 0, 0], [0, 1, 0]]], [[[0, 0.2, 0.8], [NAN, NAN, NAN]]]])
    assert pattern_rows(found, "encoder") == [
        ("vertical", "50 [45, 60]", "1", "encoder.L0H0"),
        ("diagonal", "50 [45, 60]", "1", "encoder.L0H1"),
        ("block", "0 [-5, 10]", "0", ""),
    ]
    assert pattern_rows(found, "decoder")[2] == ("block", "80 [75, 90]", "1", "decoder.L0H0")
    assert [row[2] for row in pattern_rows(found, "decoder")] == ["0", "0", "1"]
    assert pattern_rows(found.sel(stack=["decoder"]), "decoder")[2][3] == "L0H0"
