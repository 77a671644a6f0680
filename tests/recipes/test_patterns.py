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
from recipes.patterns import compare, draw, fit, kinds, labelled, score
from recipes.patterns.planted import LENGTHS, VARIED_LENGTHS, planted_maps, varied_maps

from headcount.attention_maps.maps import pack, unpack
from headcount.data.tables import read_table
from headcount.patterns.naming import PATTERNS, pattern_chances
from headcount.patterns.picture_sums import SIDE
from headcount.patterns.shapes import SHAPES, stretches, take_picture
from headcount.zoo.bundled import bundled_pairs

COLUMNS = ["id", "model", "stack", "texts", "head", "tokens", "stands_for", "label_a", "label_b", "label_c"]


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
    disputed = labels["label_a"] != labels["label_b"]
    assert (labels["label_c"].notna() == disputed).all()  # a third look where two labellings differ, and only there
    assert set(labels["label_c"].dropna()) <= set(PATTERNS)
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
        values = labels[column].dropna().unique()
        assert len(values) <= 15, column
        assert max(map(len, values)) < 40
    table = read_table(bundled_pairs())
    whole = (fit.HERE / "labels.csv").read_text(encoding="utf-8").lower()
    for sentence in [*table["question"], *table["sentence"]]:
        assert " ".join(sentence.lower().split()[:4]) not in whole


def test_a_map_stands_for_some_or_was_looked_for(labels: pd.DataFrame) -> None:
    known = labels["stands_for"].dropna()
    assert (known >= 1).all()
    assert len(known) > len(labels) / 2
    assert set(labelled.FAMILIES) == set(labels["model"])


def test_the_label_that_counts() -> None:
    table = pd.DataFrame(
        {"label_a": ["block", "block"], "label_b": ["block", "diagonal"], "label_c": [None, "vertical"]}
    )
    assert labelled.settle(table).tolist() == ["block", "vertical"]
    assert set(labelled.read_table()["label"]) == set(PATTERNS)


def test_no_head_is_in_two_families() -> None:
    """Models that share weights share their heads' groups, and a group lies within one family."""
    table = labelled.read_table()
    assert table.groupby("group")["family"].nunique().max() == 1
    heads = {model: set(part["group"]) for model, part in table.groupby("model")}
    assert heads["e5-mrpc"] & heads["e5-rte"] & heads["e5-small"]
    assert heads["bundled:qnli"] & heads["bundled:pretrained"]
    assert not heads["opus-mt-zh-en"] & heads["opus-mt-fr-en"]  # trained apart, but held out together


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
    # What was held out is read from a file: all that follows from it is the same everywhere.
    assert (found["confusion"], found["f1"]) == (shipped["confusion"], shipped["f1"])
    assert found["reliability"] == shipped["reliability"]
    assert found["said"] == pytest.approx(shipped["said"], abs=0.01)
    confusion, settled = np.array(shipped["confusion"]), labelled.settle(labels)
    assert confusion.sum(1).tolist() == [int((settled == name).sum()) for name in PATTERNS]
    assert found["said"]["maps"] == len(labels)
    printed = capsys.readouterr().out
    assert f"Written: {tmp_path / 'naming.json'}" in printed
    assert all(f"  without {family}: " in printed for family in set(labelled.FAMILIES.values()))


def test_fresh_maps_are_not_among_the_labelled_ones(pictures: np.ndarray) -> None:
    stored = np.load(fit.HERE / "fresh.npz")["pictures"]
    assert stored.shape == (len(labelled.read_fresh().labels), SIDE, SIDE)
    assert not {one.tobytes() for one in stored} & {one.tobytes() for one in pictures}


def test_what_was_held_out_can_be_made_again() -> None:
    """The chances of one family by the kind that was chosen without it, which has not seen the family."""
    table, maps, chosen = labelled.read_table(), labelled.read_maps(), fit.read_chosen()
    kept = fit.read_held_out()
    np.testing.assert_allclose(kept.sum(-1), 1, atol=1e-4)
    taken = chosen["without"]["rubert"]
    part = np.flatnonzero(table["family"] == "rubert")
    again = kinds.chances_without(taken["kind"], maps, ["rubert"], maps, part)
    np.testing.assert_allclose(score.soften(again, taken["temperature"]), kept[part], atol=0.02)


