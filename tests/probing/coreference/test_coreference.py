"""Heads against coreference: a planted head is found with its exact accuracy, where the nearest mention fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.data.coreference.read import read_coreference
from headcount.errors import DataProblem, InvalidOption
from headcount.measures import passes
from headcount.probing.coreference.antecedents import find_cases
from headcount.probing.coreference.coreference import evaluate_rules
from headcount.probing.coreference.windows import cut_documents
from headcount.probing.selection.accuracies import halves
from tests.measures.planted import planted_attention
from tests.measures.tiny import causal, masked, translator
from tests.probing.documents import RIGHT, documents, naive_hits

DOCUMENTS = documents()
THERE, BACK = "mention to antecedent", "antecedent to mention"


def ask(model: Any, tokenizer: Any, data: Any = DOCUMENTS, **options: Any) -> xr.Dataset:
    return hc.probe(model, tokenizer, data, kind="coreference", **options)


@pytest.fixture(scope="module")
def planted() -> Any:
    return planted_attention()


@pytest.fixture(scope="module")
def probed(planted: Any) -> xr.Dataset:
    return ask(*planted)


def test_a_planted_head_is_found_with_its_exact_accuracy(probed: xr.Dataset) -> None:
    accuracy = probed["accuracy"].sel(stack="encoder", layer=0, head=3, direction=THERE)
    assert accuracy.sel(relation=["all", "pronoun"]).values.tolist() == [RIGHT, RIGHT]
    assert probed["relation"].values.tolist() == ["all", "pronoun"], "no other kind has a case"
    best = probed.sel(relation="pronoun")
    assert (str(best["best_head"].item()), str(best["best_direction"].item())) == ("L0H3", THERE)
    held = np.flatnonzero(~halves(len(DOCUMENTS), 0))
    assert float(best["best_accuracy"]) == pytest.approx((held % 4 != 3).mean())
    assert int(best["held_out_cases"]) == len(held)
    assert float(best["baseline_nearest"]) == float(best["baseline_head_match"]) == 0
    assert float(best["gain_low"]) > 0.5
    assert float(best["baseline_random_weights"]) < RIGHT - 0.2
    assert probed.attrs["documents"] == len(DOCUMENTS)
    # The dog agrees with "she"; of the others only "you" comes before it and does not.
    assert float(best["baseline_rules"]) == pytest.approx((held % 4 != 3).mean())


def test_every_interval_holds_its_value(probed: xr.Dataset) -> None:
    baselines = [f"baseline_{name}" for name in ("nearest", "head_match", "rules", "random_weights")]
    for name in ("accuracy", "best_accuracy", "gain", "relation_gain", *baselines):
        value, low, high = (probed[f"{name}{ending}"].values for ending in ("", "_low", "_high"))
        assert np.isfinite(value).all(), name
        assert ((low <= value + 1e-6) & (value - 1e-6 <= high)).all(), name
        assert "long_name" in probed[name].attrs, name


@pytest.mark.parametrize("among", ["words", "mentions"])
def test_equal_to_a_loop_over_words(among: str) -> None:
    model, tokenizer = masked()
    model = model.double()
    rows = pd.DataFrame(
        [
            (
                ["dogs", "saw", "the", "cats", ".", "they", "chased", "them"],
                [5, 3],
                [[[0, 1], [5, 6]], [[2, 4], [7, 8]]],
            ),
            (["she", "chased", "birds", "near", "her", "books"], [6], [[[0, 1], [4, 5]], [[2, 3]], [[4, 6]]]),
        ],
        columns=["tokens", "sent_lens", "clusters"],
    )
    found = ask(model, tokenizer, rows, candidates=among, control=False)
    windows = cut_documents(read_coreference(rows), tokenizer, 64)
    cases = find_cases(windows, [[True] * len(window.words) for window in windows])
    hits = found["values_hits"].sel(stack="encoder", relation="all")
    assert [len(several) for several in cases.cases] == [2, 1]
    for number, several in enumerate(cases.cases):
        expected = sum(naive_hits(model, tokenizer, rows["tokens"][number], case, among) for case in several)
        np.testing.assert_array_equal(hits.sel(example=number).values, expected)


def test_among_mentions_a_head_does_better_than_among_words(planted: Any) -> None:
    model, tokenizer = masked()
    among = {name: ask(model, tokenizer, candidates=name, control=False) for name in ("words", "mentions")}
    assert float(among["mentions"]["accuracy"].mean()) > float(among["words"]["accuracy"].mean())
    assert among["mentions"].attrs["candidates"] == "mentions"
    assert (among["mentions"]["cases"] == among["words"]["cases"]).all()


def long_documents(count: int) -> pd.DataFrame:
    """Several of the documents as one."""
    rows = documents(count * 3, seed=2)
    joined = []
    for start in range(0, len(rows), 3):
        words: list[str] = []
        clusters: list[Any] = []
        sizes: list[int] = []
        for row in rows[start : start + 3].itertuples():
            clusters += [[[at + len(words) for at in span] for span in cluster] for cluster in row.clusters]
            words, sizes = words + row.tokens, [*sizes, len(row.tokens)]
        joined.append((f"long{start}", words, sizes, clusters))
    return pd.DataFrame(joined, columns=["doc", "tokens", "sent_lens", "clusters"])


def test_documents_in_windows_are_halved_as_documents() -> None:
    """The same cases whether documents fit or not, and each document on one side; nothing is lost between sentences."""
    model, tokenizer = masked()
    rows = long_documents(12)
    whole = ask(model, tokenizer, rows, control=False)
    cut = ask(model, tokenizer, rows, control=False, max_length=40)
    assert cut.sizes["example"] > whole.sizes["example"] == cut.attrs["documents"] == 12
    assert (cut["cases"].values == whole["cases"].values).all()
    assert (cut["held_out_cases"].values == whole["held_out_cases"].values).all()
    assert float(cut["baseline_nearest"][0]) == float(whole["baseline_nearest"][0])


def test_what_windows_lose_is_counted() -> None:
    model, tokenizer = masked()
    words = ["dog", *["red"] * 30, "she", "saw", "him", *["red"] * 10, "he"]
    clusters = [[[0, 1], [31, 32]], [[33, 34], [44, 45]]]
    rows = pd.DataFrame({"tokens": [words] * 4, "sent_lens": [[1] * len(words)] * 4, "clusters": [clusters] * 4})
    found = ask(model, tokenizer, rows, control=False, max_length=24)
    assert found.attrs["lost"]["mentions whose antecedents are all outside of their window"] == 4
    assert int(found["cases"].sel(direction=THERE, relation="all").max()) == 4


def test_batches_and_units_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = masked()
    expected = ask(model.double(), tokenizer, DOCUMENTS[:20])
    monkeypatch.setattr(passes, "UNIT", 7)
    found = ask(model, tokenizer, DOCUMENTS[:20], compute=hc.Compute(batch_tokens=60))
    xr.testing.assert_equal(found, expected)


def test_a_causal_model_is_asked_for_what_it_can_see() -> None:
    model, tokenizer = causal()
    found = ask(model, tokenizer, DOCUMENTS[:20])
    assert found["cases"].sel(direction=THERE, relation="all").values.tolist() == [20]
    assert not found["cases"].sel(direction=BACK).any()
    assert found["accuracy"].sel(direction=BACK).isnull().all()
    assert set(found["best_direction"].values) == {THERE}


def test_the_encoder_of_a_translator() -> None:
    model, tokenizer = translator()
    found = ask(model, tokenizer, DOCUMENTS[:20], control=False)
    assert found["accuracy"].sel(stack="encoder").notnull().all()
    assert found["accuracy"].sel(stack=["decoder", "cross"]).isnull().all()


def test_a_study_keeps_examples_of_the_held_out_documents(planted: Any, tmp_path: Path) -> None:
    probed = ask(*planted, out=tmp_path / "study", control=False)
    stored = hc.open_study(tmp_path / "study")
    assert stored["probe/coreference"].attrs["complete"]
    arcs = stored["arcs/coreference"].to_dataset()
    assert arcs["head"].values.tolist() == probed["best_head"].values.tolist()
    for words, shown in zip(arcs["words"].values.ravel(), arcs["arcs"].values.ravel(), strict=True):
        [[word, said, true]] = json.loads(shown)
        assert [json.loads(words)[number] for number in (word, said)] == ["she", "dog"]
        assert json.loads(words)[true] in ("dog", "you")


def test_the_better_rule_is_selected() -> None:
    """Of the nearest mention (right in 30 %) and the same head word (60 %) it is the second; the sieve is not one."""
    generator = np.random.default_rng(0)
    hits = (generator.random((400, 3, 2, 1)) < np.array([0.3, 0.6, 0.9])[:, None, None]).astype(float)
    selecting = halves(400, 0)
    found = evaluate_rules(hits, np.ones((400, 2, 1)), selecting, 0)
    assert found.best.index.tolist() == [1, 1]
    for number, name in enumerate(("nearest", "head_match", "rules")):
        assert found.baselines[f"baseline_{name}"].accuracy == pytest.approx(hits[~selecting, number].mean(0).ravel())
    assert found.best.accuracy == pytest.approx(found.baselines["baseline_head_match"].accuracy)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"candidates": "nouns"}, "expected one of words, mentions"),
        ({"relations": "nsubj"}, "relations=, which has no effect here: it belongs to kind=dependencies"),
        ({"words": "written"}, "words=, which has no effect here"),
    ],
)
def test_what_is_refused(planted: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        ask(*planted, DOCUMENTS[:4], **options)


def test_data_without_cases(planted: Any) -> None:
    with pytest.raises(DataProblem, match="got one document with antecedents; expected at least two"):
        ask(*planted, DOCUMENTS[:1])
    single = DOCUMENTS[:4].assign(clusters=[[[[0, 1]]]] * 4)
    with pytest.raises(DataProblem, match="no text has a mention with an antecedent before it"):
        ask(*planted, single)
    with pytest.raises(InvalidOption, match="candidates=, which has no effect here: it belongs to kind=coreference"):
        hc.probe(*planted, DOCUMENTS[:4], candidates="words")
