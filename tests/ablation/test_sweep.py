"""Sweeps: equal to a loop over `ablated`, right on planted truth, resumable, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable, StudyProblem
from tests import planted
from tests.closeness import ROUNDED, assert_same

TEXTS = planted.texts()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def random_model(head: str = "BertForSequenceClassification", **options: Any) -> Any:
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=64,
        initializer_range=0.4,
        id2label=planted.NAMES,
        label2id={"negative": 0, "positive": 1},
        **options,
    )
    return getattr(tf, head)(config).eval().double()


def sweep(model: Any, tokenizer: Any, data: Any = TEXTS, task: Any = "sst2", **options: Any) -> xr.Dataset:
    return hc.sweep(model, tokenizer, data, task=task, **{"how": "uniform"} | options)


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
@pytest.mark.parametrize("by", ["head", "layer", "all-but-one"])
def test_equal_to_a_loop_over_ablated(tokenizer: Any, by: str, how: str) -> None:
    model, data = random_model(), TEXTS.head(30)
    reference = TEXTS.tail(20) if how == "mean" else None
    result = sweep(model, tokenizer, data, by=by, how=how, reference=reference, compute=hc.Compute(batch_tokens=40))
    means = None
    if how == "mean":
        means = hc.mean_outputs(
            model, [dict(tokenizer(text, return_tensors="pt")) for text in TEXTS.tail(20)["sentence"]]
        )
    layout = hc.read_anatomy(model).layout
    for head in layout if by != "layer" else [hc.Head("encoder", layer, 0) for layer in range(3)]:
        name = layout.spell(head)
        left_out = {
            "head": [name],
            "layer": [f"L{head.layer}"],
            "all-but-one": [f"L{head.layer}H{n}" for n in range(4) if n != head.head],
        }[by]
        with torch.no_grad(), hc.ablated(model, left_out, how=how, reference=means):
            expected = torch.cat([model(**tokenizer(text, return_tensors="pt")).logits for text in data["sentence"]])
        where = {"stack": "encoder", "layer": head.layer} | ({"head": head.head} if by != "layer" else {})
        found = result["logits"].sel(where)
        assert_same(found, expected, ROUNDED)
        accuracy = (expected.argmax(-1).numpy() == data["label"]).mean()
        assert float(result["score"].sel(where)) == pytest.approx(accuracy)


def test_planted_heads_are_found(tokenizer: Any) -> None:
    result = sweep(planted.classifier(), tokenizer, how="zero")
    assert float(result["baseline"]) == pytest.approx(0.7)
    needed = result.sel(stack="encoder", layer=0, head=0)
    hurts = result.sel(stack="encoder", layer=0, head=1)
    assert float(needed["delta"]) < 0
    assert float(needed["q"]) < 0.01
    assert float(hurts["score"]) == 1.0
    assert float(hurts["q"]) < 0.01
    assert float(hurts["low"]) > 0
    others = result.sel(stack="encoder", layer=1)
    assert float(np.abs(others["delta"]).max()) == 0
    assert (others["unchanged"] == 1).all()
    assert str(result["best"].values) == "L0H1"
    assert float(result["naive_gain"]) == pytest.approx(0.3)
    assert float(result["honest_gain"]) == pytest.approx(0.3, abs=0.03)
    assert float(result["above"]) == 1


def test_batches_padding_and_order_do_not_matter(tokenizer: Any) -> None:
    model, data = random_model(), TEXTS.head(24)
    first = sweep(model, tokenizer, data, compute=hc.Compute(batch_tokens=20))
    second = sweep(model, tokenizer, data, compute=hc.Compute(batch_tokens=400))
    assert_same(first["logits"], second["logits"], ROUNDED)
    turned = sweep(model, tokenizer, data.iloc[::-1].reset_index(drop=True))
    assert_same(first["logits"], turned["logits"].isel(example=slice(None, None, -1)), ROUNDED)
    np.testing.assert_allclose(first["score"], turned["score"])


def test_drawn_and_given_sets(tokenizer: Any) -> None:
    model, data = random_model(), TEXTS.head(10)
    drawn = sweep(model, tokenizer, data, how="zero", seed=1, by=hc.RandomSets(draws=5, size=3))
    assert drawn["score"].dims == ("set",)
    again = sweep(model, tokenizer, data, by=[str(name) for name in drawn["set"].values], how="zero")
    assert_same(drawn["logits"], again["logits"], ROUNDED)
    assert list(sweep(model, tokenizer, data, how="zero", seed=2, by=hc.RandomSets(draws=5, size=3))["set"]) != list(
        drawn["set"]
    )


def test_a_metric_of_the_users_own(tokenizer: Any) -> None:
    own = sweep(
        planted.classifier(),
        tokenizer,
        TEXTS.head(40),
        how="zero",
        metric=lambda found, true: float((found == true).mean()),
    )
    builtin = sweep(planted.classifier(), tokenizer, TEXTS.head(40), how="zero")
    np.testing.assert_allclose(own["score"], builtin["score"])
    moved = builtin["delta"].values != 0  # of an unmoved accuracy more is known than of a function of the user's
    np.testing.assert_allclose(own["low"].values[moved], builtin["low"].values[moved], atol=0.06)


def test_other_kinds_of_tasks(tokenizer: Any) -> None:
    numbers = TEXTS.head(20).assign(label=np.linspace(0, 5, 20))
    regression = sweep(random_model(num_labels=1), tokenizer, numbers, "regression", how="zero")
    assert regression.attrs["metric"] == "pearson"
    assert np.isfinite(regression["score"]).all()
    tagged = pd.DataFrame({"tokens": [row.split() for row in TEXTS["sentence"].head(12)]})
    tagged["tags"] = [[int(word in ("good", "up")) for word in row] for row in tagged["tokens"]]
    tags = sweep(random_model("BertForTokenClassification"), tokenizer, tagged, "token-classification", how="zero")
    assert 0 < float(tags["baseline"]) < 1
    texts = TEXTS.head(8).rename(columns={"sentence": "text"})
    masked = sweep(random_model("BertForMaskedLM"), tokenizer, texts, "masked-lm", how="zero")
    assert float(masked["baseline"]) > 1
    assert masked.attrs["higher_is_better"] is False
    choice = pd.DataFrame(
        {"context": TEXTS["sentence"].head(10), "one": "it is good", "two": "it is bad", "label": [0, 1] * 5}
    )
    from headcount.data.tasks import find_task

    chosen = sweep(
        random_model("BertForMultipleChoice"),
        tokenizer,
        choice,
        find_task("multiple-choice", text=("context", "one", "two")),
        how="zero",
    )
    assert chosen["logits"].sizes["class"] == 2


def test_language_models_and_translation(tokenizer: Any) -> None:
    from tests.contracts.zoo import exact

    texts = TEXTS.head(8).rename(columns={"sentence": "text"})
    model = exact("llama", head="AutoModelForCausalLM")
    causal = sweep(model, tokenizer, texts, "causal-lm", how="uniform")
    loss = 0.0
    tokens = 0
    with torch.no_grad():
        for text in texts["text"]:
            ids = tokenizer(text, return_tensors="pt")["input_ids"]
            loss += float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
            tokens += ids.shape[1] - 1
    assert float(causal["baseline"]) == pytest.approx(loss / tokens, rel=1e-4)
    pairs = pd.DataFrame({"source": TEXTS["sentence"].head(6), "target": TEXTS["sentence"].tail(6).values})
    model = exact("marian", head="AutoModelForSeq2SeqLM")
    scored = sweep(model, tokenizer, pairs, "translation", metric="loss", how="zero", by=hc.Every(stack="cross"))
    assert set(scored["stack"].values) == {"encoder", "decoder", "cross"}
    assert np.isfinite(scored["score"].sel(stack="cross")).all()
    assert np.isnan(scored["score"].sel(stack="encoder")).all()
    made = sweep(
        model,
        tokenizer,
        pairs,
        "translation",
        metric="chrf",
        how="zero",
        by=hc.Every("head", stack="decoder"),
        generate={"max_new_tokens": 6},
    )
    with torch.no_grad(), hc.ablated(model, "decoder.L1H2"):
        batch = tokenizer([pairs["source"][0]], return_tensors="pt")
        ids = model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            max_new_tokens=6,
            num_beams=1,
            do_sample=False,
        )
    expected = tokenizer.batch_decode(ids, skip_special_tokens=True)[0]
    assert made["texts"].sel(stack="decoder", layer=1, head=2, example=0).item() == expected


def test_shards_complete_each_other(tokenizer: Any, tmp_path: Path) -> None:
    model, data = planted.classifier(), TEXTS.head(40)
    options = {"how": "zero", "out": tmp_path / "study"}
    first = sweep(model, tokenizer, data, compute=hc.Compute(batch_tokens=30, shard="1/2"), **options)
    assert "score" not in first
    last = sweep(model, tokenizer, data, compute=hc.Compute(batch_tokens=30, shard="2/2"), **options)
    np.testing.assert_allclose(last["score"], sweep(model, tokenizer, data, how="zero")["score"])


@pytest.mark.parametrize(
    ("data", "options", "kind", "expected"),
    [
        (TEXTS.drop(columns="label"), {}, DataProblem, "no label column 'label'"),
        (TEXTS.drop(columns="sentence"), {}, DataProblem, "no column sentence"),
        (TEXTS.head(0), {}, DataProblem, "no rows"),
        (TEXTS.assign(label=[None, *TEXTS["label"][1:]]), {}, DataProblem, "missing"),
        (TEXTS.assign(label="maybe"), {}, DataProblem, "maybe. are not the model's classes .negative, positive"),
        (TEXTS.assign(label=2), {}, DataProblem, "expected 0 to 1"),
        (TEXTS.assign(sentence=3), {}, DataProblem, "expected a string"),
        (TEXTS, {"how": "median"}, InvalidOption, "zero, uniform, mean"),
        (TEXTS, {"how": "mean"}, InvalidOption, "needs reference="),
        (TEXTS, {"how": "zero", "reference": TEXTS}, InvalidOption, "reference=, which has no effect"),
        (TEXTS, {"by": "word"}, InvalidOption, "head, layer"),
        (TEXTS, {"by": hc.Every("word")}, InvalidOption, "got by='word'; expected one of head, layer"),
        (TEXTS, {"by": None}, InvalidOption, "got by=None; expected one of head, layer"),
        (TEXTS, {"by": hc.Every(stack="cross")}, InvalidOption, "has encoder"),
        (TEXTS, {"by": hc.RandomSets(3, 2, "cross")}, InvalidOption, "has encoder"),
        (TEXTS, {"by": hc.RandomSets(3, 99)}, InvalidOption, "size= from 1 to 12"),
        (TEXTS, {"by": []}, InvalidOption, "empty set"),
        (TEXTS, {"by": [""]}, InvalidOption, "empty set"),
        (TEXTS, {"by": "L3H7"}, InvalidOption, r"a list of sets of heads such as \['L3H7,L5H1', 'L2'\]"),
        (TEXTS, {"metric": "bleu"}, InvalidOption, "accuracy, f1"),
        (TEXTS, {"limit": 0}, InvalidOption, "at least 1"),
        (TEXTS, {"compute": hc.Compute(shard="5/4"), "out": "unused-study"}, InvalidOption, "i/n"),
        (TEXTS, {"compute": hc.Compute(shard="1/2")}, InvalidOption, "no effect without out="),
        (TEXTS, {"seed": -1}, InvalidOption, "at least 0"),
        (TEXTS, {"max_length": -5}, InvalidOption, "at least 8"),
        (TEXTS, {"generate": {"num_beams": 0}}, InvalidOption, "num_beams=0; expected at least 1"),
        (TEXTS, {"generate": {"num_beams": 4}}, InvalidOption, "num_beams=, which has no effect here: no texts"),
        (TEXTS, {"generate": {"beams": 4}}, InvalidOption, "got 'beams' in generate="),
        (TEXTS, {"generate": {"do_sample": True}}, InvalidOption, "do_sample"),
        (TEXTS, {"by": "draws"}, InvalidOption, "got by='draws'; expected .*, or RandomSets"),
        (TEXTS, {"sets": ["L0H1"]}, InvalidOption, "got sets=, which is now by=: a list of sets of heads, or Random"),
        (TEXTS, {"stack": "cross"}, InvalidOption, "got stack=, which is now in by=Every"),
        (TEXTS, {"task": "regression"}, ModelUnavailable, "needs a model with one"),
        (TEXTS, {"compute": hc.Compute(memory="lots")}, InvalidOption, "4GB"),
        ("no/such/file.csv", {}, DataProblem, "there is no file"),
        (TEXTS, {"task": "frobnicate"}, InvalidOption, "expected one of"),
        (TEXTS, {"task": "masked-lm"}, ModelUnavailable, "cannot do masked-lm"),
    ],
)
def test_what_is_refused(
    tokenizer: Any, data: Any, options: dict[str, Any], kind: type[Exception], expected: str
) -> None:
    with pytest.raises(kind, match=expected) as caught:
        sweep(random_model(), tokenizer, data, **options)
    assert "\n" not in str(caught.value)


def test_long_texts_are_cut_and_counted(tokenizer: Any) -> None:
    long = pd.DataFrame({"sentence": ["the " * 100 + "good", "bad"], "label": [1, 0]})
    assert sweep(planted.classifier(), tokenizer, long, how="zero").attrs["cut"] == 1


def test_dropout_is_off(tokenizer: Any) -> None:
    model = random_model()
    expected = sweep(model, tokenizer, TEXTS.head(6))
    found = sweep(model.train(), tokenizer, TEXTS.head(6))
    assert_same(found["logits"], expected["logits"], ROUNDED)
    assert model.training


def test_a_study_knows_labels_tokenizer_and_metric_apart(tokenizer: Any, tmp_path: Path) -> None:
    data = pd.concat([TEXTS] * 10, ignore_index=True)
    model, out = planted.classifier(), tmp_path / "study"
    sweep(model, tokenizer, data, by="layer", how="zero", out=out)
    turned = data.copy()
    turned.loc[500:700, "label"] = 1 - turned.loc[500:700, "label"]
    with pytest.raises(StudyProblem, match="data: "):
        sweep(model, tokenizer, turned, by="layer", how="zero", out=out)
    words = planted.WORDS.copy()
    words[5], words[6] = words[6], words[5]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    with pytest.raises(StudyProblem, match="data: "):
        sweep(
            model,
            tf.BertTokenizer(vocab=str(tmp_path / "vocab.txt"), model_max_length=64),
            data,
            by="layer",
            how="zero",
            out=out,
        )
    few = data.head(10)
    sweep(
        model, tokenizer, few, by="layer", how="zero", out=out, name="own", metric=lambda p, t: float((p == t).mean())
    )
    with pytest.raises(StudyProblem, match="metric: "):
        sweep(
            model,
            tokenizer,
            few,
            by="layer",
            how="zero",
            out=out,
            name="own",
            metric=lambda p, t: float((p != t).mean()),
        )
    with pytest.raises(StudyProblem, match="for the name of a result"):
        sweep(model, tokenizer, few, out=out, name="../evil")


def test_a_word_without_pieces_does_not_move_the_tags(tokenizer: Any) -> None:
    model = random_model("BertForTokenClassification")
    words = ["the", "good", "it", "is", "so", "bad", "a", "up", "down"]
    with torch.no_grad():
        found = (
            model(**tokenizer(words, is_split_into_words=True, return_tensors="pt")).logits.argmax(-1)[0, 1:-1].tolist()
        )
    table = pd.DataFrame({"tokens": [["\u200b", *words]], "tags": [[0, *found]]})
    assert float(sweep(model, tokenizer, table, "token-classification", how="zero")["baseline"]) == 1.0


def test_a_multiple_choice_with_means(tokenizer: Any) -> None:
    from headcount.data.tasks import find_task

    table = pd.DataFrame({"context": TEXTS["sentence"].head(6), "one": "it is good", "two": "bad", "label": [0, 1] * 3})
    task = find_task("multiple-choice", text=("context", "one", "two"))
    result = sweep(random_model("BertForMultipleChoice"), tokenizer, table, task, how="mean", reference=table)
    assert np.isfinite(result["score"]).all()


def test_one_example_has_no_honest_gain(tokenizer: Any) -> None:
    result = sweep(
        planted.classifier(), tokenizer, TEXTS.head(1), how="zero", metric=lambda p, t: float(np.mean(p == t))
    )
    assert np.isnan(float(result["honest_gain"]))


def test_an_ablated_model_goes_into_no_study(tokenizer: Any, tmp_path: Path) -> None:
    """A study would hold its numbers under the name of the whole model."""
    model = random_model()
    with hc.ablated(model, "L0H0", how="zero"):
        with pytest.raises(InvalidOption, match="inside ablated"):
            sweep(model, tokenizer, TEXTS.head(4), out=tmp_path / "study")
        model(torch.tensor([[1, 2]]))
    assert not (tmp_path / "study").exists()
