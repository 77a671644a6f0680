"""The transformers model inside what is trained."""

from __future__ import annotations

import peft
import pytest
import torch
import transformers as tf
from torch import nn

from headcount.errors import UnsuitableModel
from headcount.models.inner_model import inner_model


def bert() -> tf.BertForSequenceClassification:
    config = tf.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    return tf.BertForSequenceClassification(config)


def test_itself_and_inside_of_others() -> None:
    model = bert()
    assert inner_model(model) is model, "not the BertModel inside it"
    assert inner_model(torch.compile(model, backend="eager")) is model
    assert inner_model(nn.DataParallel(model)) is model
    assert inner_model(nn.ModuleDict({"encoder": nn.Sequential(model)})) is model


def test_under_adapters() -> None:
    model = bert()
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query"]))
    assert inner_model(adapted) is model


def test_learned_prompts_are_refused() -> None:
    adapted = peft.get_peft_model(bert(), peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2))
    with pytest.raises(UnsuitableModel, match="learned prompts"):
        inner_model(adapted)


@pytest.mark.parametrize(("count", "words"), [(0, "with 0 transformers models; expected one"), (2, "with 2")])
def test_none_or_several(count: int, words: str) -> None:
    with pytest.raises(UnsuitableModel, match=words):
        inner_model(nn.ModuleList(bert() for _ in range(count)))
