"""The rule that comes with the package is whole, and gives plain maps the name that anybody would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headcount.patterns import naming
from headcount.patterns.naming import PATTERNS, pattern_chances, read_rule
from headcount.patterns.shapes import SHAPES
from tests.patterns.test_shapes import block_map, column_map, line_map, normalise, numbers, random_map, uniform_map

LENGTHS = range(16, 129, 7)
SHIPPED = Path(naming.__file__).parent / "naming.json"


@pytest.fixture
def other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the rule is read from, for once; the shipped one is read again afterwards."""
    monkeypatch.setattr(naming, "files", lambda _: tmp_path)
    read_rule.cache_clear()
    yield tmp_path / "naming.json"
    read_rule.cache_clear()


def name_of(weights: Tensor, causal: bool = False) -> str:
    chances = pattern_chances(torch.tensor(list(numbers(weights, causal).values())))
    return PATTERNS[int(chances.argmax())]


def test_the_rule_is_whole() -> None:
    rule = read_rule()
    assert rule.centre.shape == rule.scale.shape == (len(SHAPES),)
    assert rule.weights.shape == (len(PATTERNS), len(SHAPES))
    assert rule.bias.shape == (len(PATTERNS),)
    assert rule.confusion.shape == (len(PATTERNS), len(PATTERNS))
    for array in (rule.centre, rule.scale, rule.weights, rule.bias, rule.confusion):
        assert np.isfinite(array).all()
    assert (rule.scale > 0).all()
    assert abs(rule.weights).sum() > 1
    assert read_rule() is rule


def test_what_is_said_of_the_rule_fits_together() -> None:
    """The confusion holds every labelled map once, disputed ones too; the headline is its macro F1."""
    rule = read_rule()
    said, confusion = rule.said, rule.confusion
    assert (confusion >= 0).all()
    assert (confusion == confusion.round()).all()
    assert confusion.sum() == said["maps"]
    assert np.trace(confusion) / confusion.sum() == pytest.approx(said["accuracy"], abs=1e-4)
    right = np.diag(confusion)
    f1 = 2 * right / (confusion.sum(0) + confusion.sum(1))
    assert f1.mean() == pytest.approx(said["f1"], abs=1e-4)
    assert list(rule.f1.values()) == pytest.approx(f1, abs=1e-4)
    assert tuple(rule.f1) == PATTERNS
    assert said["f1_low"] < said["f1"] < said["f1_high"]
    assert said["f1"] < said["f1_same_models"]  # a new family is harder than new heads of known models
    assert 0 < said["kappa"] < said["agreement"] < 1
    assert 0 < said["shares_off"] < said["shares_off_most"] < 1
    assert said["f1"] > 0.75
    assert (right == confusion.max(1)).all()  # no label is mostly taken for another


def test_no_bias_towards_vertical() -> None:
    """Maps are not called vertical more often than they are, nor are heterogeneous or mixed ones taken for it."""
    confusion = read_rule().confusion
    assert confusion[:, PATTERNS.index("vertical")].sum() <= confusion[PATTERNS.index("vertical")].sum()
    for label in ("vertical+diagonal", "heterogeneous"):
        row = confusion[PATTERNS.index(label)]
        assert row[PATTERNS.index("vertical")] < 0.15 * row.sum()


def test_sure_is_calibrated() -> None:
    """In every range of `sure` the names are right about as often as the rule is sure of them."""
    rule = read_rule()
    rows = rule.reliability
    assert sum(row["maps"] for row in rows) == rule.said["maps"]
    error = sum(row["maps"] * abs(row["sure"] - row["right"]) for row in rows) / rule.said["maps"]
    assert error == pytest.approx(rule.said["calibration_error"], abs=2e-3)
    assert error < 0.05
    right = [row["right"] for row in rows]
    assert right == sorted(right)
    accuracy = sum(row["maps"] * row["right"] for row in rows) / rule.said["maps"]
    assert accuracy == pytest.approx(rule.said["accuracy"], abs=2e-3)


def test_the_margin_of_a_share() -> None:
    """Widest in the middle, never a point, and the same for a share and the rest."""
    rule = read_rule()
    shares = np.linspace(0, 1, 11)
    margin = rule.share_margin(shares)
    assert margin.argmax() == 5
    assert (margin > 0.02).all()
    np.testing.assert_allclose(margin, margin[::-1])
    assert margin[5] == pytest.approx(rule.said["share_width"] * (0.25 + rule.said["share_floor"]) ** 0.5)
    assert rule.said["share_coverage"] > 0.9


