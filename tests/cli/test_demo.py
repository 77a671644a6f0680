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
    assert "on 8 pairs" in shown
    assert "What heads look at" in shown
    assert "What fine-tuning changed" in shown
    assert "Baseline accuracy" in shown
    assert "The layer that is needed most" in shown
    study = hc.open_study(tmp_path / "study")
    assert {"head-uniform", "layer-uniform"} <= set(study["sweep"].children)
    assert {"importance@prune", "curve@prune-choosing", "curve@prune-confirming"} <= set(study["pruning"].children)
    assert "ordered by importance" in shown
    small, _ = hc.load(tmp_path / "study-small")
    assert 0 < hc.read_anatomy(small).layout.count < 144
    assert {"entropy", "position", "links@pretrained"} <= set(study["measures"].children)
    assert "cosine" in study["compare"].children
    assert set(study["maps"].children) == {"pair-0", "pair-0-before", "pair-1", "pair-1-before"}
    assert "models" in study["cost"].children
    assert (tmp_path / "study.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"open {tmp_path / 'study.html'} in a browser" in shown
