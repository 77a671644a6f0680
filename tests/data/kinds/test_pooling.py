"""Which tokens make a text's vector: what the library's files say, in all of their versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headcount.data.kinds.pooling import Pooling, read_pooling
from headcount.errors import ModelUnavailable

MODULES = [{"path": path, "type": f"x.{name}"} for path, name in (("", "Transformer"), ("1_Pooling", "Pooling"))]


def files(pooling: dict[str, Any], **others: Any) -> dict[str, bytes]:
    named = {"modules.json": MODULES, "1_Pooling/config.json": pooling, **others}
    return {name: json.dumps(content).encode() for name, content in named.items()}


@pytest.mark.parametrize(
    ("pooling", "mode"),
    [
        ({"pooling_mode": "cls"}, "first"),
        ({"pooling_mode": ["lasttoken"]}, "last"),
        ({"pooling_mode": "mean_sqrt_len_tokens"}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "first"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({}, "mean"),
    ],
)
def test_names_of_all_versions(pooling: dict[str, Any], mode: str) -> None:
    assert read_pooling(files(pooling)).mode == mode


def test_without_files() -> None:
    assert read_pooling({}) == Pooling("mean", known=False)


def test_a_prompt_without_a_name_is_not_used() -> None:
    settings = {"prompts": {"query": "query: "}, "default_prompt_name": None}
    assert read_pooling(files({}, **{"config_sentence_transformers.json": settings})).prompt == ""
    settings["default_prompt_name"] = "query"  # type: ignore[assignment]
    assert read_pooling(files({}, **{"config_sentence_transformers.json": settings})).prompt == "query: "


def test_spans_are_never_empty() -> None:
    assert Pooling("mean").span(range(5), 0) == (0, 5)
    assert Pooling("mean").span(range(5), 2) == (2, 5)
    assert Pooling("first").span(range(5), 2) == (2, 3)
    assert Pooling("last").span(range(5), 2) == (4, 5)
    assert Pooling("mean").span(range(3), 9) == (2, 3), "a prompt that is longer than the model takes"


def test_damaged() -> None:
    with pytest.raises(ModelUnavailable, match=r"1_Pooling/config\.json cannot be read as JSON"):
        read_pooling(files({}) | {"1_Pooling/config.json": b"{"})
