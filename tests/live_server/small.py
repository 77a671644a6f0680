"""Live models that are quick to make, and requests to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headcount.live_server.asked import Asked, read_asked
from headcount.live_server.live_model import LiveModel
from tests import planted
from tests.measures import tiny

EXAMPLES = [("the good so",), ("it is bad up",), ("a down good",)]


def planted_live(folder: Path, **options: Any) -> LiveModel:
    """The planted classifier in float64: L0H0 carries the label, L0H1 misleads."""
    return LiveModel(planted.classifier().double(), planted.tokenizer(folder), EXAMPLES, **options)


def decoder() -> LiveModel:
    return LiveModel(*tiny.causal(), [("the dog chased a cat",), ("a mouse ran",)])


def masked() -> LiveModel:
    return LiveModel(*tiny.masked())


def translator() -> LiveModel:
    return LiveModel(*tiny.translator(), [("the dog", "a cat"), ("the mouse ran", "a dog")])


def ask(live: LiveModel, *texts: str, **fields: Any) -> Asked:
    return read_asked({"texts": list(texts), **fields}, live.anatomy.layout)
