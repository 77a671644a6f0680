"""The maps that show a head are the ones that its names say, and they are the maps of the texts beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.attention_maps import typical
from headcount.attention_maps.maps import unpack
from headcount.attention_maps.typical import CANDIDATES, NONE, TYPICAL, choose_typical, take_typical
from headcount.measures.measure import measure
from headcount.measures.measurement import prepare_measurement
from headcount.patterns.naming import PATTERNS
from headcount.patterns.picture_sums import SIDE
from tests.measures.planted import SENTENCES
from tests.measures.test_patterns import LONG, SHORT
from tests.measures.tiny import assert_untouched, first_output, masked, translator
from tests.patterns.test_shapes import naive_picture


def patterns_of(*heads: list[tuple[str, float] | None]) -> xr.Dataset:
    """One layer of heads: for each text the name of a head's map and how sure it is, None where it has none."""
    examples = len(heads[0])
    share = np.full((examples, 1, 1, len(heads), len(PATTERNS)), np.nan)
    sure = np.full(share.shape[:-1], np.nan)
    for head, rows in enumerate(heads):
        for text, row in enumerate(rows):
            if row is not None:
                share[text, 0, 0, head] = [name == row[0] for name in PATTERNS]
                sure[text, 0, 0, head] = row[1]
    dims = ("example", "stack", "layer", "head")
    named = xr.DataArray(share, dims=(*dims, "pattern"))
    means = named.mean("example")
    mostly = xr.where(means.notnull().all("pattern"), means.fillna(-1).argmax("pattern"), np.nan)
    return xr.Dataset({"values_share": named, "values_sure": (dims, sure), "mostly": mostly})


def chosen(*heads: list[tuple[str, float] | None], candidates: list[int] | None = None) -> list[list[int]]:
    dataset = patterns_of(*heads)
    places = np.arange(dataset.sizes["example"]) if candidates is None else np.array(candidates)
    found = choose_typical(dataset, places)
    assert found.shape == (1, 1, len(heads), len(TYPICAL))
    return found[0, 0].tolist()  # type: ignore[no-any-return]


V, D, B = "vertical", "diagonal", "block"


def test_the_clearest_the_middle_and_the_exception() -> None:
    rows = [(V, 0.6), (D, 0.7), (V, 0.9), (V, 0.8), (D, 0.95), (V, 0.5), (B, 0.8), (V, 0.7)]
    # Vertical, from the surest: 2, 3, 7, 0, 5.
    assert chosen(rows) == [[2, 7, 4]]


def test_the_exception_may_be_surer_than_the_clearest() -> None:
    assert chosen([(V, 0.5), (V, 0.4), (V, 0.3), (B, 0.99), (D, 0.8)]) == [[0, 1, 3]]


def test_heads_are_chosen_for_one_by_one() -> None:
    first = [(V, 0.9), (V, 0.8), (V, 0.7), (D, 0.6)]
    second = [(D, 0.6), (D, 0.7), (B, 0.99), (D, 0.8)]
    assert chosen(first, second) == [[0, 1, 3], [3, 1, 2]]


def test_what_there_is_none_of() -> None:
    assert chosen([(V, 0.9), (V, 0.8), (V, 0.7)]) == [[0, 1, NONE]]
    assert chosen([None, (D, 0.8), None]) == [[1, NONE, NONE]]
    assert chosen([None, None]) == [[NONE, NONE, NONE]]
    assert chosen([(V, 0.7), (V, 0.9)]) == [[1, 0, NONE]]


def test_texts_without_a_pattern_are_passed_over() -> None:
    assert chosen([None, (V, 0.6), None, (V, 0.9), (V, 0.7), (D, 0.5), None]) == [[3, 4, 5]]


def test_equally_sure_texts_come_in_their_order() -> None:
    assert chosen([(V, 0.9), (V, 0.9), (V, 0.9), (D, 0.5), (D, 0.5)]) == [[0, 1, 3]]


