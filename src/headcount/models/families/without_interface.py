"""MPNet and DeBERTa-v2: their attention modules compute softmax themselves, past transformers' attention interface."""

from __future__ import annotations

from dataclasses import replace

from headcount.models.families.plan import Family
from headcount.models.families.regular import BERT

MPNET = Family(
    ("mpnet",),
    (replace(BERT, attention="attention.attn", output="attention.attn.o", query="q", key="k", value="v", bias=True),),
    interface=False,
    position_offset=2,
    unit_counts=("intermediate_size",),
)

DEBERTA = Family(
    ("deberta-v2",),
    (
        replace(
            BERT,
            query="query_proj",
            key="key_proj",
            value="value_proj",
            further=("pos_key_proj", "pos_query_proj"),
        ),
    ),
    interface=False,
    unbatched=("rel_embeddings",),
    unit_counts=("intermediate_size",),
)
