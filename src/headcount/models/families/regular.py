"""The families whose attention runs through transformers' attention interface, each layer with its own weights."""

from __future__ import annotations

from dataclasses import replace

from headcount.models.families.first_position import bert_first_position, distilbert_first_position
from headcount.models.families.plan import Family, FeedForwardPlan, StackPlan

_BERT_FEED_FORWARD = FeedForwardPlan(("intermediate.dense",), "output.dense")
BERT = StackPlan(
    stack="encoder",
    layer="encoder.layer.*",
    attention="attention.self",
    output="attention.output.dense",
    query="query",
    key="key",
    value="value",
    size="attention_head_size",
    counts=("num_attention_heads",),
    widths=("all_head_size",),
    feed_forward=_BERT_FEED_FORWARD,
)
_BERT_STACKS = (
    BERT,
    replace(
        BERT,
        stack="cross",
        attention="crossattention.self",
        output="crossattention.output.dense",
        feed_forward=None,
    ),
)
_LLAMA = StackPlan(
    stack="decoder",
    layer="layers.*",
    attention="self_attn",
    output="self_attn.o_proj",
    query="q_proj",
    key="k_proj",
    value="v_proj",
    size="head_dim",
    groups="num_key_value_groups",
    feed_forward=FeedForwardPlan(("mlp.gate_proj", "mlp.up_proj"), "mlp.down_proj"),
)
_LLAMA_COUNTS = ("num_attention_heads", "num_key_value_heads")
_BART = replace(
    _LLAMA,
    output="self_attn.out_proj",
    groups=None,
    counts=("num_heads",),
    feed_forward=FeedForwardPlan(("fc1",), "fc2"),
)
_BART_UNITS = ("encoder_ffn_dim", "decoder_ffn_dim")
_BART_STACKS = (
    replace(_BART, stack="encoder", layer="encoder.layers.*"),
    replace(_BART, layer="decoder.layers.*"),
    replace(
        _BART,
        stack="cross",
        layer="decoder.layers.*",
        attention="encoder_attn",
        output="encoder_attn.out_proj",
        feed_forward=None,
    ),
)


def _t5_feed_forward(number: int) -> FeedForwardPlan:
    """The block at this number in a layer: plain blocks have `wi`, gated ones `wi_0` and `wi_1`."""
    block = f"layer.{number}.DenseReluDense"
    return FeedForwardPlan(tuple(f"{block}.{name}" for name in ("wi", "wi_0", "wi_1")), f"{block}.wo")


_T5 = StackPlan(
    stack="encoder",
    layer="encoder.block.*",
    attention="layer.0.SelfAttention",
    output="layer.0.SelfAttention.o",
    query="q",
    key="k",
    value="v",
    size="key_value_proj_dim",
    widths=("inner_dim",),
    bias=True,
    feed_forward=_t5_feed_forward(1),
)
"""Its `n_heads` stays: it is the width of the position bias."""

REGULAR = (
    Family(("bert", "electra"), _BERT_STACKS, first_position=bert_first_position, unit_counts=("intermediate_size",)),
    Family(
        ("roberta", "xlm-roberta", "camembert"),
        _BERT_STACKS,
        position_offset=2,  # positions begin behind the padding index
        first_position=bert_first_position,
        unit_counts=("intermediate_size",),
    ),
    Family(
        ("distilbert",),
        (
            StackPlan(
                stack="encoder",
                layer="transformer.layer.*",
                attention="attention",
                output="attention.out_lin",
                query="q_lin",
                key="k_lin",
                value="v_lin",
                size="attention_head_size",
                counts=("n_heads",),
                feed_forward=FeedForwardPlan(("ffn.lin1",), "ffn.lin2"),
            ),
        ),
        first_position=distilbert_first_position,
        unit_counts=("hidden_dim",),
    ),
    Family(
        ("modernbert",),
        (
            StackPlan(
                stack="encoder",
                layer="layers.*",
                attention="attn",
                output="attn.Wo",
                query="Wqkv",
                key="Wqkv",
                value="Wqkv",
                size="head_dim",
                fused="by-part",
                feed_forward=FeedForwardPlan(("mlp.Wi",), "mlp.Wo", halves=2),
            ),
        ),
        unit_counts=("intermediate_size",),
    ),
    Family(
        ("gpt2",),
        (
            StackPlan(
                stack="decoder",
                layer="h.*",
                attention="attn",
                output="attn.c_proj",
                query="c_attn",
                key="c_attn",
                value="c_attn",
                size="head_dim",
                fused="by-part",
                counts=("num_heads",),
                widths=("split_size",),
                feed_forward=FeedForwardPlan(("mlp.c_fc",), "mlp.c_proj"),
            ),
        ),
        unit_counts=("n_inner",),
    ),
    Family(
        ("gpt_neox",),
        (
            StackPlan(
                stack="decoder",
                layer="layers.*",
                attention="attention",
                output="attention.dense",
                query="query_key_value",
                key="query_key_value",
                value="query_key_value",
                size="head_size",
                fused="by-head",
                feed_forward=FeedForwardPlan(("mlp.dense_h_to_4h",), "mlp.dense_4h_to_h"),
            ),
        ),
        unit_counts=("intermediate_size",),
    ),
    Family(
        ("opt",),
        (replace(_BART, layer="decoder.layers.*", feed_forward=FeedForwardPlan(("fc1",), "fc2", flattened=True)),),
        unit_counts=("ffn_dim",),
    ),
    Family(("llama",), (_LLAMA,), head_counts=_LLAMA_COUNTS, unit_counts=("intermediate_size",), width_multiple=True),
    Family(("mistral", "qwen2", "qwen3"), (_LLAMA,), head_counts=_LLAMA_COUNTS, unit_counts=("intermediate_size",)),
    Family(
        ("t5",),
        (
            _T5,
            replace(_T5, stack="decoder", layer="decoder.block.*", feed_forward=_t5_feed_forward(2)),
            replace(
                _T5,
                stack="cross",
                layer="decoder.block.*",
                attention="layer.1.EncDecAttention",
                output="layer.1.EncDecAttention.o",
                feed_forward=None,
            ),
        ),
    ),
    Family(("bart", "marian"), _BART_STACKS, unit_counts=_BART_UNITS),
    Family(("mbart",), _BART_STACKS, starts_with_last=True, unit_counts=_BART_UNITS),
    Family(
        ("vit",),
        (
            replace(
                _LLAMA,
                stack="encoder",
                attention="attention",
                output="attention.o_proj",
                groups=None,
                counts=("num_attention_heads",),
                feed_forward=FeedForwardPlan(("mlp.fc1",), "mlp.fc2"),
            ),
        ),
        head_counts=("num_attention_heads",),
        unit_counts=("intermediate_size",),
    ),
)
