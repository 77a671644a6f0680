"""A picture keeps what a map holds, and its numbers are what the map must give, whatever its length."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headcount.patterns.light import BRIGHT
from headcount.patterns.naming import PATTERNS, pattern_chances
from headcount.patterns.picture_sums import SIDE
from headcount.patterns.shapes import SHAPES, shape_numbers, stretches, take_picture

FEW = settings(max_examples=40, deadline=None, derandomize=True)
LENGTHS = (8, 11, 16, 24, 32, 40, 64, 75, 100, 128, 200)
STEP = {"previous": -1, "same": 0, "next": 1}

lengths = st.integers(8, 200)
seeds = st.integers(0, 10**6)
sharpness = st.sampled_from([0.3, 1.0, 3.0, 10.0])


def line_map(length: int, step: int) -> Tensor:
    """Every token looks at the one that is `step` behind it; where there is none, at all alike."""
    weights = torch.full((length, length), 1 / length)
    for query in range(length):
        if 0 <= query + step < length:
            weights[query] = torch.nn.functional.one_hot(torch.tensor(query + step), length)
    return weights


def column_map(length: int, key: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.full((length,), key), length).float()


def block_map(length: int, border: int) -> Tensor:
    """The first `border` tokens look at each other alike, and so do the others."""
    first = torch.arange(length) < border
    return normalise((first[:, None] == first[None]).float())


def random_map(length: int, seed: int, sharp: float, causal: bool = False) -> Tensor:
    scores = sharp * torch.randn(length, length, generator=torch.Generator().manual_seed(seed))
    return (scores.masked_fill(~allowed(length, causal).bool(), -torch.inf)).softmax(-1)


def normalise(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def allowed(length: int, causal: bool) -> Tensor:
    return torch.ones(length, length).tril() if causal else torch.ones(length, length)


def uniform_map(length: int, causal: bool = False) -> Tensor:
    return normalise(allowed(length, causal))


def picture(weights: Tensor) -> Tensor:
    """The picture [SIDE, SIDE] of one map [token, token]."""
    parts = stretches(torch.ones(1, len(weights)))
    return take_picture(weights[None, None], parts, parts)[0, 0]


def naive_picture(weights: np.ndarray) -> np.ndarray:
    """By a finer map, in which a token is 32 cells and a stretch as many as there are tokens."""
    size = len(weights)
    fine = np.repeat(np.repeat(weights, SIDE, 0), SIDE, 1) / SIDE
    found: np.ndarray = fine.reshape(SIDE, size, SIDE, size).sum(3).mean(1)
    return found


def numbers(weights: Tensor, causal: bool = False) -> dict[str, float]:
    """The shape numbers of one map."""
    length = len(weights)
    small, even = picture(weights)[None, None], picture(uniform_map(length, causal))[None, None]
    return dict(zip(SHAPES, shape_numbers(small, even, torch.tensor([float(length)]))[0, 0].tolist(), strict=True))


@FEW
@given(st.lists(st.integers(1, 200), min_size=1, max_size=4), st.integers(0, 5))
def test_stretches_share_out_the_tokens(sizes: list[int], padding: int) -> None:
    real = torch.zeros(len(sizes), max(sizes) + padding)
    for row, size in enumerate(sizes):
        real[row, :size] = 1
    parts = stretches(real)
    assert parts.shape == (*real.shape, SIDE)
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(-1), real, atol=1e-5)
    np.testing.assert_allclose(parts.sum(1), np.tile(np.array(sizes)[:, None] / SIDE, SIDE), rtol=1e-5, atol=1e-5)
    assert not parts[real == 0].any()


@pytest.mark.parametrize("length", [8, 32, 96])
def test_stretches_follow_each_other(length: int) -> None:
    """Whole tokens in a stretch, or whole stretches in a token."""
    found = stretches(torch.ones(1, length))[0]
    expected = np.zeros((length, SIDE))
    for cell in range(max(length, SIDE)):
        expected[cell * length // max(length, SIDE), cell * SIDE // max(length, SIDE)] += length / max(length, SIDE)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@FEW
@given(st.integers(1, 200), seeds, sharpness, st.booleans())
def test_rows_of_a_picture_sum_to_1(length: int, seed: int, sharp: float, causal: bool) -> None:
    small = picture(random_map(length, seed, sharp, causal))
    assert small.shape == (SIDE, SIDE)
    assert (small >= 0).all()
    np.testing.assert_allclose(small.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_a_map_of_32_tokens_is_its_own_picture(causal: bool) -> None:
    weights = random_map(SIDE, 1, 2.0, causal)
    np.testing.assert_allclose(picture(weights), weights, atol=1e-7)


@pytest.mark.parametrize("length", [1, 8, 13, 64, 75])
def test_a_picture_of_any_map(length: int) -> None:
    """The mean over a stretch of queries of the sum over a stretch of keys."""
    weights = random_map(length, 2, 2.0)
    np.testing.assert_allclose(picture(weights), naive_picture(weights.numpy()), atol=1e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_uniform_attention(length: int) -> None:
    found = numbers(uniform_map(length))
    for name in ("even", "alike"):
        assert found[name] == pytest.approx(1, abs=1e-5)
    for name in ("line", "column", "columns", "fill", "far_fill"):  # 1 / 32 of what is bright at least, 1.5 / 32
        assert found[name] == pytest.approx(2 / 3, abs=1e-5)
    for name in ("near", "line_fit", "line_rest", "column_fit", "row_fit", "block", "block_fit", "rest"):
        assert found[name] == pytest.approx(0, abs=1e-3)
    assert found["peak"] == pytest.approx(1 / SIDE, abs=1e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_uniform_attention_to_what_came_before(length: int) -> None:
    """Nearly even: the first stretch has nothing to be even over, and a stretch may end within a token."""
    found = numbers(uniform_map(length, causal=True), causal=True)
    assert 0.9 < found["even"] < 1 + 1e-5
    assert found["near"] < 0.2
    assert found["line_rest"] < 0.3
    assert found["fill"] < 0.4


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("role", STEP)
def test_a_line_along_the_diagonal(role: str, length: int) -> None:
    found = numbers(line_map(length, STEP[role]))
    whole = length in (8, 16, 32) or (length in (64, 128) and role == "same")
    assert found["line"] > (0.999 if whole else 0.75)
    assert found["line_rest"] > 0.7
    assert found["line_fit"] > 0.6
    assert found["near"] > 0.45
    for name in ("column", "columns", "column_fit", "row_fit", "block", "block_fit", "far_fill"):
        assert found[name] < 0.1
    assert found["alike"] < 0.5


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("role", ["previous", "same"])
def test_a_line_where_the_future_is_hidden(role: str, length: int) -> None:
    weights = line_map(length, STEP[role])
    weights[0] = torch.nn.functional.one_hot(torch.tensor(0), length)
    found = numbers(weights, causal=True)
    assert found["line"] > 0.75
    assert found["line_fit"] > 0.5
    assert found["near"] > 0.5
    assert found["column"] < 0.15


@pytest.mark.parametrize("step", [-7, 7])
def test_a_line_far_from_the_diagonal_is_no_line(step: int) -> None:
    found = numbers(line_map(SIDE, step))
    assert found["line"] < 0.1
    assert found["near"] < 0.1
    assert found["line_fit"] > 0.9  # which is asked of lines anywhere


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("place", [0.0, 0.5, 0.99])
def test_one_column(length: int, place: float) -> None:
    found = numbers(column_map(length, int(place * length)))
    for name in ("column", "column_fit", "alike"):
        assert found[name] == pytest.approx(1, abs=1e-4)
    for name in ("line_rest", "row_fit", "rest"):
        assert found[name] == pytest.approx(0, abs=1e-4)
    assert found["line"] < 0.15
    assert found["near"] < 0.05
    assert found["block"] < 0.2
    assert found["columns"] == pytest.approx(found["fill"] * SIDE / 5, abs=0.2 + 1e-4)


@pytest.mark.parametrize("length", LENGTHS)
def test_one_column_where_the_future_is_hidden(length: int) -> None:
    found = numbers(column_map(length, 0), causal=True)
    for name in ("column", "column_fit", "alike"):
        assert found[name] == pytest.approx(1, abs=1e-4)
    assert found["near"] < 0
    assert found["line"] < 0.15


def test_a_late_column_of_a_causal_map_counts_from_where_it_can_be_seen() -> None:
    """A column needs 8 open cells away from the diagonal to be one."""
    for key, expected in ((20, 1.0), (26, 0.0)):
        weights = line_map(SIDE, 0)
        weights[key:] = column_map(SIDE, key)[key:]
        assert numbers(weights, causal=True)["column"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("length", LENGTHS)
def test_two_blocks(length: int) -> None:
    found = numbers(block_map(length, length // 2))
    assert found["block"] > (0.999 if length % 2 == 0 else 0.8)
    assert found["block_fit"] > (0.999 if length % 2 == 0 else 0.9)
    assert found["column_fit"] < 0.05
    assert found["near"] < 0.3
    # A border elsewhere makes the smaller block the brighter one.
    aside = numbers(block_map(length, max(3, length // 4)))
    assert 0.3 < aside["block"] < found["block"]
    assert aside["block_fit"] > 0.6


@pytest.mark.parametrize("length", LENGTHS)
def test_two_blocks_where_the_future_is_hidden(length: int) -> None:
    blocks, plain = (
        numbers(normalise(weights.tril()), causal=True)
        for weights in (block_map(length, length // 2), uniform_map(length))
    )
    assert blocks["block"] > plain["block"] + 0.1
    assert blocks["block_fit"] > 0.7
    assert plain["block_fit"] < 0.5


@pytest.mark.parametrize("border", [3, 4, 9, 28, 29])
def test_where_a_border_may_lie(border: int) -> None:
    """At least an eighth of the text is on either side of it."""
    first = torch.arange(SIDE) < border
    squares = (first[:, None] == first[None]).float()[None, None]
    values = shape_numbers(squares, torch.full_like(squares, 1 / SIDE), torch.tensor([float(SIDE)]))[0, 0]
    found = dict(zip(SHAPES, values.tolist(), strict=True))
    for name in ("block", "block_fit"):
        assert (found[name] > 0.999) == (4 <= border <= 28)


def test_no_block_where_the_light_is_between_the_squares() -> None:
    found = numbers(block_map(64, 32).flip(0))
    assert found["block"] == 0
    assert found["block_fit"] == 0


def test_a_picture_turned_over_has_the_same_shape() -> None:
    """From the end to the beginning, a text's lines, columns and blocks stay what they are."""
    for length in (20, 50):
        weights = random_map(length, 5, 3.0)
        one, other = numbers(weights), numbers(weights.flip(0).flip(1))
        for found in (one, other):
            for named in ("first_mass", "slide"):  # the first column, and rows but the first four
                del found[named]
        assert one == pytest.approx(other, abs=1e-4)


