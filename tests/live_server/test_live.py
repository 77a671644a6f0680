"""What `hc.live` refuses, and when it opens a browser."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.live_server import live as module
from headcount.live_server.live import open_browser
from tests import planted


def test_not_inside_an_event_loop(tmp_path: Path) -> None:
    async def run() -> None:
        hc.live(planted.classifier(), planted.tokenizer(tmp_path))

    with pytest.raises(hc.HeadcountError, match="run headcount live in a terminal"):
        asyncio.run(run())


def test_not_inside_an_intervention(tmp_path: Path) -> None:
    model = planted.classifier()
    with pytest.raises(hc.HeadcountError, match="leave the context"), hc.ablated(model, "L0H0"):
        hc.live(model, planted.tokenizer(tmp_path))


@pytest.mark.parametrize(
    ("variables", "opened"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, False)],
)
def test_a_browser_is_opened_where_there_is_a_screen(
    variables: dict[str, str], opened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module.sys, "platform", "linux")
    asked: list[str] = []
    done = threading.Event()

    def pretend(url: str) -> Any:
        asked.append(url)
        done.set()
        raise OSError("no browser")

    monkeypatch.setattr(module.webbrowser, "open", pretend)
    open_browser("http://127.0.0.1:1/")
    if opened:
        assert done.wait(60)
    assert asked == (["http://127.0.0.1:1/"] if opened else [])
