"""Promises of `headcount live`: clients do not see each other, memory stays flat, and each rule of safety holds.

The server is a real one, in a process of its own.
"""

from __future__ import annotations

import gc
import http.client
import json
import queue
import socket
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.live_server.answer import answer
from headcount.live_server.text_sweep import sweep_text
from headcount.live_server.worker import Worker
from tests import planted
from tests.live_server import small
from tests.live_server.server import JSON, Server, read_events, serving

HOSTILE = "</script><img src=x onerror=alert(1)> \u202e \u0000 ${7*7} good"
REQUESTS: list[dict[str, Any]] = [
    {"texts": ["so good"], "off": [{"heads": "L0H0"}], "map": "L0H1"},
    {"texts": ["so good"], "off": [{"heads": "L0H1", "how": "uniform"}], "map": "L0H1"},
    {"texts": ["it is bad up"], "map": "L1H0"},
    {"texts": ["good down"], "off": [{"heads": "L0", "strength": 0.5}, {"heads": "L1H1", "how": "uniform"}]},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The planted classifier with a study."""
    folder = tmp_path_factory.mktemp("private")
    planted.save(folder / "model")
    model, tokenizer = hc.load(folder / "model")
    hc.sweep(model, tokenizer, planted.texts(24), task="sst2", how="zero", out=folder / "study")
    with serving(str(folder / "model"), "--study", str(folder / "study")) as found:
        yield found


def without_time(found: Any) -> Any:
    return {key: value for key, value in found.items() if key not in ("milliseconds", "seconds")}


def test_requests_at_once_are_answered_as_one_after_the_other(server: Server) -> None:
    """Two tabs that switch off different heads, while a third one sweeps."""
    alone = [without_time(server.ask("/api/answer", **fields)) for fields in REQUESTS]
    swept = [without_time(event) for _, event in server.stream("/api/sweep", texts=["good down"])]
    assert alone[0]["questions"] != alone[1]["questions"], "they would notice each other"

    def ask(number: int) -> Any:
        return without_time(server.ask("/api/answer", client=f"tab-{number}", **REQUESTS[number % 4]))

    def sweep(number: int) -> Any:
        events = server.stream("/api/sweep", client=f"sweep-{number}", texts=["good down"])
        return [without_time(event) for _, event in events]

    with ThreadPoolExecutor(8) as together:
        sweeps = [together.submit(sweep, number) for number in range(4)]
        answers = [together.submit(ask, number) for number in range(16)]
        assert [each.result() for each in answers] == [alone[number % 4] for number in range(16)]
        assert all(each.result() == swept for each in sweeps)


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Over 500 requests of every kind through the worker, with texts and heads that change."""
    live, worker = small.planted_live(tmp_path), Worker()
    done: queue.Queue[Any] = queue.Queue()

    def run(number: int) -> None:
        heads = ["L0H0", "L0H1", "L1"][number % 3]
        how, strength = ["zero", "uniform", "mean"][number % 3], [1.0, 0.5][number % 2]
        text = " ".join([planted.WORDS[5 + number % 4], *["so"] * (number % 7)])
        off = [{"heads": heads, "how": how, "strength": strength}]
        asked = small.ask(live, text, off=off, map="L1H0", client="a")
        task = sweep_text if number % 50 == 0 else answer
        worker.submit(lambda: task(live, asked), done.put, asked.client)
        while (event := done.get(timeout=120)) is not None:
            assert isinstance(event, dict), event

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())

    for number in range(100):
        run(number)
    tracemalloc.start()
    before, held = tensors(), tracemalloc.get_traced_memory()[0]
    for number in range(500):
        run(number)
    after = tensors()
    more = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    worker.stop()
    assert after <= before
    assert more < 100_000, "200 bytes a request"


def test_a_foreign_page_gets_nothing(server: Server) -> None:
    for headers, code in (
        ({"Host": "evil.example"}, "host"),
        ({"Origin": "http://evil.example"}, "origin"),
        ({"Origin": "null"}, "origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "origin"),
    ):
        status, problem, _ = server.request("POST", "/api/answer", REQUESTS[0], headers)
        assert (status, problem["code"]) == (403, code)
        assert server.request("GET", "/api/study", headers=headers)[0] == 403
    status, problem, _ = server.request("POST", "/api/answer", REQUESTS[0], {"Content-Type": "text/plain"})
    assert (status, problem["code"]) == (415, "type")
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.request("POST", "/api/answer", REQUESTS[0], own)[0] == 200


def test_every_answer_has_strict_headers(server: Server) -> None:
    for path in ("/", "/api/model", "/nowhere"):
        _, _, headers = server.request("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Access-Control-Allow-Origin"] is None
        assert headers["Server"] is None


def test_hostile_text_is_text(server: Server) -> None:
    status, found, headers = server.request("POST", "/api/answer", {"texts": [HOSTILE]})
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    assert "good" in found["tokens"][""]
    status, problem, headers = server.request("POST", "/api/answer", {"texts": ["good"], "map": HOSTILE})
    assert status == 400
    assert headers["Content-Type"] == "application/json"
    assert "alert(1)" in problem["error"], "quoted, as text"


def test_limits_are_named(server: Server) -> None:
    status, problem, _ = server.request("POST", "/api/answer", {"texts": ["a" * 30_000]})
    assert (status, problem["error"]) == (
        413,
        "got 30,000 characters in a text; this server takes at most 20,000",
    )
    assert server.request("POST", "/api/answer", b" " * 400_000)[0] == 413
    assert server.ask("/api/answer", texts=["so " * 2000])["cut"] is True


def test_no_path_of_the_machine_is_told(server: Server) -> None:
    said = [
        server.request("GET", "/api/model")[1],
        server.request("GET", "/api/study")[1],
        server.request("GET", "/../../../etc/passwd")[1],
        server.request("POST", "/api/answer", {"texts": [3]})[1],
    ]
    text = json.dumps(said)
    for part in (str(Path.home()), "private", "/tmp", "/usr", "site-packages"):
        assert part not in text, part


def test_a_client_that_leaves_does_no_harm(server: Server) -> None:
    body = json.dumps({"texts": ["so good"], "client": "gone"}).encode()
    head = (
        f"POST /api/sweep HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    for _ in range(5):
        with socket.create_connection((server.host, server.port), timeout=60) as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
    events = read_events(server.ask("/api/sweep", texts=["so good"]))
    assert events[-1][0] == "done"
    assert server.process.poll() is None


def test_too_many_requests_are_told_to_wait(server: Server) -> None:
    """The last test of this server: its burst is used up."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=120)
    for _ in range(2000):
        connection.request("POST", "/api/answer", b"{", JSON)
        answered = connection.getresponse()
        answered.read()
        if answered.status == 429:
            break
        assert answered.status == 400
    assert answered.status == 429
    assert answered.headers["Retry-After"] == "1"
    connection.close()
