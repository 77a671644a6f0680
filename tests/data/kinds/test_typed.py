"""Typed texts: each kind reads them as it reads data, and its answer is the model's own output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from headcount.data.batches import collate
from headcount.data.kinds.catalogue import find_kind
from headcount.data.kinds.typed import MASK
from headcount.models.task_heads import kind_of
from tests import planted
from tests.data.kinds.multi_label import MultiLabel
from tests.measures import tiny
from tests.training import toy


def read(kind: Any, model: Any, tokenizer: Any, *texts: str) -> tuple[Any, torch.Tensor]:
    typed = kind.read_typed(tokenizer, texts, 64)
    inputs = kind.typed_inputs(model, collate([typed.row], tokenizer.pad_token_id))
    with torch.no_grad():
        return typed, kind.answers(model(**inputs), typed)


def small(model_class: Any, **options: Any) -> Any:
    config = tf.BertConfig(
        vocab_size=len(toy.WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    for name, value in options.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    return model_class(config).eval()


def test_a_pair_is_one_example(tmp_path: Path) -> None:
    model, tokenizer = small(tf.BertForSequenceClassification, num_labels=3), toy.save_tokenizer(tmp_path)
    kind = kind_of(model)
    typed, answers = read(kind, model, tokenizer, "w1 w2", "good")
    with torch.no_grad():
        assert torch.equal(answers[:, 0], model(**tokenizer("w1 w2", "good", return_tensors="pt")).logits)
    assert kind.option_names([0, 2], tokenizer, {0: "no", 2: "yes"}) == ["no", "yes"]
    assert not typed.cut
    assert kind.read_typed(tokenizer, ["w1 w2 w3 w4"], 4).cut


def test_every_masked_word_is_a_question() -> None:
    model, tokenizer = tiny.masked()
    kind = kind_of(model)
    assert kind is find_kind("masked-lm")
    typed, answers = read(kind, model, tokenizer, f"the {MASK} chased the {MASK}")
    with torch.no_grad():
        logits = model(**tokenizer("the [MASK] chased the [MASK]", return_tensors="pt")).logits
    assert [question.position for question in typed.questions] == [2, 5]
    assert torch.equal(answers, logits[:, [2, 5]])
    assert read(kind, model, tokenizer, "the dog")[1].shape[1] == 0, "without a mask it asks nothing"
    assert kind.as_typed(["a mouse ran"]) == (f"a {MASK} ran",)


def test_a_prompt_asks_for_its_next_token() -> None:
    model, tokenizer = tiny.causal()
    kind = kind_of(model)
    typed, answers = read(kind, model, tokenizer, "the dog chased")
    with torch.no_grad():
        logits = model(**tokenizer("the dog chased", return_tensors="pt")).logits
    assert typed.questions[0].position == 2
    assert torch.allclose(answers, logits[:, -1:])
    token = int(answers.argmax())
    assert kind.option_names([token], tokenizer, {}) == [tokenizer.decode([token])]


def test_a_translation_asks_for_what_follows_its_beginning() -> None:
    model, tokenizer = tiny.translator()
    kind = kind_of(model)
    assert kind is find_kind("translation")
    source = tokenizer("the dog chased", return_tensors="pt")
    for target in ("", "a cat"):
        _, answers = read(kind, model, tokenizer, "the dog chased", *([target] if target else []))
        begun = [model.config.decoder_start_token_id, *tokenizer(target, add_special_tokens=False)["input_ids"]]
        with torch.no_grad():
            logits = model(**source, decoder_input_ids=torch.tensor([begun])).logits
        assert torch.allclose(answers, logits[:, -1:])


def test_words_choices_and_numbers(tmp_path: Path) -> None:
    tokenizer = toy.save_tokenizer(tmp_path)
    tagger = small(tf.BertForTokenClassification, num_labels=3)
    typed, answers = read(kind_of(tagger), tagger, tokenizer, "w1 good w2")
    assert [question.title for question in typed.questions] == ["w1", "good", "w2"]
    assert answers.shape == (1, 3, 3)
    chooser = small(tf.BertForMultipleChoice)
    kind = kind_of(chooser)
    typed, answers = read(kind, chooser, tokenizer, "w1", "good", "bad w2", "up")
    assert answers.shape == (1, 1, 3)
    assert kind.option_names([2], tokenizer, {}) == ["choice 3"]
    scorer = small(tf.BertForSequenceClassification, num_labels=1)
    kind = kind_of(scorer)
    assert kind is find_kind("regression")
    assert read(kind, scorer, tokenizer, "w1")[1].shape == (1, 1, 1)


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_the_similarity_of_two_texts(pooling: str, tmp_path: Path) -> None:
    """As of two texts alone, whatever the padding of the shorter one, for any number of rows."""
    model, tokenizer = small(tf.BertModel).double(), toy.save_tokenizer(tmp_path)
    kind = find_kind("similarity").with_options({"pooling": pooling}).for_model(model)
    assert kind.texts_needed == 2
    with torch.no_grad():
        states = [
            model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in ("w1", "good w2 w3 w4")
        ]
    vectors = [{"mean": each.mean(0), "first": each[0], "last": each[-1]}[pooling] for each in states]
    expected = torch.cosine_similarity(*vectors, dim=0)
    typed, answers = read(kind, model, tokenizer, "w1", "good w2 w3 w4")
    assert answers.shape == (1, 1, 1)
    assert float(answers) == pytest.approx(float(expected), abs=1e-12)
    inputs = kind.typed_inputs(model, collate([typed.row], tokenizer.pad_token_id))
    with torch.no_grad():
        twice = kind.answers(model(**{key: value.repeat(2, 1) for key, value in inputs.items()}), typed)
    assert twice.flatten().tolist() == pytest.approx([float(expected)] * 2, abs=1e-12)


def test_models_without_an_answer() -> None:
    several = small(tf.BertForSequenceClassification, num_labels=3, problem_type="multi_label_classification")
    assert kind_of(several) is None
    assert kind_of(small(tf.BertModel)) is None
    assert kind_of(planted.classifier()) is find_kind("classification")
    assert not MultiLabel().suits(several.config), "a kind that does not say how it answers is not asked"
