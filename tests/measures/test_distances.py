from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from headcount.measures.distances import head_distances
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import EVERY, UNIFORM, Texts, at
from tests.measures.planted import HEADS, LAYERS, ROLES, SENTENCES


def test_is_the_formula(planted_texts: Texts) -> None:
    planted_texts.compare("distances", lambda text: {"distance": naive.distances(text.maps)})


def test_is_the_formula_for_pairs(planted_pairs: Texts) -> None:
    planted_pairs.compare("distances", lambda text: {"distance": naive.distances(text.maps)})


def test_is_the_formula_on_the_bundled_model(bundled: Any, bundled_sentences: Texts) -> None:
    """Of two texts: there are 10,296 pairs of heads."""
    texts = Texts(*bundled, bundled_sentences.data, bundled_sentences.rows, limit=2)
    found = texts.compare("distances", lambda text: {"distance": naive.distances(text.maps)})
    assert found.distance.max() > 0.5


@pytest.fixture(scope="module")
def found(planted_texts: Texts) -> xr.Dataset:
    return planted_texts.measured("distances")["distances"].to_dataset()


def between(found: xr.Dataset, one: str, other: str) -> Any:
    layer, head = map(int, other[1:].split("H"))
    return at(found.distance.sel(other_layer=layer, other_head=head), one)


def test_is_symmetric_and_none_from_itself(found: xr.Dataset) -> None:
    square = found.distance.values.reshape(LAYERS * HEADS, LAYERS * HEADS)
    np.testing.assert_allclose(square, square.T, atol=1e-7)
    assert (np.diagonal(square) == 0).all()
    assert square.min() >= 0
    assert square.max() <= log(2)


def test_uniform_heads_are_all_alike(found: xr.Dataset) -> None:
    alike = [*UNIFORM, ROLES["own sentence"]]  # there is but one sentence
    assert max(between(found, one, other) for one in alike for other in alike) < 1e-5
    assert min(between(found, one, other) for one in alike for other in EVERY if other not in alike) > 0.1


def test_one_token_against_all(found: xr.Dataset, planted_texts: Texts) -> None:
    """H((p + q) / 2) - H(q) / 2, for p one token and q all n of them."""
    for row in range(len(SENTENCES)):
        length = len(planted_texts.seen(row))
        one, rest = (1 + 1 / length) / 2, 1 / (2 * length)
        expected = -one * log(one) - (length - 1) * rest * log(rest) - log(length) / 2
        given = found.values_distance.sel(example=row, other_layer=0, other_head=6)
        assert ROLES["uniform"] == "L0H6"
        for role in ("first", "same"):
            assert at(given, ROLES[role]) == pytest.approx(expected, abs=2e-3)


def test_heads_that_never_look_at_the_same_token_are_furthest(found: xr.Dataset) -> None:
    assert between(found, ROLES["same"], ROLES["separator"]) > 0.85 * log(2)  # they agree at [SEP] alone
    assert between(found, ROLES["first"], ROLES["separator"]) == pytest.approx(log(2), abs=3e-3)


def test_clusters(found: xr.Dataset) -> None:
    alike = {at(found.cluster, place) for place in (*UNIFORM, ROLES["own sentence"])}
    assert len(alike) == 1
    for role in ("previous", "next", "same", "first", "separator"):
        assert at(found.cluster, ROLES[role]) not in alike


def test_plane(found: xr.Dataset) -> None:
    """Heads that are alike lie together, others apart."""
    points = {place: np.array([at(found.x, place), at(found.y, place)]) for place in EVERY}
    middle = points[ROLES["uniform"]]
    assert max(np.linalg.norm(points[place] - middle) for place in UNIFORM) < 0.05
    for role in ("previous", "next", "same", "first", "separator"):
        assert np.linalg.norm(points[ROLES[role]] - middle) > 0.15


def test_layers(found: xr.Dataset) -> None:
    square = found.distance.values.reshape(LAYERS * HEADS, LAYERS * HEADS)
    layers = np.repeat(np.arange(LAYERS), HEADS)
    same, different = [], []
    for one, other in np.ndindex(*square.shape):
        if one != other:
            (same if layers[one] == layers[other] else different).append(square[one, other])
    assert found.within_layers.item() == pytest.approx(np.mean(same))
    assert found.between_layers.item() == pytest.approx(np.mean(different))
    assert 0.05 < found.p.item() < 1  # the roles were dealt to the layers with no such thought


def test_layers_that_are_alike_are_found() -> None:
    """Each layer looks at a place of its own, its heads a little apart."""
    from headcount.measures.distances import Distances

    generator = np.random.default_rng(0)
    maps = generator.random((3, 5, 6, 6)) * 0.1
    for layer in range(3):
        maps[layer, :, :, layer] += 2
    maps /= maps.sum(-1, keepdims=True)
    found = Distances().finish({"distance": naive.distances(maps)[None]})
    assert found["p"][0] == pytest.approx(1 / 1001)
    assert found["within_layers"][0] < 0.1 * found["between_layers"][0]
    clusters = found["cluster"][0]
    assert (clusters == clusters[:, :1]).all()
    assert len(set(clusters[:, 0])) == 3


def test_only_real_queries_count() -> None:
    generator = np.random.default_rng(1)
    maps = generator.random((2, 3, 5, 5))
    maps /= maps.sum(-1, keepdims=True)
    given = head_distances(torch.tensor(maps), 3).numpy()
    np.testing.assert_allclose(given, naive.distances(maps[:, :, :3]), atol=1e-6)


def test_takes_some_of_the_texts(planted_texts: Texts) -> None:
    found = [
        measure(
            planted_texts.model,
            planted_texts.tokenizer,
            planted_texts.data,
            only="distances",
            distance_examples=3,
            seed=seed,
        )["distances"]
        for seed in (0, 0, 1)
    ]
    assert [one.sizes["example"] for one in found] == [3, 3, 3]
    assert found[0].example.values.tolist() == found[1].example.values.tolist() != found[2].example.values.tolist()
    whole = planted_texts.measured("distances")["distances"].values_distance
    for row in found[2].example.values:
        np.testing.assert_allclose(found[2].values_distance.sel(example=row), whole.sel(example=row), atol=1e-6)


def test_a_text_of_one_word(planted_model: Any) -> None:
    found = measure(*planted_model, pd.DataFrame({"text": ["dog"]}), only="distances")["distances"]
    assert found.distance.notnull().all()
