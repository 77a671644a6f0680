"""`hc.cues`: planted cues recovered exactly, models that follow or ignore them, studies, what must not matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.errors import DataProblem, InvalidOption
from tests import planted
from tests.statistical_cues.planted import choices, naive_choice, sentences

BOTH = ["first", "second"]


def test_a_planted_cue_of_choices() -> None:
    found = hc.cues(choices(200, 80, 60), choices=BOTH)
    cue = found.sel(cue="not")
    assert (int(cue["applicability"]), float(cue["productivity"]), float(cue["coverage"])) == (80, 0.75, 0.4)
    assert (float(cue["chance"]), bool(cue["useful"])) == (0.5, True)
    assert float(cue["alone"]) == pytest.approx(0.5 + 0.4 * 0.25)
    assert float(cue["q"]) < 0.001
    assert "both" not in found["cue"].values, "it is in both choices"
    assert found["best_cue"].item() == "not"
    assert float(found["best_accuracy_low"]) < 0.6 < float(found["best_accuracy_high"])
    assert 0.5 < float(found["cue_accuracy"]) < 0.7


def test_a_planted_cue_of_sentences() -> None:
    found = hc.cues(sentences(200, 80, 60), task="sst2")
    cue = found.sel(cue="great")
    assert (int(cue["applicability"]), float(cue["productivity"]), float(cue["coverage"])) == (80, 0.75, 0.4)
    assert str(cue["label_of_cue"].values) == "positive"
    assert float(cue["chance"]) == 0.6
    assert float(cue["alone"]) == 0.6, "60 of 80 with it, 60 of 120 without"


def test_all_cues_as_a_loop() -> None:
    table = choices(60, 30, 20)
    found = hc.cues(table, choices=BOTH, least=3, tokens="whitespace", classifier=False)
    for name in found["cue"].values:
        cue = found.sel(cue=name)
        expected = naive_choice(table, BOTH, tuple(str(name).split(" ")))
        assert (int(cue["applicability"]), float(cue["productivity"]), float(cue["coverage"])) == pytest.approx(
            expected
        )
    assert found.sizes["cue"] == int(found["tested"]) > 8


def test_rows_and_choices_in_another_order() -> None:
    """Halves and folds are drawn by row; what is counted is not."""
    table = choices()
    other = table.iloc[::-1].rename(columns={"first": "second", "second": "first"}).reset_index(drop=True)
    other["label"] = 1 - other["label"]
    first, second = (hc.cues(each, choices=BOTH, classifier=False) for each in (table, other))
    counted = [name for name in first.data_vars if first[name].dims == ("cue",)]
    xr.testing.assert_allclose(first[counted], second[counted].reindex(cue=first["cue"]))


def test_twins_are_in_the_same_fold() -> None:
    """Each pair of choices occurs with either label: a classifier that saw the twin would always be wrong."""
    table = choices()
    twins = pd.concat([table, table.assign(label=1 - table["label"])], ignore_index=True)
    found = hc.cues(twins, choices=BOTH)
    assert (found["productivity"] == 0.5).all()
    assert float(found["cue_accuracy"]) == 0.5
    assert float(found["best_accuracy"]) == 0.5


def test_top_keeps_the_strongest_after_the_correction() -> None:
    table = choices()
    whole, few = (hc.cues(table, choices=BOTH, least=5, top=top, classifier=False) for top in (None, 3))
    assert few["cue"].values.tolist() == whole["cue"].values[:3].tolist()
    assert few["q"].values.tolist() == whole["q"].values[:3].tolist()
    assert int(few["tested"]) == whole.sizes["cue"]


def test_any_choice_may_have_it() -> None:
    table = choices(200, 80, 60)
    cue = hc.cues(table, choices=BOTH, applicable="any", classifier=False).sel(cue="both")
    assert (int(cue["applicability"]), float(cue["productivity"]), float(cue["chance"])) == (200, 1, 1)
    assert (float(cue["p"]), bool(cue["useful"])) == (1, False)


def test_pieces(tmp_path: Path) -> None:
    table = planted.texts(60)
    tokenizer = planted.tokenizer(tmp_path / "words")
    found = hc.cues(table, task="sst2", tokens="pieces", tokenizer=tokenizer, classifier=False)
    assert float(found.sel(cue="good")["productivity"]) == 1


def test_a_model_beside_the_cues(tmp_path: Path) -> None:
    """The planted model reads "good" and "bad", which are perfect cues, and is misled by "up" and "down"."""
    table, tokenizer = planted.texts(120), planted.tokenizer(tmp_path / "words")
    found = hc.cues(table, task="sst2", model=planted.classifier(), tokenizer=tokenizer)
    swept = hc.sweep(planted.classifier(), tokenizer, table, task="sst2")
    assert float(found["model_accuracy"].sel(part="all")) == pytest.approx(float(swept["baseline"]))
    assert int(found["part_examples"].sel(part="all")) == 120
    assert int(found["part_examples"].sum()) == 240
    assert found.attrs["model_class"] == "BertForSequenceClassification"


def test_a_model_that_follows_a_cue_of_the_choices(tmp_path: Path) -> None:
    """A multiple-choice model that scores a choice by "good" alone is right where that cue is right."""
    generator = np.random.default_rng(0)
    rows = []
    for row in range(160):
        label, follows = row % 2, row % 4 != 3 or row % 8 == 7
        texts = [" ".join(generator.choice(["the", "a", "so", "it", "is"], 6)) for _ in range(2)]
        texts[label if follows else 1 - label] += " good"
        rows.append({"claim": "it is", "first": texts[0], "second": texts[1], "label": label})
    table = pd.DataFrame(rows)
    whole = planted.classifier()
    model = tf.BertForMultipleChoice(whole.config).eval()
    model.bert.load_state_dict(whole.bert.state_dict())
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
        model.classifier.weight[0, planted.VERDICT] = 1
    tokenizer = planted.tokenizer(tmp_path / "words")
    found = hc.cues(table, choices=BOTH, text=["claim"], model=model, tokenizer=tokenizer, least=5)
    cue = float(found.sel(cue="good")["productivity"])
    assert float(found["model_accuracy"].sel(part="all")) == pytest.approx(cue)
    assert float(found["model_accuracy"].sel(part="cues right")) > float(found["model_accuracy"].sel(part="cues wrong"))
    assert float(found["explained_low"]) > 0
    assert float(found["error_consistency"]) > 0.8


def test_a_study_keeps_and_reads_it(tmp_path: Path) -> None:
    table = choices()
    first = hc.cues(table, choices=BOTH, out=tmp_path / "study")
    again = hc.cues(table, choices=BOTH, out=tmp_path / "study")
    xr.testing.assert_equal(first, again)
    rows = hc.table(tmp_path / "study")
    assert set(rows["result"]) == {"cues/multiple-choice"}
    assert rows["cue"].tolist() == first["cue"].values.tolist()
    assert {"productivity", "coverage", "q"} <= set(rows)
    assert hc.open_study(tmp_path / "study")["cues/multiple-choice"].attrs["identity"]["least"] == 10


def test_a_study_of_a_model_takes_cues_without_one(tmp_path: Path) -> None:
    table, tokenizer, model = planted.texts(60), planted.tokenizer(tmp_path / "words"), planted.classifier()
    hc.sweep(model, tokenizer, table, task="sst2", out=tmp_path / "study")
    hc.cues(table, task="sst2", out=tmp_path / "study", name="plain")
    hc.cues(table, task="sst2", model=model, tokenizer=tokenizer, out=tmp_path / "study")
    groups = [group.strip("/") for group in hc.open_study(tmp_path / "study").groups]
    assert {"cues/classification", "cues/classification@plain", "sweep/head-zero"} <= set(groups)
    hc.report(tmp_path / "study", tmp_path / "page.html")


def test_a_model_needs_its_tokenizer() -> None:
    with pytest.raises(InvalidOption, match="tokenizer="):
        hc.cues(planted.texts(20), task="sst2", model=planted.classifier())


def test_the_same_texts_only() -> None:
    table = pd.DataFrame({"sentence": ["a b"] * 30, "label": [0, 1] * 15})
    with pytest.raises(DataProblem, match="same texts"):
        hc.cues(table, task="sst2")
