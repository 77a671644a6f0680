"""Out of memory: smaller batches, then fewer variants, the same numbers. Not finite: an error with row and layer."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import HeadcountError, NotFinite
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
    whole = hc.sweep(model, tokenizer, data, task="sst2", how="zero", compute=hc.Compute(batch_tokens=200))
    for rows in (8, 1):
        with limited(rows):
            halved = hc.sweep(model, tokenizer, data, task="sst2", how="zero", compute=hc.Compute(batch_tokens=200))
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
        hc.sweep(
            planted.classifier(),
            planted.tokenizer(tmp_path),
            planted.texts(6),
            task="sst2",
            compute=hc.Compute(batch_tokens=200),
            how="uniform",
        )
    assert len(alive) > 2
    assert max(held) == 0


def test_an_output_that_is_not_finite_is_an_error_with_its_row_and_layer(tmp_path: Path) -> None:
    """Float16 overflows for some texts: their logits are NaN, and the largest of two NaN is class 0, often right."""
    tokenizer, data = planted.tokenizer(tmp_path), planted.texts(40).iloc[3:]
    model = planted.too_large_for_float16(planted.classifier(3))
    assert np.isfinite(hc.sweep(model, tokenizer, data, task="sst2", by="layer", how="uniform")["score"]).all()
    with pytest.raises(
        NotFinite, match=r"^row \d+: the model's outputs are not finite, from L1 on \(float16"
    ) as caught:
        hc.sweep(model.half(), tokenizer, data, task="sst2", by="layer", out=tmp_path / "study", how="uniform")
    row = int(str(caught.value).split(":")[0].removeprefix("row "))
    assert " up " in f" {data.at[row, 'sentence']} "


def test_a_variant_that_is_not_finite_is_named(tmp_path: Path) -> None:
    """The whole model computes finite numbers because a head cancels what is too large; without it nothing does."""
    model, tokenizer, data = planted.classifier().half(), planted.tokenizer(tmp_path), planted.texts(12)
    attention = model.bert.encoder.layer[1].attention
    with torch.no_grad():
        attention.self.value.bias.fill_(1)
        attention.output.dense.weight.zero_()
        attention.output.dense.weight[:, 0] = 60_000
        attention.output.dense.weight[:, 4] = -60_000
        attention.output.dense.bias.fill_(30_000)
    with pytest.raises(NotFinite, match=r"the model's outputs without L1H1 are not finite, from L1 on \(float16\)"):
        hc.sweep(model, tokenizer, data, task="sst2", how="zero")


def test_tags_of_numbers_that_are_not_finite(tmp_path: Path) -> None:
    """Tags are the largest logits: their arrays hold no NaN that would tell."""
    torch.manual_seed(0)
    whole = planted.classifier()
    tagger = tf.BertForTokenClassification(whole.config).eval()
    tagger.bert.load_state_dict(whole.bert.state_dict(), strict=False)
    words = [["so", "good"], ["it", "is", "up"], ["the", "bad"]]
    data = pd.DataFrame({"tokens": words, "tags": [[0, 1], [0, 0, 1], [0, 0]]})
    task = find_task("token-classification", text=("tokens",), label="tags")
    tokenizer = planted.tokenizer(tmp_path)
    planted.too_large_for_float16(tagger)
    hc.sweep(tagger, tokenizer, data, task=task, how="uniform")
    with pytest.raises(NotFinite, match=r"^row 1: the model's outputs are not finite, from L1 on"):
        hc.sweep(tagger.half(), tokenizer, data, task=task, how="uniform")
