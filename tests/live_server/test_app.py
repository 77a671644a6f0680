"""The routes, called as a server calls them: statuses, events, limits, and a client that leaves."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headcount.live_server.app import make_app, to_json
from headcount.live_server.images import encode_image
from headcount.live_server.limits import Limits
from headcount.live_server.live_model import LiveModel
from headcount.live_server.worker import Worker
from tests.live_server import small
from tests.live_server.server import read_events

Call = Callable[..., tuple[int, Any]]


async def called(app: Any, method: str, path: str, body: bytes, leave: bool) -> tuple[int, bytes]:
    incoming = [{"type": "http.request", "body": body, "more_body": False}]
    gone, sent = asyncio.Event(), []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop(0)
        if not leave:
            await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost:1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    await app({**scope, "headers": headers, "client": ("127.0.0.1", 1), "root_path": ""}, receive, send)
    status = next(message["status"] for message in sent if "status" in message)
    return status, b"".join(message.get("body", b"") for message in sent)


def caller(live: LiveModel, worker: Worker) -> Call:
    app = make_app(live, worker)

    def call(path: str, fields: Any = None, method: str | None = None, leave: bool = False) -> tuple[int, Any]:
        body = b"" if fields is None else fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        verb = method or ("GET" if fields is None else "POST")
        status, said = asyncio.run(called(app, verb, path, body, leave))
        return status, json.loads(said) if said.startswith(b"{") else said.decode()

    return call


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.fixture
def call(tmp_path: Path, worker: Worker) -> Call:
    return caller(small.planted_live(tmp_path), worker)


def test_the_routes(call: Call) -> None:
    assert "<title>Headcount live</title>" in call("/")[1]
    assert "npm run build" in call("/live.js")[1]
    assert ":root" in call("/page.css")[1]
    assert ".live" in call("/live.css")[1]
    assert call("/api/model")[1]["kind"] == "classification"
    assert call("/api/study") == (404, {"error": "the server was started without --study", "code": "no-study"})
    status, found = call("/api/answer", {"texts": ["so good"], "off": [{"heads": "L0H0"}]})
    assert (status, found["questions"][0]["changed"]) == (200, True)


def test_events_end_with_done(call: Call) -> None:
    status, said = call("/api/sweep", {"texts": ["so good"]})
    events = read_events(said)
    assert status == 200
    assert [name for name, _ in events] == ["step"] * 4 + ["done"]
    assert events[0][1]["name"] == "positive"
    assert [event["layer"] for _, event in events[1:3]] == [0, 1]


@pytest.mark.parametrize("path", ["/api/answer", "/api/sweep", "/api/continue"])
def test_what_is_wrong_has_a_status(path: str, call: Call) -> None:
    assert call(path, b"{")[0] == 400
    assert call(path, {"texts": []})[0] == 400
    status, problem = call(path, {"texts": ["good"], "off": [{"heads": "L7"}]})
    assert (status, problem["code"]) == (400, "invalid")
    assert "layers L0 to L1" in problem["error"]
    assert call(path, {"texts": [""]})[0] == 400


def test_unknown_routes(call: Call) -> None:
    status, problem = call("/api/answers", {"texts": ["good"]})
    assert status == 404
    assert "POST /api/answer" in problem["error"]
    assert call("/api/answer")[0] == 405
    assert call("/../../etc/passwd")[0] == 404


def test_too_much_is_refused(tmp_path: Path, worker: Worker) -> None:
    call = caller(small.planted_live(tmp_path, limits=Limits(body=1000)), worker)
    status, problem = call("/api/answer", b" " * 2000)
    assert (status, problem["code"]) == (413, "too-much")


def test_images_have_limits_of_their_own(tmp_path: Path, worker: Worker) -> None:
    """A file of a megabyte is no text that is too long; what is larger, or no image, is told so."""
    live = small.vision(tmp_path)
    call = caller(live, worker)
    noise = np.random.default_rng(0).integers(0, 255, (600, 600, 3), np.uint8)
    url = encode_image(pytest.importorskip("PIL.Image").fromarray(noise))
    assert len(url) > 1_000_000
    assert call("/api/answer", {"texts": [url]})[0] == 200
    status, problem = call("/api/answer", {"texts": [url * 2]})
    assert (status, problem["code"]) == (413, "too-much")
    assert "2,800,000" in problem["error"]
    status, problem = call("/api/answer", {"texts": ["data:image/png;base64,PHN2Zz4="]})
    assert (status, problem["code"]) == (400, "invalid")
    assert "damaged" in problem["error"]
    assert call("/api/answer", {"texts": [url, url]})[0] == 400
    assert "writes no text" in call("/api/continue", {"texts": [url]})[1]["error"]


def test_a_failure_says_nothing_of_the_machine(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise FileNotFoundError("/home/me/secret")

    monkeypatch.setattr(LiveModel, "read", fails)
    status, problem = call("/api/answer", {"texts": ["good"]})
    assert (status, problem["code"]) == (500, "failed")
    assert "secret" not in problem["error"]


def test_a_failure_behind_the_first_event_is_an_event(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("headcount.live_server.text_sweep._layer", fails)
    events = read_events(call("/api/sweep", {"texts": ["good"]})[1])
    assert [name for name, _ in events] == ["step", "error"]
    assert events[1][1]["code"] == "failed"


def test_a_client_that_leaves_cancels_its_request(call: Call, worker: Worker) -> None:
    held, reached = threading.Event(), threading.Event()

    def gate() -> Iterator[dict[str, Any]]:
        reached.set()
        held.wait(60)
        yield {}

    worker.submit(gate, lambda event: None)
    reached.wait(60)
    assert call("/api/answer", {"texts": ["good"]}, leave=True) == (200, {})
    assert all(job.cancelled.is_set() for job in worker.quick)
    before = worker.steps
    held.set()
    worker.stop()
    assert worker.steps <= before + 1, "only the end of the gate"


def test_numbers_that_are_not_finite_are_null() -> None:
    assert (
        to_json({"a": [float("nan"), float("-inf"), 1.5], "b": "</script>"}) == '{"a":[null,null,1.5],"b":"</script>"}'
    )
