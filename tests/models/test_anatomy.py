"""Where heads are found, and what is said where they are not."""

from __future__ import annotations

import pytest
import torch
import transformers as tf

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import CASES, tiny

HEADED = [
    ("bert", "AutoModelForSequenceClassification"),
    ("bert", "AutoModelForMaskedLM"),
    ("roberta", "AutoModelForTokenClassification"),
    ("electra", "AutoModelForPreTraining"),
    ("gpt2", "AutoModelForCausalLM"),
    ("llama", "AutoModelForCausalLM"),
    ("opt", "AutoModelForCausalLM"),
    ("t5", "AutoModelForSeq2SeqLM"),
    ("bart", "AutoModelForSequenceClassification"),
    ("marian", "AutoModelForSeq2SeqLM"),
    ("vit", "AutoModelForImageClassification"),
    ("deberta-v2", "AutoModelForSequenceClassification"),
    ("mpnet", "AutoModelForMultipleChoice"),
]


@pytest.mark.parametrize(("name", "head"), HEADED)
def test_a_task_head_does_not_hide_the_heads(name: str, head: str) -> None:
    case = next(case for case in CASES if case.name == name)
    with_head = read_anatomy(tiny(name, case.kernels[0], head))
    assert with_head.layout == read_anatomy(tiny(name, case.kernels[0])).layout


def test_albert_layers_are_uses_of_one_module() -> None:
    layers = read_anatomy(tiny("albert")).stacks["encoder"]
    assert len({layer.module for layer in layers}) == 1
    assert [layer.use for layer in layers] == [0, 1, 2]


def test_albert_groups_and_inner_groups() -> None:
    config = tf.AlbertConfig(
        vocab_size=9,
        hidden_size=8,
        embedding_size=4,
        num_attention_heads=2,
        intermediate_size=8,
        num_hidden_layers=4,
        num_hidden_groups=2,
        inner_group_num=2,
    )
    layers = read_anatomy(tf.AlbertModel(config)).stacks["encoder"]
    assert len(layers) == 8
    assert [layer.use for layer in layers] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_bert_as_a_decoder_with_cross_attention() -> None:
    config = tf.BertConfig(
        vocab_size=9,
        hidden_size=8,
        num_attention_heads=2,
        intermediate_size=8,
        num_hidden_layers=2,
        is_decoder=True,
        add_cross_attention=True,
    )
    assert list(read_anatomy(tf.BertModel(config)).stacks) == ["decoder", "cross"]


def test_an_unknown_family_is_named() -> None:
    config = tf.FunnelConfig(vocab_size=9, d_model=8, n_head=2, d_head=4, d_inner=8, block_sizes=[1])
    with pytest.raises(UnknownFamily, match="type 'funnel' are not understood.*docs/architecture"):
        read_anatomy(tf.FunnelModel(config))
    with pytest.raises(UnknownFamily, match="got Linear"):
        read_anatomy(torch.nn.Linear(2, 2))  # type: ignore[arg-type]


def test_a_missing_part_is_named() -> None:
    model = tiny("bert")
    del model.encoder.layer[1].attention.self.value
    with pytest.raises(UnknownFamily, match="layer 1: no projection 'value'"):
        read_anatomy(model)
    model = tiny("bert")
    del model.encoder.layer[1].attention.output.dense
    with pytest.raises(UnknownFamily, match="no output projection"):
        read_anatomy(model)
    model = tiny("bert")
    del model.encoder
    with pytest.raises(UnknownFamily, match=r"no attention was found at encoder\.layer"):
        read_anatomy(model)
