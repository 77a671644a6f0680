"""Scores against a plain loop, one example at a time, and the metrics of scikit-learn and scipy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.catalogue import KINDS
from headcount.data.tasks import Task, find_task
from headcount.training import scores
from headcount.training.models import build_model
from headcount.training.scores import predict, predict_labels, score, score_table
from headcount.training.splits import Splits, read_splits
from tests.closeness import FLOAT32, assert_same
from tests.training import toy


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return toy.save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def prepared(checkpoint: str, task: Task, table: pd.DataFrame, folder: Path, limit: int = 64) -> tuple[Any, ...]:
    """A model whose predictions vary, its tokenizer, examples and encodings."""
    splits = read_splits(task, toy.save_splits(folder, table))
    model, tokenizer = build_model(checkpoint, splits, "pretrained", 0)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    examples = read_examples(splits.validation, splits.task, model.config.id2label)
    return model, tokenizer, examples, encode(examples, tokenizer, limit)


@torch.no_grad()
def one_by_one(model: Any, tokenizer: Any, texts: list[tuple[Any, ...]], **options: Any) -> list[torch.Tensor]:
    return [model(**tokenizer(*text, return_tensors="pt", **options)).logits[0] for text in texts]


@pytest.mark.parametrize("name", ["mrpc", "cola", "rte"])
def test_classification(checkpoint: str, tmp_path: Path, name: str) -> None:
    task = find_task(name, text=("sentence1", "sentence2"))
    model, tokenizer, examples, encodings = prepared(checkpoint, task, toy.pairs(60, noise=True), tmp_path)
    whole = torch.stack(one_by_one(model, tokenizer, examples.texts))
    with torch.no_grad():
        model.classifier.bias.copy_(-whole.median(0).values)  # so that both classes are found
    found = [int(logits.argmax()) for logits in one_by_one(model, tokenizer, examples.texts)]
    true = toy.pairs(60, noise=True)["label"].tolist()
    assert 10 < sum(found) < 50
    assert predict_labels(model, tokenizer, task.kind, encodings).tolist() == found
    expected = {
        "mrpc": {"f1": f1_score(true, found), "accuracy": accuracy_score(true, found)},
        "cola": {"matthews": matthews_corrcoef(true, found)},
        "rte": {"accuracy": accuracy_score(true, found)},
    }[name]
    scores = score(model, tokenizer, examples, encodings)
    assert list(scores) == list(expected), "the task's own metric comes first"
    assert scores == pytest.approx(expected)


def test_regression(checkpoint: str, tmp_path: Path) -> None:
    model, tokenizer, examples, encodings = prepared(checkpoint, find_task("stsb"), toy.numbers(40), tmp_path)
    found = [float(logits[0]) for logits in one_by_one(model, tokenizer, examples.texts)]
    true = toy.numbers(40)["label"]
    scores = score(model, tokenizer, examples, encodings)
    assert list(scores) == ["pearson", "spearman"]
    assert scores["pearson"] == pytest.approx(pearsonr(found, true)[0], abs=FLOAT32)
    assert scores["spearman"] == pytest.approx(spearmanr(found, true)[0], abs=FLOAT32)


def test_tags_stand_at_the_first_piece_of_a_word(checkpoint: str, tmp_path: Path) -> None:
    """Each word has unknown pieces behind it: `good-w1` is three pieces and one tag."""
    table = toy.tagged(30)
    table["tokens"] = [
        [f"{word}-w1" if number % 3 == 0 else word for number, word in enumerate(words)] for words in table["tokens"]
    ]
    model, tokenizer, examples, encodings = prepared(checkpoint, find_task("token-classification"), table, tmp_path)
    found, true = [], []
    for words, tags in zip(table["tokens"], table["tags"], strict=True):
        (logits,) = one_by_one(model, tokenizer, [(words,)], is_split_into_words=True)
        places = tokenizer(words, is_split_into_words=True).word_ids()
        found += [int(logits[places.index(number)].argmax()) for number in range(len(words))]
        true += [0 if tag == "A" else 1 for tag in tags]
    assert 0 < sum(found) < len(found)
    assert score(model, tokenizer, examples, encodings) == pytest.approx({"accuracy": accuracy_score(true, found)})


def test_tags_beyond_the_longest_input_are_left_out(checkpoint: str, tmp_path: Path) -> None:
    model, tokenizer, examples, encodings = prepared(
        checkpoint, find_task("token-classification"), toy.tagged(20), tmp_path, limit=8
    )
    assert encodings.cut > 0
    assert 0 <= score(model, tokenizer, examples, encodings)["accuracy"] <= 1


def test_multiple_choice(checkpoint: str, tmp_path: Path) -> None:
    rows = [(f"w{row}", f"w{row + 1} good", f"bad w{row + 2} w{row + 3}", f"w{row + 4}", row % 3) for row in range(30)]
    table = pd.DataFrame(rows, columns=["context", "a", "b", "c", "label"])
    task = find_task("multiple-choice", text=("context", "a", "b", "c"))
    model, tokenizer, examples, encodings = prepared(checkpoint, task, table, tmp_path)
    assert type(model) is tf.BertForMultipleChoice
    found = []
    with torch.no_grad():
        for context, *choices, _ in rows:
            batch = tokenizer([context] * 3, choices, return_tensors="pt", padding=True)
            found.append(int(model(**{key: tensor[None] for key, tensor in batch.items()}).logits[0].argmax()))
    assert len(set(found)) == 3
    expected = accuracy_score(table["label"], found)
    assert score(model, tokenizer, examples, encodings) == pytest.approx({"accuracy": expected})


def test_outputs_are_in_the_order_of_the_examples_whatever_the_batches(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer, examples, encodings = prepared(checkpoint, find_task("mrpc"), toy.pairs(50), tmp_path)
    expected = np.stack([logits.numpy() for logits in one_by_one(model, tokenizer, examples.texts)])
    assert len(set(encodings.lengths)) > 3
    for tokens in (1, 40, 8192):
        monkeypatch.setattr(scores, "TOKENS", tokens)
        found = predict(model, tokenizer, KINDS["classification"], encodings)["logits"]
        assert_same(found, expected, FLOAT32, tokens)


def test_the_mode_of_the_model_is_given_back_and_dropout_is_off(checkpoint: str, tmp_path: Path) -> None:
    model, tokenizer, _, encodings = prepared(checkpoint, find_task("mrpc"), toy.pairs(20), tmp_path)
    calm = predict(model, tokenizer, KINDS["classification"], encodings)["logits"]
    assert not model.training
    model.train()
    lively = predict(model, tokenizer, KINDS["classification"], encodings)["logits"]
    assert model.training
    np.testing.assert_array_equal(calm, lively)


def test_a_split_of_class_names_reaches_the_scores(checkpoint: str, tmp_path: Path) -> None:
    """Labels as words and as codes give the same score."""
    by_code: Splits = read_splits(find_task("mrpc"), toy.save_splits(tmp_path / "codes", toy.pairs(30, noise=True)))
    words = toy.pairs(30, noise=True)
    words["label"] = words["label"].map({0: "not_equivalent", 1: "equivalent"})
    scores = []
    for place, table in (("codes", by_code.train), ("words", words)):
        scores.append(score(*prepared(checkpoint, find_task("mrpc"), table, tmp_path / place)))
    assert scores[0] == scores[1]


def test_translations_are_generated_and_scored(tmp_path: Path) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    tokenizer = toy.save_tokenizer(tmp_path)
    config = tf.BartConfig(
        vocab_size=len(toy.WORDS),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=3,
    )
    torch.manual_seed(0)
    model = tf.BartForConditionalGeneration(config).eval()
    table = pd.DataFrame({"source": ["w1 w2 w3 good", "w4", "up w5 w6 w7 w8"], "target": ["w1 w2", "down w4", "w5 w6"]})
    examples = read_examples(table, find_task("translation"), None)
    encodings = encode(examples, tokenizer, 32)
    found = score(model, tokenizer, examples, encodings)
    said = []
    for source in table["source"]:
        made = model.generate(**tokenizer(source, return_tensors="pt", return_token_type_ids=False), max_new_tokens=62)
        said.append(tokenizer.decode(made[0], skip_special_tokens=True))
    expected = sacrebleu.metrics.BLEU().corpus_score(said, [list(table["target"])]).score
    assert found["bleu"] == pytest.approx(expected)
    assert found["loss"] > 0
    assert list(score(model, tokenizer, examples, encodings, generate=False)) == ["loss"]


def test_a_table_is_scored_as_its_examples_are(checkpoint: str, tmp_path: Path) -> None:
    table = toy.pairs(40, noise=True)
    model, tokenizer, examples, encodings = prepared(checkpoint, find_task("mrpc"), table, tmp_path)
    assert score_table(model, tokenizer, table, find_task("mrpc")) == score(model, tokenizer, examples, encodings)
    short = score(model, tokenizer, examples, encode(examples, tokenizer, 9))
    assert score_table(model, tokenizer, table, find_task("mrpc"), max_length=9) == short
