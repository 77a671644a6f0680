"""Every verb that reads texts takes synthetic ones: the same as the table that they are, resumed by the same seed."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.cli.main import main
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, StudyProblem
from tests.data.kinds.test_completion import decoder
from tests.data.synthetic.tokenizers import make

SPEC = "synthetic:repeat,length=6"


def table_of(limit: int, seed: int = 0) -> Any:
    return hc.Synthetic("repeat", length=6).read(make("bpe"), limit, seed)


def test_measure_reads_prompt_and_completion() -> None:
    model, tokenizer = decoder(), make("bpe")
    measured = hc.measure(model, tokenizer, SPEC, limit=4, only=["entropy", "position"], seed=3)
    expected = hc.measure(model, tokenizer, table_of(4, 3), text="text", only=["entropy", "position"], seed=3)
    for name in ("entropy", "position"):
        xr.testing.assert_equal(measured[name].to_dataset(), expected[name].to_dataset())
    assert measured["entropy"].attrs["identity"] == expected["entropy"].attrs["identity"]


def test_importance_and_a_sweep_are_those_of_the_table() -> None:
    model, tokenizer = decoder(), make("bpe")
    table = table_of(5)
    for verb, options in ((hc.importance, {}), (hc.sweep, {"by": "layer"})):
        made = verb(model, tokenizer, SPEC, limit=5, **options)
        given = verb(model, tokenizer, table, task="completion", **options)
        xr.testing.assert_equal(made, given)


def test_the_mean_over_synthetic_texts() -> None:
    model, tokenizer = decoder(), make("bpe")
    options: dict[str, Any] = {"by": "layer", "how": "mean", "limit": 3}
    made = hc.sweep(model, tokenizer, SPEC, reference=f"{SPEC},examples=4", **options)
    given = hc.sweep(model, tokenizer, SPEC, reference=table_of(4), **options)
    xr.testing.assert_equal(made, given)


def test_curve_choose_gates_and_recover() -> None:
    model, tokenizer = decoder(), make("bpe")
    curve = hc.curve(model, tokenizer, SPEC, order="importance", steps=2, limit=40)
    assert curve.attrs["examples"] == 20
    assert np.isfinite(curve["score"]).all()
    choice = hc.choose(model, tokenizer, SPEC, drop=2, order="importance", steps=2, limit=40)
    assert len(choice.heads) == 2
    gates = hc.learn_gates(model, tokenizer, SPEC, price=[0.01], max_steps=2, limit=4)
    assert np.isfinite(gates["loss"]).all()
    trained = hc.recover(deepcopy(model).float(), tokenizer, SPEC, max_steps=3, learning_rate=1e-3, limit=8)
    losses = [hc.sweep(each, tokenizer, SPEC, by="layer", limit=8)["baseline"] for each in (model, trained)]
    assert float(losses[1]) < float(losses[0])


def test_the_same_seed_resumes_and_another_does_not(tmp_path: Path) -> None:
    model, tokenizer = decoder(), make("bpe")
    first = hc.sweep(model, tokenizer, SPEC, limit=3, by="layer", out=tmp_path / "study")
    again = hc.sweep(model, tokenizer, SPEC, limit=3, by="layer", out=tmp_path / "study")
    xr.testing.assert_equal(first, again)
    assert first.attrs["identity"] == again.attrs["identity"]
    with pytest.raises(StudyProblem):
        hc.sweep(model, tokenizer, SPEC, limit=3, by="layer", seed=1, out=tmp_path / "study")


def test_other_tasks_read_the_text() -> None:
    model, tokenizer = decoder(), make("bpe")
    swept = hc.sweep(model, tokenizer, SPEC, task="causal-lm", limit=3, by="layer")
    assert swept["baseline_tokens"].values.tolist() == [11, 11, 11]
    with pytest.raises(DataProblem, match="no column sentence for sst2; synthetic:repeat,length=6 has prompt"):
        hc.sweep(
            _classifier(), make("wordpiece"), SPEC, task=find_task("sst2", labels=("negative", "positive")), limit=3
        )


def _classifier() -> Any:
    return hc.load(hc.bundled("qnli"))[0]


def test_the_command_line_prunes_by_a_needle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deepcopy(decoder()).float().save_pretrained(tmp_path / "model")
    make("bpe").save_pretrained(tmp_path / "model")
    words = ["prune", str(tmp_path / "model"), "--data", "synthetic:needle,tokens=128", "--drop", "2", "--steps", "1"]
    assert main([*words, "--limit", "40", "--order", "importance", "--out", str(tmp_path / "small")]) == 0
    assert "6 of 8 heads are left" in capsys.readouterr().out
