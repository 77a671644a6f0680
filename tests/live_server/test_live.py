"""What `hc.live` refuses, and when it opens a browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.live_server import live as module
from headcount.live_server.address import take_address
from headcount.live_server.live import open_browser, serve
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


def test_a_lost_gpu_ends_the_server_with_one_line(tmp_path: Path) -> None:
    """The request is answered, then the server stops, and its port is free again."""
    model = planted.classifier()
    ended, ready = list[BaseException](), threading.Event()

    def lose(*_: Any) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be ...")

    def run() -> None:
        try:
            serve(model, planted.tokenizer(tmp_path), address, browser=False, say=lambda line: ready.set())
        except hc.HeadcountError as error:
            ended.append(error)

    with take_address() as address:
        thread = threading.Thread(target=run)
        thread.start()
        assert ready.wait(120)
        port = address.port
        hook = model.register_forward_pre_hook(lose)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("POST", "/api/answer", b'{"texts": ["so good"]}', {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (500, "failed")
        connection.close()
        thread.join(120)
        hook.remove()
    assert not thread.is_alive()
    (error,) = ended
    assert "the device failed and is of no use to this process" in str(error)
    assert "(CUDA error: an illegal memory access was encountered); start again" in str(error), "its first line alone"
    with take_address(port=port):
        pass


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