def test_chances_sum_to_1() -> None:
    shapes = torch.rand(3, 4, len(SHAPES), generator=torch.Generator().manual_seed(0))
    chances = pattern_chances(shapes)
    assert chances.shape == (3, 4, len(PATTERNS))
    assert chances.dtype == torch.float32
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(pattern_chances(shapes[1, 2]), chances[1, 2], atol=1e-6)


def test_is_the_formula() -> None:
    rule = read_rule()
    shapes = np.random.default_rng(0).random((20, len(SHAPES)))
    for row, found in zip(shapes, pattern_chances(torch.tensor(shapes)), strict=True):
        logits = [
            rule.bias[pattern]
            + sum(
                rule.weights[pattern, n] * min(max((row[n] - rule.centre[n]) / rule.scale[n], -4), 4)
                for n in range(len(SHAPES))
            )
            for pattern in range(len(PATTERNS))
        ]
        expected = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_what_is_unknown_stays_unknown() -> None:
    shapes = torch.rand(3, len(SHAPES))
    shapes[1] = float("nan")
    shapes[2, 4] = float("nan")
    chances = pattern_chances(shapes)
    assert chances[0].isfinite().all()
    assert chances[1:].isnan().all()


@pytest.mark.parametrize("length", LENGTHS)
def test_columns_are_vertical(length: int) -> None:
    for key in (0, length // 2, length - 1):
        assert name_of(column_map(length, key)) == "vertical"
    two = 0.6 * column_map(length, 0) + 0.4 * column_map(length, length - 1)
    assert name_of(two) == "vertical"
    assert name_of(0.7 * column_map(length, 0) + 0.3 * uniform_map(length)) == "vertical"


@pytest.mark.parametrize("length", LENGTHS)
def test_lines_are_diagonal(length: int) -> None:
    for step in (-2, -1, 0, 1, 2):
        assert name_of(line_map(length, step)) == "diagonal"
    band = sum(line_map(length, step) for step in (-1, 0, 1)) / 3
    assert name_of(band) == "diagonal"
    assert name_of(0.7 * line_map(length, -1) + 0.3 * uniform_map(length)) == "diagonal"


@pytest.mark.parametrize("length", LENGTHS)
def test_lines_and_columns_are_both(length: int) -> None:
    for step in (-1, 0, 1):
        for key in (0, length - 1):
            assert name_of((line_map(length, step) + column_map(length, key)) / 2) == "vertical+diagonal"


@pytest.mark.parametrize("length", LENGTHS)
def test_squares_are_blocks(length: int) -> None:
    for border in (length // 4, length // 3, length // 2, 2 * length // 3):
        assert name_of(block_map(length, border)) == "block"


@pytest.mark.parametrize("length", LENGTHS)
def test_everything_alike_is_heterogeneous(length: int) -> None:
    assert name_of(uniform_map(length)) == "heterogeneous"


@pytest.mark.parametrize("sharp", [1.0, 2.0, 3.0])
def test_noise_is_heterogeneous(sharp: float) -> None:
    """Dots that depend on the words: nearly always, whatever the length."""
    names = [name_of(random_map(length, seed, sharp)) for length in LENGTHS for seed in range(5)]
    assert names.count("heterogeneous") >= 0.95 * len(names)


@pytest.mark.parametrize("length", LENGTHS)
def test_where_the_future_is_hidden(length: int) -> None:
    first = column_map(length, 0)
    line = line_map(length, -1)
    line[0] = first[0]
    assert name_of(first, causal=True) == "vertical"
    assert name_of(line, causal=True) == "diagonal"
    assert name_of(line_map(length, 0), causal=True) == "diagonal"
    assert name_of((line_map(length, 0) + first) / 2, causal=True) == "vertical+diagonal"
    assert name_of(normalise(block_map(length, length // 2).tril()), causal=True) == "block"


@pytest.mark.parametrize("length", LENGTHS)
def test_everything_before_alike_is_heterogeneous(length: int) -> None:
    assert name_of(uniform_map(length, causal=True), causal=True) == "heterogeneous"


@pytest.mark.parametrize(
    "changed",
    [
        {"shapes": [*SHAPES[1:], SHAPES[0]]},
        {"shapes": list(SHAPES[:-1])},
        {"patterns": list(PATTERNS[::-1])},
        {"patterns": [*PATTERNS, "another"]},
    ],
)
def test_a_rule_of_other_shapes_is_refused(other_file: Path, changed: dict[str, Any]) -> None:
    told = json.loads(SHIPPED.read_text(encoding="utf-8"))
    other_file.write_text(json.dumps(told), encoding="utf-8")
    assert read_rule().said == told["said"]
    read_rule.cache_clear()
    other_file.write_text(json.dumps(told | changed), encoding="utf-8")
    with pytest.raises(ValueError, match=r"recipes\.patterns\.fit"):
        read_rule()
