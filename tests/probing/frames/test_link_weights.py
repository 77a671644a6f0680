"""Means, tests and selection on weights whose truth is known: nothing where there is nothing, and what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.probing.frames.link_weights import Links, best_links, better_directions, heads_above, mean_weights
from headcount.probing.selection.accuracies import halves

SHAPE = (1, 3, 4, 2)
"""Stacks, layers, heads, directions."""


def random_links(seed: int, sentences: int = 60) -> Links:
    """Skewed weights that differ between heads and sentences, but not between links and the three pairs beside them."""
    generator = np.random.default_rng(seed)
    level = generator.lognormal(-3, 1, (1, *SHAPE, 1)) * generator.lognormal(0, 0.5, (sentences, 1, 1, 1, 1, 1))
    drawn = np.minimum(level * generator.lognormal(0, 0.5, (sentences, *SHAPE, 4)), 1)
    return Links(drawn[..., :1], drawn[..., 1:].mean(-1, keepdims=True))


def test_false_positives_are_rare() -> None:
    """Of 40 sets of 24 heads and directions about 2 may have any significant one, and about 2 of 40 p-values < 0.05."""
    tested = [mean_weights(random_links(seed), 0)["excess_q"][1] for seed in range(40)]
    assert sum(bool((q < 0.05).any()) for q in tested) <= 5
    above = [heads_above(random_links(seed), 0)["above_p"][1][0] for seed in range(40)]
    assert sum(p < 0.05 for p in above) <= 5
    assert np.median(above) > 0.2


def planted_links(seed: int = 0, sentences: int = 60) -> Links:
    links = random_links(seed, sentences)
    weight = links.weight.copy()
    weight[:, 0, 1, 2, 1] = np.minimum(weight[:, 0, 1, 2, 1] + 0.3, 1)
    return Links(weight, links.null)


def test_a_planted_head_is_significant() -> None:
    arrays = mean_weights(planted_links(), 0)
    q = arrays["excess_q"][1]
    assert [tuple(index) for index in np.argwhere(q < 0.05)] == [(0, 1, 2, 1)]
    assert arrays["excess"][1][0, 1, 2, 1] == pytest.approx(0.3, abs=0.05)
    above = heads_above(planted_links(), 0)
    assert above["above"][1][0, 1, 2, 1]
    assert above["above_p"][1][1] < 0.01
    assert above["above_null"][1][1] == 0


def test_the_best_head_is_evaluated_on_the_other_half() -> None:
    links = planted_links()
    selecting = halves(60, 0)
    best = best_links(links, np.ones((60, 1, 1), dtype=bool), selecting, 0)
    assert np.unravel_index(int(best.index[0]), SHAPE) == (0, 1, 2, 1)
    held = links.weight[~selecting, 0, 1, 2, 1, 0]
    assert best.weight.accuracy[0] == pytest.approx(held.mean())
    assert best.null.accuracy[0] == pytest.approx(links.null[~selecting, 0, 1, 2, 1, 0].mean())
    assert best.sentences.tolist() == [30]
    other = Links(np.where(selecting[:, None, None, None, None, None], links.weight, 0), links.null)
    assert best_links(other, np.ones((60, 1, 1), dtype=bool), selecting, 0).index.tolist() == best.index.tolist()
    better = better_directions(links, selecting, 0)
    assert better["direction_of_head"][1][0, 1, 2] == 1
    assert better["frame_excess_low"][1][0, 1, 2] > 0.2


def test_means_are_over_sentences_and_comparisons_over_links_that_have_one() -> None:
    weight = np.array([[0.2, 0.4], [0.6, np.nan], [0.9, np.nan]]).reshape(3, 1, 1, 1, 1, 2)
    null = np.array([[0.1, np.nan], [0.2, np.nan], [np.nan, np.nan]]).reshape(3, 1, 1, 1, 1, 2)
    arrays = mean_weights(Links(weight, null), 0)
    assert arrays["weight"][1].item() == pytest.approx((0.3 + 0.6 + 0.9) / 3)
    assert arrays["compared_weight"][1].item() == pytest.approx((0.2 + 0.6) / 2)
    assert arrays["null_weight"][1].item() == pytest.approx(0.15)
    assert arrays["excess"][1].item() == pytest.approx(0.25)
    np.testing.assert_allclose(Links(weight, null).replaced().ravel(), [0.25, 0.2, 0.9])


def test_each_relation_has_its_own_links() -> None:
    weight = np.tile([0.2, 0.8], (6, 1)).reshape(6, 1, 1, 1, 1, 2)
    links = Links(weight, np.full_like(weight, 0.1))
    named = np.zeros((6, 2, 3), dtype=bool)
    named[..., 0], named[:, 1, 1] = True, True
    best = best_links(links, named, np.arange(6) < 3, 0)
    np.testing.assert_allclose(best.weight.accuracy, [0.5, 0.8, np.nan])
    assert best.index.tolist() == [0, 0, -1]
    assert best.sentences.tolist() == [3, 3, 0]


def test_without_any_comparison_nothing_is_claimed() -> None:
    links = random_links(0, 10)
    alone = Links(links.weight, np.full_like(links.null, np.nan))
    arrays = mean_weights(alone, 0)
    assert np.isfinite(arrays["weight"][1]).all()
    assert np.isnan(arrays["excess_q"][1]).all()
    assert np.isnan(better_directions(alone, halves(10, 0), 0)["frame_excess"][1]).all()
    assert heads_above(alone, 0)["above_p"][1].tolist() == [1, 1]


def test_a_direction_with_next_to_no_sentences_is_not_the_best() -> None:
    """Under a causal mask: three sentences can be seen in the first direction, where another head is far above."""
    links = planted_links(sentences=80)
    weight, null = links.weight.copy(), links.null.copy()
    weight[:, 0, 0, 0, 0], null[:, 0, 0, 0, 0] = 0.9, 0.1
    for array in (weight, null):
        array[3:, ..., 0, :] = np.nan
    selecting = np.arange(80) % 2 == 0
    seen = Links(weight, null)
    best = best_links(seen, np.ones((80, 1, 1), dtype=bool), selecting, 0)
    assert np.unravel_index(int(best.index[0]), SHAPE) == (0, 1, 2, 1)
    assert (better_directions(seen, selecting, 0)["direction_of_head"][1] == 1).all()


def test_the_best_head_of_one_direction() -> None:
    named, selecting = np.ones((60, 1, 1), dtype=bool), halves(60, 0)
    links = planted_links()
    assert best_links(links, named, selecting, 0, np.array([1])).index == best_links(links, named, selecting, 0).index
    other = best_links(links, named, selecting, 0, np.array([0]))
    assert np.unravel_index(int(other.index[0]), SHAPE)[3] == 0
