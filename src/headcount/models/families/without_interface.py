"""MPNet and DeBERTa-v2: their attention modules compute softmax themselves, past transformers' attention interface."""

from __future__ import annotations

from headcount.models.families.plan import Family, StackPlan

MPNET = Family(
    ("mpnet",),
    (
        StackPlan(
            stack="encoder",
            layer="encoder.layer.*",
            attention="attention.attn",
            output="attention.attn.o",
            query="q",
            key="k",
            value="v",
            size="attention_head_size",
            counts=("num_attention_heads",),
            widths=("all_head_size",),
            bias=True,
        ),
    ),
    interface=False,
    position_offset=2,
)

DEBERTA = Family(
    ("deberta-v2",),
    (
        StackPlan(
            stack="encoder",
            layer="encoder.layer.*",
            attention="attention.self",
            output="attention.output.dense",
            query="query_proj",
            key="key_proj",
            value="value_proj",
            size="attention_head_size",
            counts=("num_attention_heads",),
            widths=("all_head_size",),
            further=("pos_key_proj", "pos_query_proj"),
        ),
    ),
    interface=False,
    unbatched=("rel_embeddings",),
)
