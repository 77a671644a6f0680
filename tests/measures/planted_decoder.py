"""A decoder whose heads are known by construction: a Llama with grouped keys and values and rotary positions.

A hidden state has four parts: the code of its token, the code of the token before it (written by `previous`), a code
for the logits (read by the output embedding), and a constant. `previous` finds its key by rotary positions; all other
heads match codes in planes that hardly rotate. Feed-forward layers add nothing. Heads without a role attend to all
allowed tokens alike and write nothing.
"""

from __future__ import annotations

from math import sqrt
from string import ascii_lowercase

import tokenizers as tk
import torch
import transformers as tf
from torch import Tensor

SPECIAL = ("<pad>", "<s>")
WORDS = (*SPECIAL, ".", *ascii_lowercase)
CODES, SIZE, HEADS, GROUPS = 32, 64, 4, 2
TOKEN, BEFORE, LOGITS, CONSTANT = 0, CODES, 2 * CODES, 3 * CODES
HIDDEN = 3 * CODES + 4
ROLES = {"previous": "L0H1", "duplicate": "L0H2", "induction": "L1H1", "suppressing": "L1H3"}
"""`induction` copies what it attends to; `suppressing` attends to all tokens alike and lowers their logits."""
GAP = 16.0
SLOW = 8
"""The first plane that hardly rotates."""


def planted_tokenizer() -> tf.PreTrainedTokenizerFast:
    """Words between spaces; `<s>` begins every text."""
    inner = tk.Tokenizer(tk.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<pad>"))
    inner.pre_tokenizer = tk.pre_tokenizers.WhitespaceSplit()
    inner.post_processor = tk.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=64,
        pad_token="<pad>",
        bos_token="<s>",
        model_input_names=["input_ids", "attention_mask"],
    )


def _reads(start: int) -> Tensor:
    """[SIZE, HIDDEN]: the codes that start there, in planes that hardly rotate."""
    slots = [slot for plane in range(SLOW, SIZE // 2) for slot in (plane, plane + SIZE // 2)]
    reader = torch.zeros(SIZE, HIDDEN)
    reader[slots[:CODES], torch.arange(start, start + CODES)] = 1
    return reader


def _one_back() -> tuple[Tensor, Tensor]:
    """Query and key [SIZE, HIDDEN] from the constant: their product is largest one position back."""
    query, key = torch.zeros(SIZE, HIDDEN), torch.zeros(SIZE, HIDDEN)
    for plane in range(SLOW):
        angle = torch.tensor(10.0 ** (-plane / 2))
        key[plane, CONSTANT] = 1
        query[plane, CONSTANT], query[plane + SIZE // 2, CONSTANT] = torch.cos(angle), -torch.sin(angle)
    return 3 * query, key


def _writes(start: int) -> Tensor:
    """[HIDDEN, SIZE]: the value's code, written where codes start there."""
    writer = torch.zeros(HIDDEN, SIZE)
    writer[torch.arange(start, start + CODES), torch.arange(CODES)] = 1
    return writer


@torch.no_grad()
def planted_decoder() -> tuple[tf.LlamaForCausalLM, tf.PreTrainedTokenizerFast]:
    """The model, in eval mode and float64, and its tokenizer."""
    config = tf.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        head_dim=SIZE,
        intermediate_size=8,
        max_position_embeddings=64,
        rope_theta=1e16,
        rms_norm_eps=1e-12,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    model = tf.LlamaForCausalLM(config).eval().double()
    for parameter in model.parameters():
        parameter.zero_()
    for module in model.modules():
        if type(module).__name__ == "LlamaRMSNorm":
            module.weight.fill_(1)
    codes = torch.eye(len(WORDS), CODES)
    model.model.embed_tokens.weight[:, TOKEN : TOKEN + CODES] = codes.double()
    model.model.embed_tokens.weight[:, CONSTANT] = 1
    model.lm_head.weight[:, LOGITS : LOGITS + CODES] = codes.double()
    values = torch.zeros(SIZE, HIDDEN)
    values[:CODES, TOKEN : TOKEN + CODES] = torch.eye(CODES)
    # What the norm divides by: a state has two ones in the first layer and three in the second.
    scales = [sqrt(ones / HIDDEN) for ones in (2, 3)]
    query_back, key_back = _one_back()
    plans = {
        "previous": (GAP / 3 * query_back, key_back, _writes(BEFORE)),
        "duplicate": (GAP * _reads(TOKEN), _reads(TOKEN), None),
        "induction": (GAP * _reads(TOKEN), _reads(BEFORE), _writes(LOGITS)),
        "suppressing": (torch.zeros(SIZE, HIDDEN), torch.zeros(SIZE, HIDDEN), -_writes(LOGITS)),
    }
    for role, (query, key, output) in plans.items():
        layer, head = map(int, ROLES[role][1:].split("H"))
        attention = model.model.layers[layer].self_attn
        rows = slice(head * SIZE, (head + 1) * SIZE)
        group = head // (HEADS // GROUPS)
        shared = slice(group * SIZE, (group + 1) * SIZE)
        attention.q_proj.weight[rows] = (sqrt(SIZE) * scales[layer] ** 2 * query).double()
        attention.k_proj.weight[shared] = key.double()
        attention.v_proj.weight[shared] = (scales[layer] * values).double()
        if output is not None:
            attention.o_proj.weight[:, rows] = output.double()
    return model, planted_tokenizer()
