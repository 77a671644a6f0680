"""Are the examples that flip without a head those that the sweep's own outputs say, with their texts and labels?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS
from headcount.data.tasks import find_task
from headcount.reporting.examples import LONGEST, MOST, find_flips
from headcount.reporting.view import View, find_layout
from tests import planted
from tests.measures import tiny as measured
from tests.measures.planted import PAIRS, WORDS
from tests.reporting import studies


def view_of(found: xr.Dataset, name: str = "head-zero", layout: Layout | None = None) -> View:
    results = {f"sweep/{name}": found}
    return View("study", results, (), layout or find_layout(results))


def naive(found: xr.Dataset, names: list[str]) -> dict[str, list[tuple[str, str, str, str]]]:
    """By head, (text, label, whole, without) of every example that the model without it answers otherwise."""
    flips: dict[str, list[tuple[str, str, str, str]]] = {}
    for layer in range(found.sizes["layer"]):
        for head in range(found.sizes["head"]):
            for example in range(found.sizes["example"]):
                whole = found["baseline_logits"].values[example]
                said = found["logits"].values[0, layer, head, example]
                if np.isnan(said).any() or int(said.argmax()) == int(whole.argmax()):
                    continue
                label = names[int(found["label"].values[example])]
                row = (str(found["text"].values[example]), label, names[whole.argmax()], names[said.argmax()])
                flips.setdefault(f"L{layer}H{head}", []).append(row)
    return flips


def shown(view: View, told: dict[str, Any]) -> dict[str, list[tuple[str, str, str, str]]]:
    heads = list(view.layout)
    return {
        view.layout.spell(heads[index]): [
            (told["texts"][place]["text"][0], told["texts"][place]["label"], told["texts"][place]["whole"], said)
            for place, said in one["shown"]
        ]
        for index, one in told["heads"].items()
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("words"))
    return hc.sweep(planted.classifier(), tokenizer, planted.texts(), task="sst2", how="zero")


def test_flips_are_those_of_the_logits(found: xr.Dataset) -> None:
    view = view_of(found)
    told = find_flips(view)
    assert [one["sweep"] for one in told] == ["head-zero"]
    expected = naive(found, ["negative", "positive"])
    assert set(expected) == {"L0H0", "L0H1"}, "the heads that carry the label and the noise"
    heads = list(view.layout)
    counts = {view.layout.spell(heads[index]): one["count"] for index, one in told[0]["heads"].items()}
    assert counts == {head: len(rows) for head, rows in expected.items()}
    assert max(counts.values()) > MOST
    assert shown(view, told[0]) == {head: rows[:MOST] for head, rows in expected.items()}
    assert told[0]["examples"] == 120
    assert told[0]["classes"] is True


def test_a_text_is_kept_once(found: xr.Dataset) -> None:
    """Heads that flip the same example point to the same text."""
    doubled = found.copy(deep=True)
    doubled["logits"].values[0, 1, 1] = doubled["logits"].values[0, 0, 0]
    told = find_flips(view_of(doubled))[0]
    assert told["heads"][0] == told["heads"][3]
    pointed = {place for one in told["heads"].values() for place, _ in one["shown"]}
    assert pointed == set(range(len(told["texts"])))


def test_heads_that_the_model_has_not_got() -> None:
    model, tokenizer = studies.classifier(seed=5)
    hc.prune(model, studies.GONE)
    found = hc.sweep(
        model, tokenizer, studies.labelled(model, tokenizer, studies.sentences(30)), task="sst2", how="uniform"
    )
    view = view_of(found)
    told = find_flips(view)[0]
    expected = naive(found, ["negative", "positive"])
    assert expected
    assert shown(view, told) == {head: rows[:MOST] for head, rows in expected.items()}
    whole = Layout.even({"encoder": (3, 4)})  # another result of the study knows all heads
    told = find_flips(view_of(found, layout=whole))[0]
    assert {whole.spell(list(whole)[index]) for index in told["heads"]} == set(expected)


def test_a_layout_that_is_larger_than_the_sweep(found: xr.Dataset) -> None:
    larger = Layout.even({"cross": (1, 2), "encoder": (5, 6)})
    told = find_flips(view_of(found, layout=larger))[0]
    heads = list(larger)
    assert {str(heads[index]) for index in told["heads"]} == {"encoder.L0H0", "encoder.L0H1"}


def test_pairs_show_both_texts() -> None:
    model, tokenizer = studies.classifier(layers=1, heads=2)
    data = pd.DataFrame(PAIRS * 6, columns=["sentence1", "sentence2"]).assign(label=[0, 1] * 21)
    task = find_task("classification", text=["sentence1", "sentence2"])
    found = hc.sweep(model, tokenizer, data, task=task, how="zero")
    found["logits"].values[0, 0, 1] = -found["baseline_logits"].values
    told = find_flips(view_of(found))[0]
    assert told["heads"][1]["count"] == 42
    pairs = {tuple(one["text"]) for one in told["texts"]}
    assert pairs <= set(PAIRS)
    assert len(pairs) > 1


def test_long_texts_are_cut(found: xr.Dataset) -> None:
    changed = found.copy(deep=True)
    changed["text"] = ("example", np.array(["w" * (LONGEST + number % 2) for number in range(120)], dtype=object))
    lengths = {len(one["text"][0]) for one in find_flips(view_of(changed))[0]["texts"]}
    assert lengths == {LONGEST, LONGEST + 1}
    cut = [one["text"][0] for one in find_flips(view_of(changed))[0]["texts"] if one["text"][0].endswith("…")]
    assert cut


def synthetic(**more: Any) -> xr.Dataset:
    """One layer of two heads, two examples, three classes; the second head turns the second example."""
    logits = np.zeros((1, 1, 2, 2, 3))
    logits[..., 1] = 1
    logits[0, 0, 1, 1, 2] = 5
    whole = np.zeros((2, 3))
    whole[:, 1] = 1
    arrays = {
        "delta": (HEAD_DIMS, np.zeros((1, 1, 2))),
        "logits": ((*HEAD_DIMS, "example", "class"), logits),
        "baseline_logits": (("example", "class"), whole),
        "label": ("example", [0, 7]),
        "text": ("example", np.array(["one", "two"], dtype=object)),
    }
    return xr.Dataset(arrays | more, coords={"stack": ["encoder"]}, attrs={"by": "head", "labels": []})


def test_classes_without_names_are_numbers() -> None:
    told = find_flips(view_of(synthetic()))[0]
    assert told["heads"] == {1: {"count": 1, "shown": [[0, "2"]]}}
    assert told["texts"] == [{"text": ["two"], "label": "7", "whole": "1"}]


def test_examples_without_labels() -> None:
    told = find_flips(view_of(synthetic().drop_vars("label")))[0]
    assert told["texts"][0]["label"] is None


def test_sweeps_without_flips() -> None:
    """By layer, without texts, of a loss, of words, of a score: no answer of an example that could flip."""
    for one in (
        synthetic().assign_attrs(by="layer"),
        synthetic().drop_vars("text"),
        synthetic().isel({"class": [0]}),
        synthetic().drop_vars(["logits", "baseline_logits"]),
    ):
        assert find_flips(view_of(one)) == []
    assert find_flips(View("study", {}, (), Layout({}))) == []


def test_a_regression_has_none() -> None:
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=1,
    )
    torch.manual_seed(0)
    model = tf.BertForSequenceClassification(config).eval()
    data = pd.DataFrame({"text": studies.sentences(12), "label": np.linspace(0, 5, 12)})
    found = hc.sweep(
        model, measured.planted_attention()[1], data, task=find_task("regression", text=["text"]), how="uniform"
    )
    assert found.sizes["class"] == 1
    assert find_flips(view_of(found)) == []


def test_translations_that_change() -> None:
    pytest.importorskip("sacrebleu")
    model, tokenizer = measured.translator()
    data = pd.DataFrame({"source": studies.sentences(5), "target": studies.sentences(5, seed=1)})
    found = hc.sweep(
        model,
        tokenizer,
        data,
        task="translation",
        by=hc.Every(stack="cross"),
        generate={"max_new_tokens": 6},
        how="uniform",
    )
    layout = hc.read_anatomy(model).layout
    told = find_flips(view_of(found, layout=layout))[0]
    assert told["classes"] is False
    heads = list(layout)
    changed = 0
    for index, head in enumerate(heads):
        rows = []
        if head.stack == "cross":
            outputs = found["texts"].sel(stack="cross", layer=head.layer, head=head.head).values
            whole = found["baseline_texts"].values
            rows = [
                (str(found["text"].values[example]), str(whole[example]), str(outputs[example]))
                for example in range(5)
                if outputs[example] != whole[example]
            ]
        one = told["heads"].get(index, {"count": 0, "shown": []})
        assert one["count"] == len(rows)
        assert [
            (told["texts"][place]["text"][0], told["texts"][place]["whole"], said) for place, said in one["shown"]
        ] == rows
        changed += len(rows)
    assert changed
    assert {one["label"] for one in told["texts"]} <= set(data["target"])


def test_a_translation_that_becomes_empty() -> None:
    arrays = {
        "delta": (HEAD_DIMS, np.zeros((1, 1, 2))),
        "text": ("example", np.array(["un", "deux"], dtype=object)),
        "texts": ((*HEAD_DIMS, "example"), np.array([[[["one", "two"], ["", "two"]]]], dtype=object)),
        "baseline_texts": ("example", np.array(["one", "two"], dtype=object)),
    }
    told = find_flips(view_of(xr.Dataset(arrays, coords={"stack": ["cross"]}, attrs={"by": "head"})))[0]
    assert told["heads"] == {1: {"count": 1, "shown": [[0, ""]]}}