def test_only_candidates_are_chosen_for_the_pattern_of_all() -> None:
    """The head is mostly vertical, even where no candidate is."""
    rows = [(V, 0.9), (V, 0.8), (D, 0.7), (V, 0.6), (D, 0.5), (V, 0.4)]
    assert chosen(rows, candidates=[1, 3, 4, 5]) == [[1, 3, 4]]
    assert chosen(rows, candidates=[2, 4]) == [[NONE, NONE, 2]]


def run(model: Any, data: pd.DataFrame, **options: Any) -> tuple[xr.Dataset, xr.Dataset]:
    """The measure and the typical maps."""
    patterns = measure(*model, data, only="patterns", **options)["patterns"].to_dataset()
    return patterns, xr.Dataset(dict(take_typical(prepare_measurement(*model, data, **options), patterns)))


@pytest.fixture(scope="module")
def model() -> Any:
    return masked()


TEXTS = pd.DataFrame({"text": list(dict.fromkeys([*SHORT, *LONG, *SENTENCES]))})


@pytest.fixture(scope="module")
def found(model: Any) -> tuple[xr.Dataset, xr.Dataset]:
    return run(model, TEXTS)


def check(model: Any, patterns: xr.Dataset, shown: xr.Dataset, data: pd.DataFrame) -> int:
    """Each map is that of the text beside it, to a byte, and its name is the one of the measure; how many there are."""
    net, tokenizer = model
    numbers = {text: row for row, text in enumerate(data["text"])}
    observed = {}
    for text in shown["texts"].values:
        maps = hc.observe(net, dict(tokenizer(text, return_tensors="pt"))).maps["encoder"]
        observed[text] = maps[:, :, 0].double().numpy()
    count = 0
    for place in np.ndindex(shown["text"].shape):
        _, layer, head, _ = place
        number = int(shown["text"].values[place])
        stored = shown["maps"].values[place]
        if number == NONE:
            assert not stored.any()
            assert np.isnan(shown["named"].values[place])
            continue
        text = shown["texts"].values[number]
        expected = 255 * np.sqrt(naive_picture(observed[text][layer, head]))
        assert np.abs(stored - expected).max() < 0.51
        named = patterns["values_share"].sel(example=numbers[text]).values[place[:-1]].argmax()
        assert shown["named"].values[place] == named
        count += 1
    return count


def test_maps_are_those_of_their_texts(model: Any, found: tuple[xr.Dataset, xr.Dataset]) -> None:
    patterns, shown = found
    assert shown["maps"].dims == ("stack", "layer", "head", "kind", "query", "key")
    assert shown["maps"].shape == (1, 2, 4, len(TYPICAL), SIDE, SIDE)
    assert shown["maps"].dtype == np.uint8
    assert shown["kind"].values.tolist() == list(TYPICAL)
    assert shown["stack"].values.tolist() == ["encoder"]
    assert check(model, patterns, shown, TEXTS) > 16
    rows = unpack(shown["maps"].values[shown["text"].values != NONE]).sum(-1)
    np.testing.assert_allclose(rows, 1, atol=0.1)


def test_kinds_are_what_they_say(found: tuple[xr.Dataset, xr.Dataset]) -> None:
    patterns, shown = found
    mostly, named, text = patterns["mostly"].values, shown["named"].values, shown["text"].values
    assert (text[..., 0] != NONE).all()
    assert (text[..., 2] != NONE).any()
    for kind in range(2):
        there = text[..., kind] != NONE
        assert (named[..., kind] == mostly)[there].all()
    exception = text[..., 2] != NONE
    assert (named[..., 2] != mostly)[exception].all()
    numbers = {one: row for row, one in enumerate(TEXTS["text"])}
    ours = patterns["values_share"].values.argmax(-1) == mostly
    sure = np.where(ours, patterns["values_sure"].values, -1)
    for place in np.ndindex(mostly.shape):
        clearest = numbers[shown["texts"].values[text[(*place, 0)]]]
        assert sure[(clearest, *place)] == np.nanmax(sure[(slice(None), *place)])


