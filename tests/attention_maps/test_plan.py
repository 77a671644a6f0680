"""A plan of maps says what they will be before the model runs."""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.attention_maps import plan as planning
from headcount.attention_maps.plan import plan_maps


def test_a_plan_knows_names_shapes_and_tokens() -> None:
    plan = plan_maps(*hc.load(hc.bundled("qnli")), "Who wrote it?", "Anna Lund wrote it.")
    assert plan.shape("encoder") == (12, 12, 14, 14)
    assert plan.dims("encoder") == ("layer", "head", "query", "key")
    assert plan.tokens[""][:3] == ["[CLS]", "who", "wrote"]
    assert plan.name.startswith("who-wrote-it-")
    assert set(plan.known()) == {"tokens", "segments", "present_encoder"}


def test_what_is_too_large_is_kept_between_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_BYTES", 144 * 100)
    model, tokenizer = hc.load(hc.bundled("qnli"))
    text = "Who wrote it, and when, and where, and why?"
    plan = plan_maps(model, tokenizer, text)
    tokens = plan.tokens[""]
    assert plan.pooled == plan.attributes["pooled"] == plan.options["pooled"] == -(-len(tokens) // 10) == 2
    assert plan.shape("encoder") == (12, 12, -(-len(tokens) // 2), -(-len(tokens) // 2))
    known = plan.known()
    assert known["tokens"][1][0] == "[CLS] … who"
    assert len(known["tokens"][1]) == len(known["segments"][1]) == plan.cells("")
    assert plan_maps(model, tokenizer, text, max_length=10).pooled == 1
    assert plan_maps(model, tokenizer, text).name == plan.name