def check_bounds(found: dict[str, float]) -> None:
    assert tuple(found) == SHAPES
    for name, value in found.items():
        assert np.isfinite(value), name
        least = {"peak": 1 / SIDE} | dict.fromkeys(
            ("near", "line_rest", "near_bare", "block_mass", "edge", "edge_fill"), -1
        )
        most = {"reach": 3.0, "reach_bare": 3.0, "line_mass": 1.1, "columns_mass": 1.2}
        assert least.get(name, 0) - 1e-4 <= value <= most.get(name, 1) + 1e-4, name
    assert found["columns"] <= found["column"] + 1e-6
    assert found["rest"] <= 1 - found["column_fit"] + 1e-4  # lines can but explain more than columns alone


@settings(FEW, max_examples=100)
@given(lengths, seeds, sharpness, st.booleans())
def test_numbers_of_any_map_are_within_bounds(length: int, seed: int, sharp: float, causal: bool) -> None:
    check_bounds(numbers(random_map(length, seed, sharp, causal), causal))


@FEW
@given(lengths, seeds, st.booleans(), st.integers(1, 3))
def test_so_are_those_of_maps_of_few_tokens(length: int, seed: int, causal: bool, targets: int) -> None:
    """Every query looks at a few tokens and at nothing else: weights of exactly 0."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.zeros(length, length)
    for query in range(length):
        last = query if causal else length - 1
        weights[query, torch.randint(0, last + 1, (targets,), generator=generator)] = 1
    check_bounds(numbers(normalise(weights), causal))


@pytest.mark.parametrize("length", [12, 20, 50, 100])
def test_so_are_those_of_nearly_uniform_maps(length: int) -> None:
    """A slight preference for the own half: the blocks explain everything, and never more."""
    first = torch.arange(length) < length // 2
    for much in (2e-4, 3e-4, 1e-3, 3e-3):
        weights = (much * (first[:, None] == first[None]).double()).softmax(-1).float()
        check_bounds(numbers(weights))


def test_nearly_uniform_maps_are_no_blocks() -> None:
    first = torch.arange(50) < 25
    weights = (3e-4 * (first[:, None] == first[None]).double()).softmax(-1).float()
    chances = pattern_chances(torch.tensor(list(numbers(weights).values())))
    assert PATTERNS[int(chances.argmax())] == "heterogeneous"


@FEW
@given(st.lists(lengths, min_size=2, max_size=4), seeds, sharpness, st.booleans())
def test_padding_does_not_matter(sizes: list[int], seed: int, sharp: float, causal: bool) -> None:
    """Texts in a batch give what each gives alone, whatever stands in the padding."""
    longest = max(sizes)
    real = torch.zeros(len(sizes), longest)
    weights, even = torch.rand(2, len(sizes), 1, longest, longest)
    alone = []
    for row, size in enumerate(sizes):
        real[row, :size] = 1
        one = random_map(size, seed + row, sharp, causal)
        for batch, own in ((weights, one), (even, uniform_map(size, causal))):
            batch[row, 0, :size] = 0
            batch[row, 0, :size, :size] = own
        alone.append(list(numbers(one, causal).values()))
    parts = stretches(real)
    pictures, uniform = (take_picture(batch, parts, parts) for batch in (weights, even))
    np.testing.assert_allclose(shape_numbers(pictures, uniform, real.sum(-1))[:, 0], alone, atol=1e-4)


def naive_numbers(small: np.ndarray, open_: np.ndarray, length: int) -> dict[str, float]:
    """The plain way, cell by cell, in float64, from what the numbers are said to be."""
    bright = max(sorted(small.ravel())[-BRIGHT], 1.5 / SIDE)
    cells = [(row, column) for row in range(SIDE) for column in range(SIDE) if open_[row, column]]
    light = {cell: min(small[cell] / bright, 1) for cell in cells}
    width = max(2, 1.5 * SIDE / length)
    far = [cell for cell in cells if abs(cell[0] - cell[1]) > width]
    mean = np.mean(list(light.values()))
    spread = sum((value - mean) ** 2 for value in light.values())

    def means(group: list[int]) -> list[float]:
        """For each cell, the mean light of its group."""
        by: dict[int, list[float]] = {}
        for cell, number in zip(cells, group, strict=True):
            by.setdefault(number, []).append(light[cell])
        return [float(np.mean(by[number])) for number in group]

    def explained(group: list[int]) -> float:
        return sum((value - mean) ** 2 for value in means(group)) / spread

    by_line = dict(zip([column - row for row, column in cells], means([c - r for r, c in cells]), strict=True))
    by_column = {}
    for column in range(SIDE):
        there = [light[cell] for cell in far if cell[1] == column]
        by_column[column] = np.mean(there) if len(there) >= SIDE / 4 else 0.0
    best = (0.0, 0.0)
    total = sum((light[cell] - np.mean([light[one] for one in far])) ** 2 for cell in far)
    for border in range(SIDE // 8, SIDE - SIDE // 8 + 1):
        inside = [light[cell] for cell in far if (cell[0] < border) == (cell[1] < border)]
        outside = [light[cell] for cell in far if (cell[0] < border) != (cell[1] < border)]
        if min(len(inside), len(outside)) < 4 or np.mean(inside) <= np.mean(outside):
            continue
        within = sum(((np.array(part) - np.mean(part)) ** 2).sum() for part in (inside, outside))
        best = max(best, (1 - within / total, np.mean(inside) - np.mean(outside)))
    row_mean = small.mean(0)
    entropies = [-sum(p * np.log(p) for p in row if p > 0) for row in small]
    near = sum(light[cell] for cell in cells if cell not in set(far)) / sum(light.values())
    return {
        "line": max(by_line.get(step, 0.0) for step in range(-4, 5)),
        "near": near - (len(cells) - len(far)) / len(cells),
        "line_fit": explained([column - row for row, column in cells]),
        "column": max(by_column.values()),
        "columns": np.mean(sorted(by_column.values())[-5:]),
        "column_fit": explained([column for _, column in cells]),
        "row_fit": explained([row for row, _ in cells]),
        "block": best[1],
        "block_fit": best[0],
        "fill": mean,
        "far_fill": np.mean([light[cell] for cell in far]),
        "even": np.mean([one / np.log(max(2, open_[row].sum())) for row, one in enumerate(entropies)]),
        "alike": np.mean([row @ row_mean / np.linalg.norm(row) / np.linalg.norm(row_mean) for row in small]),
        "peak": np.mean(small.max(1)),
    }


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [8, 13, 32, 57, 150])
@pytest.mark.parametrize("sharp", [1.0, 4.0])
def test_is_the_formula(length: int, sharp: float, causal: bool) -> None:
    """Words-like noise with something of a line, of a column and of blocks in it."""
    weights = random_map(length, length, sharp, causal)
    for other in (line_map(length, -1), column_map(length, length // 3), block_map(length, 2 * length // 3)):
        weights = weights + 0.3 * other
    weights = normalise(weights * allowed(length, causal))
    open_ = picture(uniform_map(length, causal)).numpy() > 0
    expected = naive_numbers(picture(weights.double().float()).double().numpy(), open_, length)
    found = numbers(weights, causal)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-4)