def test_texts_that_nobody_shows_are_not_kept(found: tuple[xr.Dataset, xr.Dataset]) -> None:
    shown = found[1]
    used = np.unique(shown["text"].values)
    assert used[used != NONE].tolist() == list(range(shown.sizes["place"]))
    assert len(set(shown["texts"].values)) == shown.sizes["place"]
    assert set(shown["texts"].values) <= set(TEXTS["text"]) - set(SHORT)


def test_some_of_the_texts(model: Any) -> None:
    """Examples have the numbers of their rows in the table, not those among the chosen."""
    patterns, shown = run(model, TEXTS, limit=7, seed=4)
    rows = patterns["example"].values
    assert rows.tolist() != list(range(7))
    assert set(shown["texts"].values) <= set(TEXTS["text"][rows])
    assert check(model, patterns, shown, TEXTS)


def test_few_candidates(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more texts are run again than these, by chance."""
    assert CANDIDATES == 48
    monkeypatch.setattr(typical, "CANDIDATES", 5)
    patterns, shown = run(model, TEXTS, seed=1)
    few = sorted(np.random.default_rng(1).permutation(len(TEXTS))[:5])
    assert set(shown["texts"].values) <= set(TEXTS["text"][few])
    assert 0 < shown.sizes["place"] <= 5
    assert check(model, patterns, shown, TEXTS)


def test_pairs_are_shown_as_one_text(planted_model: Any) -> None:
    data = pd.DataFrame({"sentence1": LONG[:3], "sentence2": LONG[3:]})
    patterns, shown = run(planted_model, data)
    assert set(shown["texts"].values) <= {" | ".join(row) for row in data.itertuples(index=False)}
    own = shown["maps"].values[0, 1, 5, 0]
    assert PATTERNS[int(shown["named"].values[0, 1, 5, 0])] == B
    assert PATTERNS[int(patterns["mostly"].values[0, 1, 5])] == B
    weights = unpack(own)
    assert weights[:8, -8:].max() < 0.01 < weights[:8, :8].min()


def test_texts_too_short_for_a_pattern(model: Any) -> None:
    shown = run(model, pd.DataFrame({"text": SHORT}))[1]
    assert (shown["text"] == NONE).all()
    assert shown.sizes["place"] == 0
    assert not shown["maps"].any()


def test_both_sides_of_a_translation() -> None:
    model, tokenizer = translator()
    data = pd.DataFrame({"source": LONG, "target": LONG[::-1]})
    patterns, shown = run((model, tokenizer), data)
    assert shown["stack"].values.tolist() == ["encoder", "decoder", "cross"]
    assert (shown["text"].sel(stack="cross") == NONE).all()
    assert (shown["text"].values[1, :, 2:] == NONE).all()  # the decoder has two heads
    assert (shown["text"].values[:2, :2, :2, 0] != NONE).all()
    place = (1, 1, 0, 0)
    source, target = shown["texts"].values[shown["text"].values[place]].split(" | ")
    ids = torch.tensor([tokenizer(target)["input_ids"]])
    inputs = {
        **tokenizer(source, return_tensors="pt"),
        "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels=ids),
    }
    weights = hc.observe(model, inputs).maps["decoder"][1, 0, 0].double().numpy()
    assert np.abs(shown["maps"].values[place] - 255 * np.sqrt(naive_picture(weights))).max() < 0.51
    assert patterns["mostly"].values[place[:-1]] == shown["named"].values[place]


def test_progress_and_nothing_left_behind(model: Any) -> None:
    net, tokenizer = model
    batch = dict(tokenizer(LONG[:2], padding=True, return_tensors="pt"))
    before = first_output(net, batch)
    told: list[tuple[float, float]] = []
    patterns = measure(net, tokenizer, TEXTS, only="patterns")["patterns"].to_dataset()
    net.train()
    task = prepare_measurement(net, tokenizer, TEXTS, progress=lambda done, of: told.append((done, of)))
    shown = xr.Dataset(dict(take_typical(task, patterns)))
    assert net.training
    net.eval()
    assert told == [(done + 1, shown.sizes["place"]) for done in range(shown.sizes["place"])]
    assert check(model, patterns, shown, TEXTS)  # without dropout
    assert_untouched(net, batch, before)
