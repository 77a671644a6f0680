"""Tiny models of each kind with the planted words, and what must be left of a measurement: nothing."""

from __future__ import annotations

from typing import Any

import tokenizers as tk
import torch
import transformers as tf
from torch import Tensor

from headcount.trace import attention, session
from tests.measures.planted import WORDS, planted_attention

_EMBEDDING = {"vocab_size": len(WORDS), "pad_token_id": 0}


def _spread(model: Any, size: float = 0.3) -> Any:
    """The model in float64, with weights large enough that attention is far from uniform."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, size, generator=generator)
    return model.eval().double()


def masked(layers: int = 2) -> tuple[Any, Any]:
    """A BERT with a language-model head that takes 64 tokens, 4 heads a layer, and the planted tokenizer."""
    config = tf.BertConfig(
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=64,
        **_EMBEDDING,
    )
    return _spread(tf.BertForMaskedLM(config)), planted_attention()[1]


def causal() -> tuple[Any, Any]:
    """A GPT-2 and a tokenizer without special tokens around a text."""
    config = tf.GPT2Config(
        vocab_size=len(WORDS), n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=2, eos_token_id=3
    )
    return _spread(tf.GPT2LMHeadModel(config)), bare_tokenizer()


def translator() -> tuple[Any, Any]:
    """A BART with an encoder of 3 layers of 4 heads and a decoder of 2 layers of 2 heads; [SEP] ends a text."""
    config = tf.BartConfig(
        d_model=32,
        encoder_layers=3,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=40,
        decoder_ffn_dim=40,
        max_position_embeddings=64,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        **_EMBEDDING,
    )
    return _spread(tf.BartForConditionalGeneration(config)), bare_tokenizer(end=True)


def bare_tokenizer(end: bool = False) -> Any:
    """The planted words without [CLS] and without token types."""
    inner = tk.Tokenizer(tk.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    more = {}
    if end:
        inner.post_processor = tk.processors.TemplateProcessing(
            single="$A [SEP]", special_tokens=[("[SEP]", WORDS.index("[SEP]"))]
        )
        more = {"eos_token": "[SEP]"}
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "attention_mask"],
        **more,
    )


def hooks_of(model: Any) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def assert_untouched(model: Any, batch: dict[str, Tensor], before: Tensor) -> None:
    """No hook, no listener and no gradient is left, and the model gives bit for bit what it gave before."""
    assert hooks_of(model) == 0
    assert not attention._overrides
    assert not attention._listeners
    assert model not in session._wirings
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(first_output(model, batch), before)


def first_output(model: Any, batch: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(**batch)[0]
    return found
