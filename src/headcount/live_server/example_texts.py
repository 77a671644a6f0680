"""Texts that a user may start from: those of the study, or those that come with a bundled model."""

from __future__ import annotations

import json

from transformers import PreTrainedModel

from headcount.data.kinds.whole_text import WholeText
from headcount.live_server.served_study import MOST_TEXTS, ServedStudy
from headcount.models.fingerprint import model_name
from headcount.models.task_heads import kind_of
from headcount.zoo.bundled import PREFIX, bundled_pairs


def example_texts(model: PreTrainedModel, study: ServedStudy | None) -> list[tuple[str, ...]]:
    """Examples as the model's task reads them; none for a model of which no texts are known."""
    if study is not None and (texts := study.texts()):
        return texts
    if not model_name(model).startswith(PREFIX):
        return []
    lines = bundled_pairs().read_text(encoding="utf-8").splitlines()[:MOST_TEXTS]
    rows = [json.loads(line) for line in lines]
    if isinstance(kind_of(model), WholeText):
        return [(row["question"], row["sentence"]) for row in rows]
    return [(row["sentence"],) for row in rows]
