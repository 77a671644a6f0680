"""`headcount live`: Ctrl-C ends it with one line, and what cannot be served is refused with one."""

from __future__ import annotations

import http.client
import json
import signal

import pytest

from headcount.cli.main import main
from headcount.cli.stopping import stopped_line
from headcount.live_server.address import take_address
from tests import planted
from tests.live_server.server import JSON, serving

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(planted.save(tmp_path_factory.mktemp("planted") / "model"))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["live", *words]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    (line,) = shown.err.splitlines()
    return line


def test_what_cannot_be_served(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "add --token" in refused(capsys, model, "--host", "0.0.0.0")
    assert "--port" in refused(capsys, model, "--port", "70000")
    assert "expected a folder with config.json" in refused(capsys, "/nothing/here")
    with take_address() as taken:
        assert f"--port {taken.port} is taken" in refused(capsys, model, "--port", str(taken.port))
    assert "is not a study" in refused(capsys, model, "--study", model)


def test_ctrl_c_ends_it_with_one_line(model: str) -> None:
    with serving(model) as server:
        assert server.line.startswith("model is at http://127.0.0.1:"), "the folder's own name alone"
        waiting = http.client.HTTPConnection(server.host, server.port, timeout=120)
        waiting.request("POST", "/api/sweep", json.dumps({"texts": ["so good"]}), JSON)
        code, said = server.stop(signal.SIGINT)
        waiting.close()
        assert code == 130
        (line,) = said.splitlines()
        assert line.startswith("headcount: stopped, the page answers no more; to start again: headcount live ")
        with take_address(port=server.port):  # nobody holds the port any more
            pass


def test_it_is_ended_by_the_system_too(model: str) -> None:
    with serving(model, "--token", TOKEN) as server:
        assert server.request("GET", "/api/model")[0] == 401
        assert server.request("GET", "/api/model", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
        assert f"/#token={TOKEN}" in server.line
        code, said = server.stop(signal.SIGTERM)
    assert code == 143
    assert len(said.splitlines()) == 1


def test_the_line_of_a_stopped_server() -> None:
    assert stopped_line(["live"]) == "stopped, the page answers no more; to start again: headcount live"
