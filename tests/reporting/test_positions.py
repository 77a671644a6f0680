"""Patches on the page: maps of heads and positions, examples, colours, flips and words that never say "without"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.reporting import positions
from headcount.reporting.colourings import effect_of, find_colourings
from headcount.reporting.document import describe
from headcount.reporting.examples import find_flips
from headcount.reporting.positions import differing_words, find_positions
from headcount.reporting.series import find_layers
from headcount.reporting.view import View, read_view
from tests import planted
from tests.ablation.test_shares import PAIRS
from tests.closeness import assert_same
from tests.reporting import studies
from tests.reporting.said import all_sentences


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.patched_study(tmp_path_factory.mktemp("patched") / "study")


@pytest.fixture(scope="module")
def view(study: Path) -> View:
    return read_view(study)


def result_of(study: Path, name: str = "position-patch") -> Any:
    return hc.open_study(study)[f"sweep/{name}"].to_dataset().load()


def test_the_map_is_the_result(study: Path, view: View) -> None:
    (told,) = find_positions(view)
    result = result_of(study)
    assert told["positions"] == ["start", "first", "rest", "last"]
    assert [view.layout.spell(list(view.layout)[head]) for head in told["heads"]] == ["L0H0", "L0H1", "L1H0", "L1H1"]
    for key, variable in (("values", "share"), ("low", "share_low"), ("high", "share_high"), ("q", "q")):
        assert_same(told[key], result[variable].values.reshape(4, 4), 1e-3, largest=1.0)
    assert (told["centre"], told["higher"], told["patched"]) == (0, False, {"ran": "corrupted", "given": "clean"})
    assert told["values"][0][0] == 1, "the planted head writes into the first token, which the classifier reads"


def test_an_example_by_the_plain_formula(study: Path, view: View) -> None:
    (told,) = find_positions(view)
    result = result_of(study)
    assert len(told["examples"]) == positions.EXAMPLES
    for at, example in enumerate(told["examples"]):
        label = int(result["label"][at])

        def score(logits: Any, label: int = label) -> float:
            logits = np.asarray(logits, dtype=float)
            return float(logits[label] - np.log(np.exp(logits).sum()))

        clean, corrupted = score(result["given_logits"][at]), score(result["baseline_logits"][at])
        assert example["clean"]["score"] == pytest.approx(clean, rel=1e-3)
        assert example["corrupted"]["score"] == pytest.approx(corrupted, rel=1e-3)
        assert example["falls"] == (clean < corrupted)
        assert example["clean"]["text"] == str(result["text"].values[at])
        assert example["corrupted"]["text"] == str(result["counterpart"].values[at])
        start = score(result["logits"].values[0, 0, 0, 0, at]) - corrupted
        assert example["values"][0][0] == pytest.approx(start, rel=1e-2, abs=1e-6)
        for side in ("clean", "corrupted"):
            words = [example[side]["text"][start:end] for start, end in example[side]["marks"]]
            assert words
            assert set(words) <= {"good", "bad"}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("Sam met Ann, Sam left", "Sam met Ann, Ann left", (["Sam"], ["Ann"])),
        ("a b", "a b", ([], [])),
        ("", "x", ([], ["x"])),
        ("one two", "two", (["one"], [])),
    ],
)
def test_words_that_differ(first: str, second: str, words: tuple[list[str], list[str]]) -> None:
    spans = differing_words(first, second)
    for text, found, expected in zip((first, second), spans, words, strict=True):
        assert [text[start:end] for start, end in found] == expected


def test_a_page_holds_so_many_numbers(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many heads those that matter, of too many examples the first, or none."""
    monkeypatch.setattr(positions, "CELLS", 8)
    monkeypatch.setattr(positions, "NUMBERS", 17)
    (told,) = find_positions(view)
    assert told["heads"][0] == 0
    assert len(told["heads"]) == len(told["values"]) == len(told["q"]) == 2
    assert told["of"] == 4
    assert len(told["examples"]) == 2
    assert len(told["examples"][0]["values"]) == 2
    monkeypatch.setattr(positions, "NUMBERS", 7)
    assert find_positions(view)[0]["examples"] == []


