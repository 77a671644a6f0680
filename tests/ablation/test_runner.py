"""A device that runs out of memory gets smaller batches, then fewer variants, and the numbers stay the same."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

import headcount as hc
from headcount.errors import HeadcountError
from headcount.trace.replay import Replay
from tests import planted
from tests.closeness import ROUNDED, assert_same


def limited(rows: int) -> Any:
    """A Replay that has room for so many rows at once."""
    run = Replay.run

    def call(self: Replay, variants: Any) -> Any:
        if self.size * len(variants) > rows:
            raise torch.OutOfMemoryError("no room")
        return run(self, variants)

    return mock.patch.object(Replay, "run", call)


def test_out_of_memory_halves_and_goes_on(tmp_path: Path) -> None:
    model, tokenizer, data = planted.classifier().double(), planted.tokenizer(tmp_path), planted.texts(20)
    whole = hc.sweep(model, tokenizer, data, task="sst2", how="zero", batch_tokens=200)
    for rows in (8, 1):
        with limited(rows):
            halved = hc.sweep(model, tokenizer, data, task="sst2", how="zero", batch_tokens=200)
        assert_same(halved["logits"], whole["logits"], ROUNDED)
    with limited(0), pytest.raises(HeadcountError, match="no memory for one text"):
        hc.sweep(model, tokenizer, data, task="sst2", how="zero")


def test_what_failed_is_let_go_before_less_is_tried(tmp_path: Path) -> None:
    """On a real device the memory of the pass that failed must be free again when its halves run."""
    alive: list[weakref.ref[torch.Tensor]] = []
    held: list[int] = []
    run = Replay.run

    def call(self: Replay, variants: Any) -> Any:
        gc.collect()
        held.append(sum(one() is not None for one in alive))
        large = torch.zeros(self.size, len(variants))
        if self.size * len(variants) > 1:
            alive.append(weakref.ref(large))
            raise torch.OutOfMemoryError("no room")
        return run(self, variants)

    with mock.patch.object(Replay, "run", call):
        hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), planted.texts(20), task="sst2", batch_tokens=200)
    assert len(alive) > 2
    assert max(held) == 0
