"""The demo tells its story offline, with all sockets closed."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli import demo as demo_module
from headcount.cli.main import main


def test_the_demo_needs_no_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: Any, **__: Any) -> None:
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", closed)
    monkeypatch.setattr(socket, "getaddrinfo", closed)
    monkeypatch.setattr(demo_module, "QUICK_PAIRS", 8)
    assert main(["demo", "--quick", "--out", str(tmp_path / "study")]) == 0
    shown = capsys.readouterr().out
    assert "on 8 pairs drawn at random" in shown
    assert "What heads look at" in shown
    assert "Before and after fine-tuning" in shown
    assert "Baseline accuracy" in shown
    study = hc.open_study(tmp_path / "study")
    assert {"head-uniform", "layer-uniform"} <= set(study["sweep"].children)
    assert {"importance@prune", "curve@prune-choosing", "curve@prune-confirming"} <= set(study["pruning"].children)
    assert "ordered by importance" in shown
    small, _ = hc.load(tmp_path / "study-small")
    assert hc.read_anatomy(small).layout.count == 72
    sizes = [
        sum(one.stat().st_size for one in Path(place).glob("*.safetensors"))
        for place in (tmp_path / "study-small", hc.bundled("qnli"))
    ]
    assert sizes[0] < sizes[1], "the smaller model is smaller on disk too: it is saved in the dtype it was stored in"
    assert {"entropy", "position", "links@pretrained"} <= set(study["measures"].children)
    assert "cosine" in study["compare"].children
    assert set(study["maps"].children) == {"pair-0", "pair-0-before", "pair-1", "pair-1-before"}
    assert "models" in study["cost"].children
    assert (tmp_path / "study.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    last = shown[shown.index("What was found, in") :]
    assert f"open {tmp_path / 'study.html'} in a browser" in last
    assert len(last.splitlines()) < 24
    assert all(len(line) <= 80 for line in last.splitlines() if str(tmp_path) not in line)
    assert "headcount sweep MODEL" in last


def test_the_pairs_are_drawn_at_random_half_of_each_label() -> None:
    drawn, all_pairs = demo_module.some_pairs(160), demo_module.some_pairs(None)
    assert drawn["label"].value_counts().tolist() == [80, 80]
    assert drawn.equals(demo_module.some_pairs(160))
    assert not drawn.equals(demo_module.some_pairs(160, seed=1))
    assert (all_pairs.loc[drawn.index, "id"] == drawn["id"]).all(), "rows keep their numbers"
    lengths = [table["sentence"].str.len().mean() for table in (drawn, all_pairs)]
    assert abs(lengths[0] / lengths[1] - 1) < 0.15, "not the shortest ones"
