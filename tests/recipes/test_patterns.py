"""Do the labelled maps fit together, do they make the rule that is shipped, and can more of them be drawn?"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from recipes.patterns import draw, fit
from recipes.patterns.planted import LENGTHS, planted_maps

from headcount.data.tables import read_table
from headcount.measures.maps import pack, unpack
from headcount.measures.naming import PATTERNS, pattern_chances
from headcount.measures.shapes import SHAPES, SIDE, stretches, take_picture
from headcount.zoo.bundled import bundled_pairs

COLUMNS = ["id", "model", "stack", "texts", "head", "tokens", "stands_for", "label_a", "label_b"]


def run(recipe: Any, *options: object) -> None:
    """As `python -m recipes.patterns.<name>` would, but in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["recipe", *map(str, options)])
        recipe.main()


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    return pd.read_csv(fit.HERE / "labels.csv")


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    found: np.ndarray = np.load(fit.HERE / "pictures.npz")["pictures"]
    return found


def test_labels_and_pictures_belong_together(labels: pd.DataFrame, pictures: np.ndarray) -> None:
    assert labels.columns.tolist() == COLUMNS
    assert pictures.shape == (len(labels), SIDE, SIDE)
    assert pictures.dtype == np.uint8
    assert labels["id"].is_unique
    for who in "ab":
        assert set(labels[f"label_{who}"]) == set(PATTERNS)
    assert (labels["tokens"] >= 8).all()
    assert set(labels["stack"]) == {"encoder", "decoder"}
    assert labels["head"].str.fullmatch(r"L\d+H\d+").all()
    # A decoder's picture is dark where no token of a stretch may look, and one of these would not be by chance.
    for row in labels.index:
        hidden = uniform(labels["tokens"][row], labels["stack"][row]) == 0
        assert not pictures[row][hidden].any()
        assert hidden.any() == (labels["stack"][row] == "decoder")


def uniform(tokens: int, stack: str) -> np.ndarray:
    parts = stretches(torch.ones(1, int(tokens)))
    weights = torch.ones(int(tokens), int(tokens))
    return take_picture((weights if stack == "encoder" else weights.tril())[None, None], parts, parts)[0, 0].numpy()


def test_rows_of_the_pictures_sum_to_1(pictures: np.ndarray) -> None:
    """As far as a byte goes: it holds a weight to 1 / 255 of twice its root."""
    rows = unpack(pictures).sum(-1)
    np.testing.assert_allclose(rows, 1, atol=0.1)
    assert np.abs(rows - 1).mean() < 0.01


def test_no_text_is_given_away(labels: pd.DataFrame) -> None:
    """What is said of the texts is where they are from: few words, the same for many maps, and of none of them."""
    for column in labels.columns.drop(["id", "head"]).intersection(labels.select_dtypes(exclude="number").columns):
        values = labels[column].unique()
        assert len(values) <= 12, column
        assert max(map(len, values)) < 40
    table = read_table(bundled_pairs())
    whole = (fit.HERE / "labels.csv").read_text(encoding="utf-8").lower()
    for sentence in [*table["question"], *table["sentence"]]:
        assert " ".join(sentence.lower().split()[:4]) not in whole


def test_a_map_stands_for_some_or_was_looked_for(labels: pd.DataFrame) -> None:
    known = labels["stands_for"].dropna()
    assert (known >= 1).all()
    assert len(known) > len(labels) / 2
    assert set(fit.RELATIVES) <= set(labels["model"])


def test_fitting_again_gives_the_rule_that_is_shipped(
    labels: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(fit, "--out", tmp_path / "naming.json")
    found, shipped = (json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "naming.json", fit.RULE))
    assert set(found) == set(shipped)
    assert (found["shapes"], found["patterns"]) == (list(SHAPES), list(PATTERNS))
    for key in ("centre", "scale"):
        np.testing.assert_allclose(found[key], shipped[key], rtol=1e-3, atol=1e-4)
    for key in ("weights", "bias"):
        np.testing.assert_allclose(found[key], shipped[key], rtol=0.02, atol=0.02)
    # Another machine may round a map on the border of two names to the other side.
    assert np.abs(np.array(found["confusion"]) - shipped["confusion"]).sum() <= 8
    assert found["said"] == pytest.approx(shipped["said"], abs=0.01)
    agreed = labels[labels["label_a"] == labels["label_b"]]
    confusion = np.array(shipped["confusion"])
    assert confusion.sum(1).tolist() == [int((agreed["label_a"] == name).sum()) for name in PATTERNS]
    assert found["said"]["maps"] == len(labels)
    assert found["said"]["agreement"] == pytest.approx(len(agreed) / len(labels), abs=1e-4)
    printed = capsys.readouterr().out
    assert f"Written: {tmp_path / 'naming.json'}" in printed
    assert all(f"  without {model}: " in printed for model in set(labels["model"].replace(fit.RELATIVES)))


def test_a_rule_of_what_it_was_fitted_to() -> None:
    """Shapes that tell the patterns apart without doubt are all named right, and held-out ones are not seen."""
    labels = np.arange(200) % len(PATTERNS)
    shapes = torch.zeros(200, len(SHAPES))  # most of them say nothing at all
    shapes[:, : len(PATTERNS)] = torch.rand(200, len(PATTERNS), generator=torch.Generator().manual_seed(0))
    shapes[torch.arange(200), torch.tensor(labels)] += 5
    rule = fit.fit(shapes, labels)
    assert rule["weights"].shape == (len(PATTERNS), len(SHAPES))
    assert (fit.name(rule, shapes) == labels).all()
    sure = np.ones(200, dtype=bool)
    halves = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    assert (fit.held_out(shapes, labels, sure, halves) == labels).all()
    wrong = labels.copy()
    wrong[:100] = (labels[:100] + 1) % len(PATTERNS)
    named = fit.held_out(shapes, wrong, sure, halves)
    assert (named[100:] == (labels[100:] + 1) % len(PATTERNS)).all()
    assert (named[:100] == labels[:100]).all()


