"""`hc.cue_heads`: the planted head carries the cue, the model without it, studies, bad input."""

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
from tests.statistical_cues import planted_cue


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> tf.BertTokenizer:
    return planted.tokenizer(tmp_path_factory.mktemp("words"))


def test_the_planted_head_carries_the_cue(tokenizer: tf.BertTokenizer) -> None:
    """L0H1 reads "up" and "down": without it the model is right where they mislead, and relies on them no more."""
    found = hc.cue_heads(planted.classifier(), tokenizer, planted_cue.texts(), task="sst2", cue=planted_cue.CUES)
    assert (int(found["right_examples"]), int(found["wrong_examples"])) == (120, 40)
    effect = found["cue_effect"].values[0]
    assert effect[0, 1] < -1
    assert np.delete(effect.ravel(), 1) == pytest.approx(0, abs=1e-5)
    assert float(found["cue_effect_q"][0, 0, 1]) < 0.05
    assert float(found["accuracy_wrong"][0, 0, 1]) == 1
    row = found.sel(removed=1)
    assert str(row["removed_heads"].values) == "L0H1"
    assert float(row["reliance_after"]) == pytest.approx(0, abs=1e-5)
    assert float(row["reliance_gain_high"]) < 0
    assert float(row["accuracy_change_low"]) > 0, "it misled more often than it helped beyond the label's word"
    assert float(row["random_reliance_change"]) == pytest.approx(0, abs=1e-5)


def test_effects_by_hand(tokenizer: tf.BertTokenizer) -> None:
    """The log-odds with a head at zero, one text at a time, in float64."""
    table, model = planted_cue.texts(), planted.classifier().double()
    found = hc.cue_heads(model, tokenizer, table, task="sst2", cue=planted_cue.CUES)
    parts = found["cue_right"].values

    def odds(heads: str | None) -> np.ndarray:
        values = []
        for text, label in zip(table["sentence"], table["label"], strict=True):
            inputs = tokenizer(text, return_tensors="pt")
            with torch.no_grad():
                if heads is None:
                    logits = model(**inputs).logits[0]
                else:
                    with hc.ablated(model, heads):
                        logits = model(**inputs).logits[0]
            values.append(float(logits[label] - logits[1 - label]))
        return np.array(values)

    change = odds("L0H1") - odds(None)
    for name, part in (("effect_right", parts == 1), ("effect_wrong", parts == 0)):
        assert float(found[name][0, 0, 1]) == pytest.approx(change[part].mean(), abs=1e-5)
    difference = change[parts == 1].mean() - change[parts == 0].mean()
    assert float(found["cue_effect"][0, 0, 1]) == pytest.approx(difference, abs=1e-5)


def test_attention_to_cue_words(tokenizer: tf.BertTokenizer) -> None:
    """Attention is uniform in the planted model, until the keys of L1H0 are made to respond to the cue."""
    model = planted.classifier()
    found = hc.cue_heads(model, tokenizer, planted_cue.texts(240), task="sst2", cue=["up"])
    assert found["gain"].values == pytest.approx(0, abs=1e-6)
    table = planted_cue.texts(240)
    shares = [
        (text.split().count("up")) / (len(text.split()) + 2) for text in table["sentence"] if "up" in text.split()
    ]
    assert found["uniform"].values == pytest.approx(np.mean(shares), abs=1e-6)
    with torch.no_grad():
        attention = model.bert.encoder.layer[0].attention.self
        attention.key.weight[4, planted.NOISE] = 30
        attention.query.bias[4] = 30
    looking = hc.cue_heads(model, tokenizer, table, task="sst2", cue=["up"])
    assert float(looking["attention"][0, 0, 1]) > 0.99
    assert float(looking["gain_low"][0, 0, 1]) > 0.5


def test_multiple_choice(tokenizer: tf.BertTokenizer) -> None:
    """A model that scores a choice by "good" (L0H0 reads it): the cue of the choices, and its tokens in the choice."""
    generator = np.random.default_rng(0)
    rows = []
    for row in range(160):
        label, follows = row % 2, row // 2 % 4 != 3
        texts = [" ".join(generator.choice(["the", "a", "so", "it", "is"], 6)) for _ in range(2)]
        texts[label if follows else 1 - label] += " good"
        rows.append({"claim": "it is", "first": texts[0], "second": texts[1], "label": label})
    table, whole = pd.DataFrame(rows), planted.classifier()
    model = tf.BertForMultipleChoice(whole.config).eval()
    model.bert.load_state_dict(whole.bert.state_dict())
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
        model.classifier.weight[0, planted.VERDICT] = 1
    found = hc.cue_heads(model, tokenizer, table, choices=["first", "second"], text=["claim"], cue="good")
    assert (int(found["right_examples"]), int(found["wrong_examples"])) == (120, 40)
    assert float(found["cue_effect"][0, 0, 0]) < 0
    assert float(found["cue_effect_q"][0, 0, 0]) < 0.05
    # [CLS] it is [SEP] six words, good [SEP]; choices without it do not count.
    assert found["uniform"].values == pytest.approx(1 / 12, abs=1e-6)


def test_a_study_keeps_and_reads_it(tmp_path: Path, tokenizer: tf.BertTokenizer) -> None:
    table, model, study = planted_cue.texts(), planted.classifier(), tmp_path / "study"
    first, again = (
        hc.cue_heads(model, tokenizer, table, task="sst2", cue=planted_cue.CUES, out=study) for _ in range(2)
    )
    xr.testing.assert_equal(first, again)
    alone = hc.cue_heads(model, tokenizer, table, task="sst2", cue=planted_cue.CUES)
    xr.testing.assert_allclose(first, alone)
    groups = {group.strip("/") for group in hc.open_study(study).groups}
    assert {"cue_heads/classification", "sweep/head-zero", "cue_words/attention"} <= groups


def test_bad_input(tokenizer: tf.BertTokenizer) -> None:
    model, table = planted.classifier(), planted_cue.texts()
    with pytest.raises(InvalidOption, match="expected numbers of heads from 1 to 2"):
        hc.cue_heads(model, tokenizer, table, task="sst2", cue="up", removed=[3])
    with pytest.raises(InvalidOption, match="the cue 'rain'"):
        hc.cue_heads(model, tokenizer, table, task="sst2", cue="rain")
    perfect = table.assign(sentence=table["sentence"].str.replace("up|down", "a", regex=True))
    with pytest.raises(DataProblem, match=r"right on 80 examples and wrong on 0; expected at least 10"):
        hc.cue_heads(model, tokenizer, perfect, task="sst2", cue="good")