def test_chances_are_those_of_the_library() -> None:
    """The rule as the library computes it in float32 against the fitted model in float64."""
    maps, chosen = labelled.read_maps(), fit.read_chosen()
    make, varied = kinds.candidates()[chosen["kind"]]
    rows = np.flatnonzero((maps.family != labelled.VARIED) | varied)
    expected = score.soften(make().fit(maps, rows).chances(maps, rows), chosen["temperature"])
    found = pattern_chances(torch.from_numpy(maps.shapes[rows])).numpy()
    np.testing.assert_allclose(found, expected, atol=2e-3)


def small_maps(count: int = 200, families: int = 4) -> labelled.Maps:
    """Shapes that tell the patterns apart without doubt, of some families."""
    labels = np.arange(count) % len(PATTERNS)
    shapes = np.zeros((count, len(SHAPES)))  # most of them say nothing at all
    shapes[:, : len(PATTERNS)] = np.random.default_rng(0).random((count, len(PATTERNS)))
    shapes[np.arange(count), labels] += 5
    family = np.array([f"family {number // len(PATTERNS) % families}" for number in range(count)])
    pictures = torch.full((count, SIDE, SIDE), 1 / SIDE)
    return labelled.Maps(pictures, np.full(count, 20), np.full(count, "encoder"), shapes, labels, family)


@pytest.mark.parametrize(
    "kind",
    [
        kinds.Linear(len(SHAPES), 0.3, True),
        kinds.Linear(len(SHAPES), 0.01, True, products=True),
        kinds.Trees(),
        kinds.Perceptron(batch=32),
    ],
)
def test_every_kind_learns_what_can_be_learned(kind: Any) -> None:
    maps = small_maps()
    rest, part = np.arange(100), np.arange(100, 200)
    chances = kind.fit(maps, rest).chances(maps, part)
    np.testing.assert_allclose(chances.sum(-1), 1, atol=1e-5)
    assert (chances.argmax(-1) == maps.labels[part]).mean() > 0.95


def test_convolutions_read_pictures() -> None:
    """Lines and columns, from the pictures alone."""
    maps = small_maps(100)
    pictures = torch.zeros(100, SIDE, SIDE)
    for row, label in enumerate(maps.labels):
        if label % 2:
            pictures[row] = torch.eye(SIDE)
        else:
            pictures[row, :, row % SIDE] = 1
    maps = labelled.Maps(pictures, np.full(100, 32), maps.stack, maps.shapes, maps.labels % 2, maps.family)
    chances = kinds.Network(epochs=30, batch=20).fit(maps, np.arange(60)).chances(maps, np.arange(60, 100))
    assert (chances.argmax(-1) == maps.labels[60:]).mean() > 0.9


def test_folds_never_see_what_they_are_scored_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fit leaves out the family that is scored, and in inner folds the outer one, too."""
    seen: list[set[str]] = []

    class Spy(kinds.Linear):
        def fit(self, maps: labelled.Maps, rows: np.ndarray) -> kinds.Linear:
            seen.append(set(maps.family[rows]))
            return super().fit(maps, rows)

    for module in (compare, kinds):
        monkeypatch.setattr(module, "candidates", lambda: {"linear": (lambda: Spy(len(SHAPES), 0.3, True), True)})
    monkeypatch.setattr(compare, "MEANS", {})
    maps = small_maps()
    families = sorted(set(maps.family))
    chances = compare.Chances(maps, tmp_path)
    inner = chances.inner("linear", families, families[0])
    assert np.isnan(inner[maps.family == families[0]]).all()
    assert (inner.argmax(-1) == maps.labels)[maps.family != families[0]].all()
    assert len(seen) == 3
    assert all(families[0] not in one and len(one) == 2 for one in seen)
    kind, temperature, scores = compare.choose(chances, families, families[0])
    assert (kind, scores["linear"]) == ("linear", 1.0)
    assert temperature > 0
    assert len(seen) == 3  # read from the cache


def test_a_simple_kind_is_kept_unless_another_is_better_by_a_point() -> None:
    order = compare._by_score({"linear a": 0.7, "linear b": 0.72, "trees": 0.725, "network": 0.74})
    assert order == ["linear b", "linear a", "trees", "network"]


def test_the_mean_of_chances() -> None:
    found = kinds.join([np.array([[0.9, 0.1]]), np.array([[0.1, 0.9]])])
    np.testing.assert_allclose(found, [[0.5, 0.5]])
    np.testing.assert_allclose(kinds.join([np.array([[0.8, 0.2]])]), [[0.8, 0.2]])


def test_the_temperature_of_chances() -> None:
    """Labels drawn by known chances: sharpened ones are softened back to them."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(5), 4000)
    labels = np.array([rng.choice(5, p=one) for one in true])
    sharp = score.soften(true, 0.5)
    assert score.find_temperature(sharp, labels) == pytest.approx(2, rel=0.1)
    assert score.calibration_error(true, labels) < 0.03 < score.calibration_error(sharp, labels)


