"""The model that a run begins with: what it keeps of the checkpoint, and what depends on the seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, ModelUnavailable
from headcount.training.models import build_model, load_text_tokenizer
from headcount.training.splits import Splits, read_splits
from tests.training import toy


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return toy.save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Splits:
    return read_splits(find_task("mrpc"), toy.save_splits(tmp_path_factory.mktemp("data"), toy.pairs(8)))


def state(model: Any) -> dict[str, torch.Tensor]:
    return {key: tensor.clone() for key, tensor in model.state_dict().items()}


def test_classes_are_named_as_the_labels(checkpoint: str, splits: Splits, tmp_path: Path) -> None:
    table = toy.pairs(6).assign(label=["red", "blue", "green"] * 2)
    named = read_splits(find_task("classification"), toy.save_splits(tmp_path, table))
    for init in ("none", "random", "pretrained"):
        model, _ = build_model(checkpoint, splits, init, 0)
        assert model.config.id2label == {0: "not_equivalent", 1: "equivalent"}
        assert model.config.label2id == {"not_equivalent": 0, "equivalent": 1}
        assert model.classifier.weight.shape == (2, 32)
        model, tokenizer = build_model(checkpoint, named, init, 0)
        assert model.config.id2label == {0: "blue", 1: "green", 2: "red"}
        assert model.classifier.weight.shape == (3, 32)
        assert tokenizer.tokenize("good w3") == ["good", "w3"]


def test_heads_of_other_kinds(checkpoint: str, tmp_path: Path) -> None:
    numbers = read_splits(find_task("stsb"), toy.save_splits(tmp_path / "numbers", toy.numbers(8)))
    tags = read_splits(find_task("token-classification"), toy.save_splits(tmp_path / "tags", toy.tagged(8)))
    for init in ("random", "pretrained"):
        model, _ = build_model(checkpoint, numbers, init, 0)
        assert type(model) is tf.BertForSequenceClassification
        assert model.config.problem_type == "regression"
        assert model.classifier.out_features == 1
        model, _ = build_model(checkpoint, tags, init, 0)
        assert type(model) is tf.BertForTokenClassification
        assert model.config.id2label == {0: "A", 1: "O"}


@pytest.mark.parametrize("init", ["none", "pretrained"])
def test_the_base_model_is_the_checkpoint_bit_by_bit(checkpoint: str, splits: Splits, init: str) -> None:
    model, _ = build_model(checkpoint, splits, init, 5)
    saved = toy.weights(checkpoint)
    assert toy.same(saved, state(model.bert))
    assert all(tensor.dtype == torch.float32 for tensor in saved.values())


def test_none_is_pretrained(checkpoint: str, splits: Splits) -> None:
    none, pretrained = (build_model(checkpoint, splits, init, 3)[0] for init in ("none", "pretrained"))
    assert toy.same(state(none), state(pretrained))


def test_half_precision_checkpoints_are_trained_in_float32(checkpoint: str, splits: Splits, tmp_path: Path) -> None:
    tf.BertModel.from_pretrained(checkpoint, dtype=torch.bfloat16).save_pretrained(tmp_path)
    toy.save_tokenizer(tmp_path)
    for init in ("random", "pretrained"):
        model, _ = build_model(tmp_path, splits, init, 0)
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("init", ["random", "pretrained"])
def test_new_weights_depend_on_the_seed_alone(checkpoint: str, splits: Splits, init: str) -> None:
    torch.manual_seed(123)
    first = state(build_model(checkpoint, splits, init, 0)[0])
    torch.manual_seed(456)
    torch.rand(7)
    assert toy.same(first, state(build_model(checkpoint, splits, init, 0)[0]))
    other = state(build_model(checkpoint, splits, init, 1)[0])
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])
    matrices = [key for key in first if first[key].ndim == 2]
    differ = {key for key in matrices if not torch.equal(first[key], other[key])}
    assert differ == (set(matrices) if init == "random" else {"classifier.weight"})


def test_the_new_head_is_spread_as_the_config_says(checkpoint: str, splits: Splits) -> None:
    drawn = torch.cat([build_model(checkpoint, splits, "pretrained", seed)[0].classifier.weight for seed in range(8)])
    assert float(drawn.detach().std()) == pytest.approx(0.05, rel=0.15)
    assert not build_model(checkpoint, splits, "pretrained", 0)[0].classifier.bias.any()


def test_random_weights_have_nothing_of_the_checkpoint(checkpoint: str, splits: Splits) -> None:
    model, _ = build_model(checkpoint, splits, "random", 0)
    saved = toy.weights(checkpoint)
    found = state(model.bert)
    assert saved.keys() == found.keys()
    for key, tensor in found.items():
        assert not torch.isclose(tensor, saved[key], atol=1e-6, rtol=0).float().mean() > 0.01, key
        if tensor.ndim == 2:
            assert float(tensor.std()) == pytest.approx(0.02, rel=0.35 if tensor.numel() < 100 else 0.1), key
            assert abs(float(tensor.mean())) < 0.01, key
        else:
            expected = float("LayerNorm.weight" in key)
            assert torch.equal(tensor, torch.full_like(tensor, expected)), key


def test_keep_embeddings_keeps_the_words_alone(checkpoint: str, splits: Splits) -> None:
    kept = state(build_model(checkpoint, splits, "random", 0, keep_embeddings=True)[0].bert)
    plain = state(build_model(checkpoint, splits, "random", 0)[0].bert)
    saved = toy.weights(checkpoint)
    words = "embeddings.word_embeddings.weight"
    assert torch.equal(kept[words], saved[words])
    rest = [key for key in kept if not key.startswith("embeddings.")]
    assert all(torch.equal(kept[key], plain[key]) for key in rest), "the rest is as without"
    assert not any(torch.equal(kept[key], saved[key]) for key in rest)


def test_keep_embeddings_keeps_all_of_them(checkpoint: str, splits: Splits) -> None:
    kept = state(build_model(checkpoint, splits, "random", 0, keep_embeddings=True)[0].bert)
    saved = toy.weights(checkpoint)
    embeddings = [key for key in saved if key.startswith("embeddings.")]
    assert [key for key in embeddings if not torch.equal(kept[key], saved[key])] == []


def test_all_that_the_checkpoint_lacks_depends_on_the_seed(splits: Splits, tmp_path: Path) -> None:
    masked = toy.save_checkpoint(tmp_path, tf.BertForMaskedLM)  # has no pooler
    first, second = (build_model(masked, splits, "pretrained", seed)[0].bert.pooler.dense.weight for seed in (0, 1))
    assert not torch.equal(first, second)


def test_a_head_that_the_checkpoint_has_is_kept_where_nothing_is_trained(splits: Splits, tmp_path: Path) -> None:
    tuned = toy.save_checkpoint(
        tmp_path,
        tf.BertForSequenceClassification,
        id2label=dict(enumerate(splits.names)),
        label2id={name: number for number, name in enumerate(splits.names)},
    )
    model, _ = build_model(tuned, splits, "none", 0)
    assert torch.equal(model.classifier.weight, toy.weights(tuned)["classifier.weight"])


def test_a_head_with_another_number_of_classes_is_replaced(splits: Splits, tmp_path: Path) -> None:
    tuned = toy.save_checkpoint(tmp_path, tf.BertForSequenceClassification, num_labels=5)
    model, _ = build_model(tuned, splits, "pretrained", 0)
    assert model.classifier.weight.shape == (2, 32)
    assert toy.same(
        {key.removeprefix("bert."): tensor for key, tensor in toy.weights(tuned).items() if key.startswith("bert.")},
        state(model.bert),
    )


def test_errors(checkpoint: str, splits: Splits, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="'warm'; expected some of none, random, pretrained"):
        build_model(checkpoint, splits, "warm", 0)
    for init in ("random", "pretrained"):
        with pytest.raises(ModelUnavailable):
            build_model(tmp_path / "nowhere", splits, init, 0)


def test_a_wrong_name_is_the_models(checkpoint: str) -> None:
    """Not that of a tokenizer, which the user never named."""
    for tokenizer in (None, checkpoint):
        with pytest.raises(ModelUnavailable, match="cannot load 'no-such-model'"):
            load_text_tokenizer("no-such-model", tokenizer)