def test_no_texts_no_examples(view: View) -> None:
    name = "sweep/position-patch"
    silent = view.results[name].drop_vars(["text", "counterpart"])
    (told,) = find_positions(View("study", {name: silent}, (), view.layout))
    assert told["examples"] == []


def test_shares_are_colours_around_no_effect(study: Path, view: View) -> None:
    colourings = find_colourings(view)
    shares = [colouring for colouring in colourings if "centre" in colouring]
    assert [colouring["id"] for colouring in shares] == [
        f"sweep/head-patch{part}:share" for part in ("", "-first", "-noise", "-value")
    ]
    assert colourings[:4] == shares, "in front of the changes"
    titles = [colouring["title"] for colouring in colourings]
    assert len(set(titles)) == len(titles), "directions, parts and positions are told apart"
    denoise, first, noise, value = shares
    assert denoise["title"].endswith("corrupted input with a head from the clean one")
    assert first["title"].endswith("with a head from the clean one at 'first'")
    assert noise["title"].endswith("clean input with a head from the corrupted one")
    assert value["title"].endswith("with the value of a head from the clean one")
    assert [(each["kind"], each["centre"], each["higher"]) for each in (denoise, noise)] == [
        ("diverging", 0, False),
        ("diverging", 1, True),
    ]
    assert denoise["values"][0] == 1
    assert noise["values"] == pytest.approx([0, 1, 1, 1], abs=1e-6)
    assert denoise["q"] == pytest.approx(result_of(study, "head-patch")["q"].values.ravel(), rel=1e-3)
    assert denoise["beside"] == first["id"]


def test_carrying_the_difference_is_one_colour(view: View) -> None:
    """The score rises with the clean head and falls with the corrupted one; both are orange."""
    changes = {each["id"]: each for each in find_colourings(view) if each["id"].endswith(":delta")}
    assert changes["sweep/head-patch:delta"]["higher"] is False
    assert changes["sweep/head-patch-noise:delta"]["higher"] is True


def test_a_patch_is_no_ablation(study: Path, view: View) -> None:
    assert effect_of(find_colourings(view)) is None
    page, _ = describe(view, str(study))
    said = json.dumps({key: page[key] for key in ("findings", "colourings", "positions", "flips", "layers")})
    assert "ithout" not in said
    assert find_layers(view)[0]["patched"] == {"ran": "corrupted", "given": "clean"}
    headings = [sentence for sentence in all_sentences(view) if sentence.endswith("):")]
    assert len(headings) == 6
    assert any("with one head and position at a time from the other input (position-patch):" in one for one in headings)


def test_flips_of_a_patch(study: Path, view: View) -> None:
    """The texts are those of the input that is run, the answers those of both."""
    flips = {one["sweep"]: one for one in find_flips(view)}
    assert "position-patch" not in flips
    result = result_of(study, "head-patch")
    denoise, noise = flips["head-patch"], flips["head-patch-noise"]
    before, after = result["baseline_logits"].values.argmax(-1), result["logits"].values[0, 0, 0].argmax(-1)
    assert denoise["heads"][0]["count"] == int((before != after).sum()) > 0
    assert (denoise["patched"]["ran"], noise["patched"]["ran"]) == ("corrupted", "clean")
    assert denoise["texts"][0]["text"][0] in set(result["counterpart"].values)
    assert noise["texts"][0]["text"][0] in set(result["text"].values)
    number, now = denoise["heads"][0]["shown"][0]
    assert denoise["texts"][number]["given"] == now, (
        "with the head that carries it all, the answer is that of the giver"
    )


def test_patched_layers_but_for_a_head(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "tokenizer")
    for by in ("head", "all-but-one"):
        hc.sweep(planted.classifier(), tokenizer, PAIRS, task="sst2", how="patch", by=by, out=tmp_path / "study")
    page, _ = describe(read_view(tmp_path / "study"), "study")
    assert not any("all-but-one" in sentence for part in page["findings"] for sentence in part["sentences"])
    titles = [colouring["title"] for colouring in page["colourings"]]
    assert len(set(titles)) == len(titles) == 4
    assert any(title.endswith("with all heads of its layer but this one from the clean one") for title in titles)
