"""A real server in a process of its own, and requests to it over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PROGRAM = "import sys; from headcount.cli.entry import main; sys.exit(main())"
JSON = {"Content-Type": "application/json"}


def hear_ctrl_c() -> None:
    """Where the tests run in the background of a shell, Ctrl-C is ignored, and so it would be by their processes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Server:
    process: subprocess.Popen[str]
    host: str
    port: int
    line: str

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        """Status, body (read as JSON where it is) and headers."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, {**(JSON if data is not None else {}), **(headers or {})})
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        is_json = (answer.headers["Content-Type"] or "").startswith("application/json")
        return answer.status, json.loads(said) if is_json else said, answer.headers

    def ask(self, path: str, **fields: Any) -> Any:
        """The answer to a request that is right."""
        status, found, _ = self.request("POST", path, fields)
        assert status == 200, found
        return found

    def stream(self, path: str, **fields: Any) -> list[tuple[str, Any]]:
        """The events of a request that is right."""
        return read_events(self.ask(path, **fields))

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Exit code and what was said on stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said


def read_events(said: str) -> list[tuple[str, Any]]:
    """The names and data of server-sent events."""
    return [(name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n\n", said)]


@contextmanager
def serving(*words: str) -> Iterator[Server]:
    """`headcount live` with these words; it is ended afterwards, whatever happened."""
    command = [sys.executable, "-c", PROGRAM, "live", *words, "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        found = re.search(r" is at http://([\w.-]+):(\d+)/", line)
        assert found, line + process.stderr.read()
        yield Server(process, "127.0.0.1", int(found[2]), line)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
