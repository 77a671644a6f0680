"""A plan of maps says what they will be before the model runs."""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.attention_maps import plan as planning
from headcount.attention_maps.plan import plan_maps
from headcount.errors import InvalidOption


def test_a_plan_knows_names_shapes_and_tokens() -> None:
    plan = plan_maps(*hc.load(hc.bundled("qnli")), "Who wrote it?", "Anna Lund wrote it.")
    assert plan.shape("encoder") == (12, 12, 14, 14)
    assert plan.dims("encoder") == ("layer", "head", "query", "key")
    assert plan.tokens[""][:3] == ["[CLS]", "who", "wrote"]
    assert plan.name.startswith("who-wrote-it-")
    assert set(plan.known()) == {"tokens", "segments", "present_encoder"}


def test_too_large_is_refused_with_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_BYTES", 144 * 100)
    model, tokenizer = hc.load(hc.bundled("qnli"))
    with pytest.raises(InvalidOption, match="max_length=10") as caught:
        plan_maps(model, tokenizer, "Who wrote it, and when, and where, and why?")
    assert "\n" not in str(caught.value)
    plan_maps(model, tokenizer, "Who wrote it, and when, and where, and why?", max_length=10)
