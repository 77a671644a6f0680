"""Every head of every kind of study is explained; what is not there is in the list of what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import headcount as hc
from headcount.errors import StudyProblem, UnknownHead
from headcount.reporting.explain import Explanation
from headcount.reporting.gaps import OF_HEADS, find_gaps
from headcount.reporting.view import read_view
from tests.reporting import studies


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def translated(place: Path) -> Path:
    return studies.translation_study(place / "translated")


@pytest.fixture(scope="module")
def pruned(place: Path) -> Path:
    return studies.pruned_study(place / "pruned")


def check(explanation: Explanation, study: Path) -> None:
    """No sentence is refuted by its own numbers, and each comes from a result of the study."""
    results = read_view(study).results
    for fact in explanation.facts:
        assert fact.result == "measures" or fact.result in results, fact
        q = fact.numbers.get("q")
        if q is not None and "significant" in fact.sentence:
            assert ("not significant" in fact.sentence) == (float(q) >= 0.05), fact
        if "rank" in fact.numbers and "the largest of" in fact.sentence:
            assert fact.numbers["rank"] == 1, fact
        assert not re.search(r"\bnan\b|\bNone\b|-0\.000\b(?! \[)|\{", fact.sentence), fact
        assert fact.sentence[-1] in ".:"
    json.dumps(explanation.as_dict(), allow_nan=False)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_heads_of_an_encoder_decoder(translated: Path, stack: str) -> None:
    for head in [head for head in read_view(translated).layout if head.stack == stack][-1:]:
        explained = hc.explain(translated, head)
        check(explained, translated)
        assert explained.head == str(head)
        titles = [section.title for section in explained.sections]
        assert titles[:2] == ["What it looks at", "What happens without it"]
        assert hc.explain(hc.open_study(translated), str(head)) == explained


def test_heads_of_a_pruned_model_keep_their_numbers(pruned: Path) -> None:
    for head in ("L0H0", "L2H2"):
        check(hc.explain(pruned, head), pruned)
    with pytest.raises(UnknownHead, match=r"got 'L0H1', but L0 has heads 0, 2-3"):
        hc.explain(pruned, "L0H1")


def test_numbers_are_those_of_the_study(pruned: Path) -> None:
    swept = hc.open_study(pruned)["sweep/head-zero"].to_dataset()
    explained = hc.explain(pruned, "L2H1")
    fact = next(fact for fact in explained.facts if fact.result == "sweep/head-zero")
    at = swept.sel(stack="encoder", layer=2, head=1)
    assert fact.numbers["value"] == pytest.approx(float(at["delta"]), rel=1e-4)
    assert fact.numbers["q"] == float(at["q"])


def test_what_was_not_measured_has_a_command(pruned: Path, translated: Path) -> None:
    for study in (pruned, translated):
        rows = hc.explain(study, "L2H1" if study == pruned else "cross.L0H0").missing
        assert [dict(row) for row in rows] == [
            row for row in find_gaps(read_view(study), str(study), sent=False) if row["what"] in OF_HEADS
        ]
        assert rows
        assert all(row["command"].startswith("headcount ") for row in rows)
        assert any(str(study) in row["command"] for row in rows), "a command that can be run where the study is"
    assert set(OF_HEADS) <= {row["what"] for row in _all_gaps(pruned)}


def _all_gaps(study: Path) -> list[dict[str, str]]:
    """Every row there can be: what a study without results of synthetic pairs lacks."""
    view = read_view(study)
    empty = type(view)(view.name, {}, (), view.layout)
    paired = next(iter(view.results.values())).copy()
    paired.attrs = {"data": "synthetic:names", "task": "completion", "model": "m"}
    rows = find_gaps(type(view)(view.name, {"cues/x": paired}, (), view.layout), "study")
    return [*rows, *find_gaps(empty, "study")]


def test_several_models_are_told_apart(place: Path) -> None:
    """The demo's kind of study: measures of a second model under a name of their own, and a comparison."""
    study = place / "two"
    model, tokenizer = studies.classifier()
    before, _ = studies.classifier(seed=8)
    before.config._name_or_path, model.config._name_or_path = "models/before", "models/tuned"
    texts = [*studies.sentences(6), *studies.sentences(6, seed=1)]
    options = {"text": "text", "only": ("special", "position")}
    data = [{"text": text} for text in texts]
    hc.measure(model, tokenizer, data, out=study, **options)  # type: ignore[arg-type]
    hc.compare(before, model, tokenizer, data, text="text", limit=4, out=study)
    hc.measure(before, tokenizer, data, out=study, name="first", **options)  # type: ignore[arg-type]
    explained = hc.explain(study, "L0H0")
    check(explained, study)
    assert explained.model == "models/tuned"
    of_other = [
        fact for fact in explained.facts if "@first" in fact.result or "(models/before, result first)" in fact.sentence
    ]
    assert of_other
    assert all("models/before" in fact.sentence for fact in of_other if not fact.listed)
    assert "(models/before to models/tuned)" in str(explained)
    assert all("before" not in row["command"] for row in explained.missing)


def test_studies_and_heads_that_cannot_be_explained(place: Path, pruned: Path) -> None:
    with pytest.raises(UnknownHead, match="which is 2 heads; expected one head such as L2H1"):
        hc.explain(pruned, "L2")
    with pytest.raises(UnknownHead, match="no stack 'cross'"):
        hc.explain(pruned, "cross.L0H0")
    with pytest.raises(UnknownHead, match="expected L3H7"):
        hc.explain(pruned, "first")
    empty = studies.empty_study(place / "empty")
    with pytest.raises(StudyProblem, match="no result about single heads; run headcount measure"):
        hc.explain(empty, "L0H0")
    with pytest.raises(StudyProblem, match="no study"):
        hc.explain(place / "nowhere", "L0H0")
