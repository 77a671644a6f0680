"""Maps for a page: nothing lost on the way, coarser only where the room is short, every side with its tokens."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import headcount as hc
from headcount.reporting.maps import LEVELS, deflate_layer, find_maps, is_causal
from headcount.reporting.view import View, find_layout
from tests.measures import tiny as measured
from tests.reporting import studies
from tests.reporting.pages import inflate_layer

LAYERS = arrays(np.uint8, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=st.integers(0, 255))


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def unpacked(told: dict[str, Any], blobs: dict[str, str], stack: str = "encoder") -> np.ndarray:
    """The bytes [layer, head, query, key] as the page has them."""
    one = next(one for one in told["stacks"] if one["stack"] == stack)
    shape = tuple(one["shape"])
    assert len(one["layers"]) == shape[0]
    assert (len(one["queries"]), len(one["keys"])) == shape[2:]
    return np.stack([inflate_layer(blobs[mark], shape[1:]) for mark in one["layers"]])


@settings(deadline=None)
@given(LAYERS)
def test_packed_and_unpacked_again(layer: np.ndarray) -> None:
    text = deflate_layer(layer)
    np.testing.assert_array_equal(inflate_layer(text, layer.shape), layer)
    assert re.fullmatch(r"[A-Za-z0-9+/]*=*", text), "nothing that could end a block"


@settings(deadline=None)
@given(LAYERS, st.sampled_from(LEVELS))
def test_fewer_levels_are_near(layer: np.ndarray, levels: int) -> None:
    """At most half of a step away, in order, no more shades than asked for, and the darkest stays the darkest."""
    before = layer.copy()
    found = inflate_layer(deflate_layer(layer, levels), layer.shape)
    np.testing.assert_array_equal(layer, before, err_msg="what is packed is not changed")
    step = 256 // levels
    error = np.abs(found.astype(int) - layer.astype(int))
    assert error.max() <= step // 2
    assert len(np.unique(found)) <= levels + 1
    order = np.argsort(layer.ravel(), kind="stable")
    assert (np.diff(found.ravel()[order].astype(int)) >= 0).all()
    assert (found[layer == 255] == 255).all()
    assert (found[layer == 0] == 0).all()


def random_maps(layers: int = 3, queries: int = 20, keys: int = 20, seed: int = 0) -> xr.Dataset:
    values = np.random.default_rng(seed).integers(0, 256, (layers, 2, queries, keys)).astype(np.uint8)
    words = np.array([f"w{number}" for number in range(queries)], dtype=object)
    return xr.Dataset(
        {
            "maps_encoder": (("layer", "head", "query", "key"), values),
            "tokens": ("query", words),
            "present_encoder": (("layer", "head"), np.ones((layers, 2), dtype=bool)),
        },
        attrs={"text": "w0 w1", "pair": None, "model": "m"},
    )


def size(blobs: dict[str, str]) -> int:
    return sum(map(len, blobs.values()))


def test_with_room_nothing_is_lost() -> None:
    one = random_maps()
    told, blobs = find_maps(view_of({"maps/a": one}))
    assert told[0]["levels"] == 256
    np.testing.assert_array_equal(unpacked(told[0], blobs), one["maps_encoder"].values)


def test_maps_between_stretches_say_so() -> None:
    told, _ = find_maps(view_of({"maps/a": random_maps().assign_attrs(text="A long text.", pooled=64)}))
    assert told[0]["text"] == "(each cell 64 x 64 tokens) A long text."


def with_blocks(seed: int = 1) -> xr.Dataset:
    """Maps between stretches of 4 tokens, with two exact blocks of 3 x 3 tokens."""
    generator = np.random.default_rng(seed)
    words = np.array([["a", "b", "c"], ["d", "e", "f"]], dtype=object)
    dims = ("block_encoder", "block_query_encoder", "block_key_encoder")
    exact = generator.integers(0, 256, (3, 2, 2, 3, 3)).astype(np.uint8)
    return (
        random_maps()
        .assign_attrs(pooled=4)
        .assign(
            blocks_encoder=(("layer", "head", *dims), exact),
            block_starts_encoder=((dims[0], "side"), np.array([[0, 0], [50, 0]])),
            block_query_tokens_encoder=(dims[:2], words),
            block_key_tokens_encoder=((dims[0], dims[2]), words[::-1]),
        )
    )


def test_exact_blocks_come_with_their_tokens() -> None:
    one = with_blocks()
    told, blobs = find_maps(view_of({"maps/a": one}))
    assert told[0]["pooled"] == 4
    blocks = told[0]["stacks"][0]["blocks"]
    assert blocks["starts"] == [[0, 0], [50, 0]]
    assert (blocks["queries"][1], blocks["keys"][1]) == (["d", "e", "f"], ["a", "b", "c"])
    layers = [inflate_layer(blobs[id_], (2, 2, 3, 3)) for id_ in blocks["layers"]]
    np.testing.assert_array_equal(np.stack(layers), one["blocks_encoder"].values)
    assert blocks["shape"] == [3, 4, 3, 3]


def test_levels_are_fewer_only_where_the_room_is_short() -> None:
    """Each step is taken when the one before does not fit, and what is shown is then the nearest of its shades."""
    one = random_maps()
    view = view_of({"maps/a": one})
    sizes = {levels: 3 * len(deflate_layer(one["maps_encoder"].values[1], levels)) for levels in LEVELS}
    assert sorted(sizes.values(), reverse=True) == list(sizes.values())
    for levels in LEVELS:
        told, blobs = find_maps(view, room=int(1.02 * sizes[levels]))
        assert told[0]["levels"] == levels
        assert size(blobs) <= 1.02 * sizes[levels]
        error = np.abs(unpacked(told[0], blobs).astype(int) - one["maps_encoder"].values.astype(int))
        assert error.max() <= 256 // levels // 2


def test_without_any_room_the_maps_are_still_there() -> None:
    told, blobs = find_maps(view_of({"maps/a": random_maps()}), room=1)
    assert told[0]["levels"] == LEVELS[-1]
    assert len(blobs) == 3


def test_all_maps_share_the_room() -> None:
    one = {"maps/a": random_maps(seed=1), "maps/b": random_maps(seed=2)}
    alone = size(find_maps(view_of({"maps/a": one["maps/a"]}))[1])
    told, blobs = find_maps(view_of(one), room=int(1.6 * alone))
    assert {each["levels"] for each in told} < {64, 32}
    assert size(blobs) <= 1.6 * alone
    assert len(blobs) == 6


def test_a_real_text_of_two_segments() -> None:
    model, tokenizer = studies.classifier()
    one = hc.maps(model, tokenizer, studies.TEXT, studies.PAIR)
    told, blobs = find_maps(view_of({"maps/pair-0": one}))
    assert (told[0]["name"], told[0]["text"], told[0]["pair"]) == ("pair-0", studies.TEXT, studies.PAIR)
    np.testing.assert_array_equal(unpacked(told[0], blobs), one["maps_encoder"].values)
    stack = told[0]["stacks"][0]
    assert stack["queries"] == stack["keys"] == list(one["tokens"].values)
    assert stack["queries"][0] == "[CLS]"


def test_an_encoder_decoder_has_unequal_sides() -> None:
    """Queries of the cross attention are the target's tokens, keys the source's."""
    model, tokenizer = measured.translator()
    one = hc.maps(model, tokenizer, "the dog saw a cat.", "he ran")
    told, blobs = find_maps(view_of({"maps/text": one}))
    sides = {each["stack"]: each for each in told[0]["stacks"]}
    assert set(sides) == {"encoder", "decoder", "cross"}
    source, target = list(one["tokens_encoder"].values), list(one["tokens_decoder"].values)
    assert len(source) != len(target)
    assert (sides["encoder"]["queries"], sides["encoder"]["keys"]) == (source, source)
    assert (sides["decoder"]["queries"], sides["decoder"]["keys"]) == (target, target)
    assert (sides["cross"]["queries"], sides["cross"]["keys"]) == (target, source)
    for stack in sides:
        np.testing.assert_array_equal(unpacked(told[0], blobs, stack), one[f"maps_{stack}"].values)
    assert len(blobs) == len({mark for each in sides.values() for mark in each["layers"]})


def test_a_pruned_model() -> None:
    """Heads keep their numbers: the map of L2H2 is the third of its layer, absent ones are empty."""
    model, tokenizer = studies.classifier(seed=5)
    hc.prune(model, studies.GONE)
    one = hc.maps(model, tokenizer, studies.TEXT)
    told, blobs = find_maps(view_of({"maps/text": one}))
    found = unpacked(told[0], blobs)
    np.testing.assert_array_equal(found, one["maps_encoder"].values)
    assert found[2, 2].any()
    assert not found[1].any()
    assert not found[0, 1].any()


def test_marks_can_stand_in_a_page() -> None:
    told, blobs = find_maps(view_of({"maps/a": random_maps(1), "maps/b": random_maps(1)}))
    assert all(re.fullmatch(r"[\w-]+", mark) for mark in blobs)
    assert len(blobs) == 2
    assert {base64.b64decode(text)[0] for text in blobs.values()} == {0x78}, "zlib, as browsers inflate it"
    assert [one["name"] for one in told] == ["a", "b"]


def test_no_maps() -> None:
    assert find_maps(view_of({})) == ([], {})


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))
def test_any_shape(layers: int, queries: int, keys: int) -> None:
    one = random_maps(layers, queries, keys).rename({"tokens": "tokens_decoder", "query": "query_decoder"})
    one = one.rename({"key": "key_encoder"}).assign(tokens_encoder=("key_encoder", [f"k{key}" for key in range(keys)]))
    told, blobs = find_maps(view_of({"maps/a": one}))
    np.testing.assert_array_equal(unpacked(told[0], blobs), one["maps_encoder"].values)


def test_a_stack_is_causal_if_no_map_of_it_looks_ahead() -> None:
    """A single head that only looks back is no reason to call later tokens out of sight."""
    back = np.tril(np.full((2, 3, 4, 4), 9, dtype=np.uint8))
    assert is_causal(back)
    ahead = back.copy()
    ahead[1, 2, 0, 3] = 1
    assert not is_causal(ahead)
    assert not is_causal(back[..., :3])
