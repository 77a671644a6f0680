"""Texts that a user may start from: those of the study, those of a bundled model, or any to begin with."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from transformers import PreTrainedModel

from headcount.data.kinds.kind import Kind
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
    rows = bundled_rows(MOST_TEXTS)
    if isinstance(kind_of(model), WholeText):
        return [(row["question"], row["sentence"]) for row in rows]
    return [(row["sentence"],) for row in rows]


def example_origin(study: ServedStudy | None) -> str:
    """How a sentence calls these examples."""
    return "the study's texts" if study is not None and study.texts() else "the bundled texts"


def first_texts(kind: Kind, count: int) -> list[tuple[str, ...]]:
    """Something to begin with where no texts are known: bundled sentences, of prompts their first half."""
    rows = bundled_rows(count + 1)
    found: list[tuple[str, ...]] = []
    for row, other in pairwise(rows):
        words = row["sentence"].split()
        if kind.text_titles == ("prompt",):
            found.append((" ".join(words[: max(3, len(words) // 2)]),))
        elif kind.texts_needed > 1:
            found.append((row["question"], row["sentence"], other["sentence"])[: kind.texts_needed])
        else:
            found.append(kind.as_typed((row["sentence"],)))
    return found


def bundled_rows(count: int) -> list[dict[str, Any]]:
    lines = bundled_pairs().read_text(encoding="utf-8").splitlines()[:count]
    return [json.loads(line) for line in lines]
