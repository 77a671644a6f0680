"""The table of replacements is the dispatch: what is entered in it works everywhere, and the contracts run over it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS, check_how
from headcount.cli.sweep import sweep as sweep_verb
from headcount.errors import InvalidOption
from headcount.trace.attention import AttentionCall
from headcount.trace.variants import Replacement
from tests import planted


def test_the_names_of_the_replacements() -> None:
    assert list(REPLACEMENTS) == ["zero", "uniform", "mean"]
    assert check_how("mean") == "mean"
    with pytest.raises(InvalidOption, match="got how='shuffle'"):
        check_how("shuffle")


def test_the_command_line_takes_all_of_them() -> None:
    taken = get_args(get_type_hints(sweep_verb)["how"])
    assert set(taken) == set(REPLACEMENTS)


class Negated(Replacement):
    """The heads give the opposite."""

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return -outputs

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        outputs = outputs.clone()
        outputs[:, :, self.places] *= -1
        return outputs


def test_a_new_entry_is_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPLACEMENTS, "negated", Negated)
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(20)
    batch = tokenizer(texts["sentence"].tolist(), padding=True, return_tensors="pt")
    gates = torch.ones(2, 2)
    gates[0, 0] = -1
    with torch.no_grad(), hc.gated(model, gates):
        expected = model(**batch).logits
    with torch.no_grad(), hc.ablated(model, "L0H0", how="negated"):
        torch.testing.assert_close(model(**batch).logits, expected, rtol=0, atol=0)
    swept = hc.sweep(model, tokenizer, texts, task="sst2", how="negated")
    found = swept["logits"].sel(layer=0, head=0).values[0]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)
    assert not np.allclose(found, swept["baseline_logits"].values)
    with pytest.raises(InvalidOption, match="reference=, which has no effect here"):
        hc.sweep(model, tokenizer, texts, task="sst2", how="negated", reference=texts)
