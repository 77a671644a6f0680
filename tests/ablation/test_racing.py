"""Races: planted heads are decided right, one that never stops is the full sweep, a naive loop takes the same turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.ablation import racing
from headcount.core.races import DECISIONS, accuracy_bounds, decide, mean_bounds, plan_looks, share_of_error
from headcount.errors import InvalidOption
from tests import planted
from tests.ablation.test_sweep import random_model

TEXTS = planted.texts(300)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def decisions(raced: xr.Dataset) -> list[str]:
    return [DECISIONS[int(code)] for code in raced["decision"].values.ravel()]


@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_planted_heads_are_decided_right_in_a_part_of_the_passes(tokenizer: Any, metric: str) -> None:
    """L0H0 carries the label, L0H1 misleads, the heads of L1 do nothing."""
    raced = hc.sweep(planted.classifier(), tokenizer, TEXTS, task="sst2", metric=metric, stop_when=0.1)
    needed, misleading = ("smaller", "larger") if metric == "accuracy" else ("larger", "smaller")
    assert decisions(raced) == [needed, misleading, "within", "within"]
    runs = raced["examples_run"].values.ravel()
    assert set(runs) <= set(raced.attrs["race"]["looks"])
    assert float(raced["passes_saved"]) == pytest.approx(1 - runs.mean() / 300)
    assert float(raced["passes_saved"]) >= 0.5
    full = hc.sweep(planted.classifier(), tokenizer, TEXTS, task="sst2", metric=metric)
    assert (raced["race_low"] <= full["delta"] + 1e-9).all()
    assert (full["delta"] <= raced["race_high"] + 1e-9).all()
    assert float(raced["baseline"]) == pytest.approx(float(full["baseline"]))


def test_what_was_not_run_is_unknown(tokenizer: Any) -> None:
    raced = hc.sweep(planted.classifier(), tokenizer, TEXTS, task="sst2", metric="loss", stop_when=0.1)
    ran = raced["ran"].values
    assert not ran.all()
    assert np.isfinite(raced["logits"].values[ran]).all()
    assert np.isnan(raced["logits"].values[~ran]).all()
    assert np.isfinite(raced["baseline_logits"].values).all(), "the whole model runs on all examples"
    assert (ran.sum(-1) == raced["examples_run"].values).all()


@pytest.mark.parametrize("by", ["head", "layer", ["L0H1, L1", "L2H2"]])
def test_a_race_that_never_stops_is_the_full_sweep(tokenizer: Any, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_at_the_end(low: np.ndarray, high: np.ndarray, margin: float) -> np.ndarray:
        return np.where(low == high, decide(low, high, margin), 0)

    monkeypatch.setattr(racing, "decide", only_at_the_end)
    model = random_model()
    options: dict[str, Any] = {"task": "sst2", "metric": "loss", "by": by}
    raced = hc.sweep(model, tokenizer, TEXTS.head(130), stop_when=0.1, **options)
    full = hc.sweep(model, tokenizer, TEXTS.head(130), **options)
    assert float(raced["passes_saved"]) == 0
    for name in ("logits", "baseline_logits", "score", "delta", "baseline", "label", "text"):
        if full[name].dtype.kind == "f":
            np.testing.assert_allclose(raced[name].values, full[name].values, atol=1e-6, err_msg=name)
        else:
            assert (raced[name].values == full[name].values).all()
    np.testing.assert_allclose(raced["race_low"], full["delta"], atol=1e-6)
    np.testing.assert_allclose(raced["race_high"], full["delta"], atol=1e-6)
    looks = len(raced.attrs["race"]["looks"])
    np.testing.assert_allclose(raced["p"], np.minimum(1, looks * full["p"]), atol=0.02)
    width = raced["high"] - raced["low"]
    assert (width >= (full["high"] - full["low"]) * 0.99).all(), "wider, since there were several looks"


@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_a_naive_loop_takes_the_same_turns(tokenizer: Any, metric: str) -> None:
    """Head by head, look by look, from the outputs of the full sweep."""
    model, margin, seed = random_model(), 0.12, 3
    raced = hc.sweep(model, tokenizer, TEXTS, task="sst2", metric=metric, stop_when=margin, seed=seed)
    full = hc.sweep(model, tokenizer, TEXTS, task="sst2", metric=metric, seed=seed)
    labels = full["label"].values
    logits = np.concatenate([full["baseline_logits"].values[None], full["logits"].values.reshape(-1, 300, 2)])
    right = logits.argmax(-1) == labels
    shifted = torch.tensor(logits.astype(float)).log_softmax(-1).numpy()
    losses = -np.take_along_axis(shifted, np.broadcast_to(labels[None, :, None], (len(logits), 300, 1)), -1)[..., 0]
    shuffled = np.random.default_rng(seed).permutation(300)
    unit, ends = plan_looks(300)
    expected = []
    for head in range(1, len(logits)):
        for end in ends:
            rows = np.sort(shuffled[: end * unit])
            if metric == "accuracy":
                counts = [((right[0] & ~right[head])[rows]).sum(), ((~right[0] & right[head])[rows]).sum()]
                ends_of = accuracy_bounds(
                    np.array(counts[:1]), np.array(counts[1:]), len(rows), 300, share_of_error(len(ends))
                )
            else:
                change = (losses[head] - losses[0])[rows][None]
                ends_of = mean_bounds(change, np.ones(len(rows)), 300, share_of_error(len(ends)), seed)
            code = int(decide(*ends_of, margin)[0])
            if code:
                break
        expected.append((DECISIONS[code], len(rows)))
    assert [*zip(decisions(raced), raced["examples_run"].values.ravel(), strict=True)] == expected
    assert len({count for _, count in expected}) > 1, "some stop before others"


def test_tokens_weigh_what_they_do(tokenizer: Any) -> None:
    """The loss of a language model is a mean over tokens, not over texts."""
    table = pd.DataFrame({"text": TEXTS["sentence"].head(150)})
    model = random_model("BertForMaskedLM")
    raced = hc.sweep(model, tokenizer, table, task="masked-lm", stop_when=0.2)
    full = hc.sweep(model, tokenizer, table, task="masked-lm")
    assert (raced["race_low"] <= full["delta"] + 1e-6).mean() >= 0.9
    whole = raced["examples_run"].values == 150
    np.testing.assert_allclose(raced["delta"].values[whole], full["delta"].values[whole], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stop_when": 0}, "got stop_when=0; expected above 0"),
        ({"stop_when": float("nan")}, "got stop_when=nan"),
        ({"stop_when": 0.1, "metric": "f1"}, "metric f1; expected a metric that is a mean"),
        ({"stop_when": 0.1, "metric": lambda predictions, labels: 1.0}, "expected a metric that is a mean"),
    ],
)
def test_refused(tokenizer: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption) as error:
        hc.sweep(planted.classifier(), tokenizer, TEXTS, task="sst2", **options)
    assert said in str(error.value)


def test_screened_heads_are_not_raced(tokenizer: Any) -> None:
    model = planted.classifier()
    chosen = hc.screen(model, tokenizer, TEXTS.head(20), task="sst2", top=1)
    with pytest.raises(InvalidOption, match="screened heads"):
        hc.sweep(model, tokenizer, TEXTS, task="sst2", by=chosen, stop_when=0.1)