def test_planted_maps() -> None:
    """Each pattern in both stacks and at every length, named by the shipped rule as it was made."""
    count: dict[tuple[str, str, int], int] = {}
    for weights, stack, pattern in planted_maps():
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights >= 0).all()
        assert stack == "encoder" or not weights.triu(1).any()
        key = (stack, pattern, len(weights))
        count[key] = count.get(key, 0) + 1
    assert set(count) == set(product(("encoder", "decoder"), PATTERNS, LENGTHS))
    shapes, labels = fit.plant()
    assert len(labels) == sum(count.values())
    assert (pattern_chances(shapes).argmax(-1).numpy() == labels).mean() > 0.95
    again = [weights for weights, *_ in planted_maps()]
    assert all(torch.equal(one, other[0]) for one, other in zip(again, planted_maps(), strict=True))


def test_shares_that_are_off() -> None:
    """Weighted by how many maps one stands for; those that were looked for stand for none."""
    table = pd.DataFrame({
        "model": ["a"] * 4 + ["b"], "stands_for": [3.0, 1.0, 4.0, np.nan, 1.0],
        "label_a": ["vertical", "vertical", "diagonal", "block", "block"],
        "label_b": ["vertical", "diagonal", "diagonal", "block", "block"],
    })  # fmt: skip
    # The labels' shares: vertical 4 / 8 and 3 / 8, diagonal the rest.
    assert fit.shares_off(table, np.array([0, 0, 1, 4, 4]), "a") == pytest.approx(0.5 / 8)
    assert fit.shares_off(table, np.array([0, 0, 0, 3, 4]), "a") == pytest.approx(4.5 / 8)
    assert fit.shares_off(table, np.array([0, 0, 0, 3, 4]), "b") == 1


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "KINDS", {"pair": 1, "one": 1, "long": 1})


@pytest.mark.usefixtures("few")
def test_drawing_maps(tmp_path: Path) -> None:
    run(draw, "bundled:pretrained", "--each", 20, "--out", tmp_path, "--prefix", "t", "--seed", 3)
    table = pd.read_csv(tmp_path / "maps.csv")
    assert table["id"].tolist() == [f"t{row:03d}" for row in range(20)]
    assert not set(SHAPES) & set(table.columns)
    assert set(table["texts"]) <= {"pair", "one", "long"}
    assert (table["stands_for"] >= 1).all()
    # Equally many of every kind, which together stand for all maps of the three texts.
    assert table["stands_for"].sum() == pytest.approx(3 * 144, abs=0.1)
    assert ((table["border"] > 0) == (table["texts"] == "pair")).all()
    stored = np.load(tmp_path / "pictures.npz")["pictures"]
    assert stored.shape == (20, SIDE, SIDE)
    np.testing.assert_allclose(unpack(stored).sum(-1), 1, atol=0.1)
    sheets = sorted(path.name for path in (tmp_path / "sheets").iterdir())
    assert sheets == ["00.png", "01.png"]  # of twelve maps each
    assert all((tmp_path / "sheets" / name).read_bytes().startswith(b"\x89PNG") for name in sheets)
    longest = table.loc[table["texts"] == "long", "tokens"]
    assert longest.empty or longest.min() > table.loc[table["texts"] == "one", "tokens"].max()


@pytest.mark.usefixtures("few")
def test_drawn_pictures_are_those_of_their_rows(tmp_path: Path) -> None:
    """By the name of a head and its text, which is drawn again from the same seed."""
    run(draw, "bundled:pretrained", "--each", 10, "--out", tmp_path, "--seed", 5)
    table, stored = pd.read_csv(tmp_path / "maps.csv"), np.load(tmp_path / "pictures.npz")["pictures"]
    seen, maps, pictures = draw.see("bundled:pretrained", None, np.random.default_rng(5))
    assert len(seen) == len(maps) == len(pictures) == 3 * 144
    for row, picture in zip(table.itertuples(), stored, strict=True):
        there = seen[(seen["texts"] == row.texts) & (seen["head"] == row.head)]
        assert len(there) == 1
        assert there["tokens"].item() == row.tokens == len(maps[there.index[0]])
        assert np.array_equal(pack(pictures[there.index[0]]), picture)


@pytest.mark.usefixtures("few")
def test_drawing_what_is_rare(tmp_path: Path) -> None:
    run(draw, "bundled:qnli", "--each", 3, "--likely", "block", "--out", tmp_path)
    table = pd.read_csv(tmp_path / "maps.csv")
    assert len(table) == 3
    assert table["stands_for"].isna().all()
    assert "chance" not in table.columns
    assert table["head"].value_counts().max() <= 2


def test_drawing_from_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table, so many rows by chance; the folder that it is in names them."""
    monkeypatch.setattr(draw, "GIVEN", 2)
    (tmp_path / "stories").mkdir()
    rows = read_table(bundled_pairs())["sentence"][:6].tolist()
    pd.DataFrame({"sentence1": rows[:3], "sentence2": rows[3:]}).to_csv(tmp_path / "stories/t.csv", index=False)
    out = tmp_path / "out"
    run(draw, "bundled:pretrained", "--data", tmp_path / "stories/t.csv", "--each", 10, "--out", out)
    table = pd.read_csv(out / "maps.csv")
    assert set(table["texts"]) == {"stories"}
    assert table["stands_for"].sum() == pytest.approx(2 * 144, abs=0.1)
    assert (table["border"] > 0).all()