def test_the_interval_of_f1() -> None:
    """It holds the score, and names that are all right leave nothing open."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 600)
    names = np.where(rng.random(600) < 0.8, labels, rng.integers(0, 5, 600))
    family, group = np.arange(600) % 6, np.array([f"{number % 60}" for number in range(600)])
    low, high = score.interval(labels, names, family, group)
    assert low < score.macro_f1(labels, names) < high
    assert 0.02 < high - low < 0.2
    assert score.interval(labels, labels, family, group) == (1.0, 1.0)


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
    maps = labelled.read_maps()
    planted = maps.family == labelled.PLANTED
    assert planted.sum() == sum(count.values())
    named = pattern_chances(torch.from_numpy(maps.shapes[planted])).argmax(-1).numpy()
    assert (named == maps.labels[planted]).mean() > 0.95
    again = [weights for weights, *_ in planted_maps()]
    assert all(torch.equal(one, other[0]) for one, other in zip(again, planted_maps(), strict=True))


def test_varied_maps() -> None:
    """Equally many of each pattern, stack and length, with rows that sum to 1; most named as they were made."""
    count: dict[tuple[str, str, int], int] = {}
    for weights, stack, pattern in varied_maps(each=2):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
        assert stack == "encoder" or not weights.triu(1).any()
        key = (stack, pattern, len(weights))
        count[key] = count.get(key, 0) + 1
    assert set(count) == set(product(("encoder", "decoder"), PATTERNS, VARIED_LENGTHS))
    assert set(count.values()) == {2}
    maps = labelled.read_maps()
    varied = maps.family == labelled.VARIED
    named = pattern_chances(torch.from_numpy(maps.shapes[varied])).argmax(-1).numpy()
    assert (named == maps.labels[varied]).mean() > 0.75


def test_shares_that_are_off() -> None:
    """Weighted by how many maps one stands for; those that were looked for stand for none."""
    table = pd.DataFrame(
        {
            "family": ["f"] * 4 + ["g"],
            "model": ["a"] * 4 + ["b"],
            "stack": "encoder",
            "stands_for": [3.0, 1.0, 4.0, np.nan, 1.0],
        }
    )
    found = score.share_errors(table, np.array([0, 0, 1, 3, 3]), np.array([0, 1, 1, 3, 4]))
    one = found[found["model"] == "a"].set_index("pattern")
    assert one["labelled"].tolist() == [0.5, 0.5, 0, 0, 0]
    assert one["named"].tolist() == [3 / 8, 5 / 8, 0, 0, 0]
    other = found[found["model"] == "b"].set_index("pattern")
    assert (other.loc["block", "labelled"], other.loc["heterogeneous", "named"]) == (1, 1)


def test_intervals_of_shares_cover_families_that_did_not_make_them() -> None:
    """Errors of one size in all families are covered; a family that is far worse than the others is not."""
    rng = np.random.default_rng(0)
    named = rng.uniform(0.1, 0.9, 400)
    errors = pd.DataFrame(
        {
            "family": np.repeat([f"f{number}" for number in range(8)], 50),
            "named": named,
            "labelled": named + 0.1 * score.unit(named) * rng.standard_normal(400),
        }
    )
    assert score.share_width(errors) == pytest.approx(0.2, abs=0.03)
    assert score.coverage(errors) == pytest.approx(0.95, abs=0.03)
    worse = errors["family"] == "f0"
    errors.loc[worse, "labelled"] = errors.loc[worse, "named"] + 0.5
    assert score.coverage(errors) < 0.9


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
