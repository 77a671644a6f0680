"""From a key press to the answer: `headcount live` over HTTP, on the bundled model, beside the bars that it must meet.

    python benchmarks/live.py [--presses 60] [--decoder FOLDER] [--no-wide]

Each key press makes the text one letter longer (24 tokens at the end), with heads switched off and the map of a head,
so that nothing is repeated; the next one is typed when the answer is there. Then the sweep of one text, on the
bundled model and on a random one with 12 layers of 12 heads and 384 dimensions, and with --decoder the next tokens of
a causal language model and the first tokens of a continuation. On a busy machine times are longer: the load is
printed too.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import headcount as hc

QUESTION = "Who wrote the first novel about the island?"
ANSWER = "The first novel about it was written by Anna Lund."
PROMPT = "The first novel about the island was written by a woman who had lived there for many years, and it"
OFF = [{"heads": "L3H7, L5", "how": "uniform"}, {"heads": "L7H0-3", "strength": 0.5}]
MEDIAN, P95, NEXT_TOKEN, SWEEP = 0.150, 0.400, 0.700, 3.0
"""Seconds."""


@contextmanager
def served(model: str) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server of this model, in a process of its own."""
    program = "import sys; from headcount.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "live", model, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if found is None:
            sys.exit("the server did not start")
        yield http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=600)
    finally:
        process.terminate()
        process.wait()


def post(connection: http.client.HTTPConnection, path: str, fields: dict[str, Any]) -> http.client.HTTPResponse:
    connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(answer.read().decode())
    return answer


def timed(connection: http.client.HTTPConnection, path: str, fields: dict[str, Any], first: bool = False) -> float:
    """Seconds until the answer is read, or its first event."""
    start = time.perf_counter()
    answer = post(connection, path, fields)
    if first:
        answer.readline()
        found = time.perf_counter() - start
    answer.read()
    return found if first else time.perf_counter() - start


def typed(connection: http.client.HTTPConnection, texts: list[str], presses: int, **fields: Any) -> list[float]:
    """The seconds of each press while the last text is typed; the first ones, which warm up, are left out."""
    *before, last = texts
    lengths = [round(len(last) * (number + 1) / presses) for number in range(presses)]
    found = []
    for number, length in enumerate([*lengths[:5], *lengths]):
        seconds = timed(connection, "/api/answer", {"texts": [*before, last[: max(3, length)]], **fields})
        if number >= 5:
            found.append(seconds)
        time.sleep(1 / 30)  # the rate that the server takes, and more than anybody types
    return found


def show(what: str, seconds: float, bar: float) -> None:
    verdict = "within" if seconds <= bar else "ABOVE"
    print(f"  {what:<58} {seconds * 1000:7.0f} ms   {verdict} {bar * 1000:.0f} ms")


def show_typing(what: str, found: list[float], median: float, p95: float | None) -> None:
    show(f"{what}, median of {len(found)}", statistics.median(found), median)
    if p95 is not None:
        show(f"{what}, 95th percentile", statistics.quantiles(found, n=20)[-1], p95)


def swept(connection: http.client.HTTPConnection) -> float:
    return min(timed(connection, "/api/sweep", {"texts": [QUESTION, ANSWER]}) for _ in range(3))


def save_wide(folder: Path) -> str:
    """A random BERT of 12 x 12 heads and 384 dimensions with the bundled words."""
    tokenizer = AutoTokenizer.from_pretrained(hc.bundled())
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=60)
    parser.add_argument("--decoder", help="folder of a causal language model, such as one with 135 M parameters")
    parser.add_argument("--no-wide", action="store_true", help="leave out the model with 384 dimensions")
    options = parser.parse_args()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, {os.cpu_count()} cores{load}, torch {torch.__version__}")
    with served("bundled:qnli") as connection:
        presses = typed(connection, [QUESTION, ANSWER], options.presses, off=OFF, map="L6H2", client="tab")
        show_typing("key press to answer, bundled model", presses, MEDIAN, P95)
        show("which head matters here, 144 heads, bundled model", swept(connection), SWEEP)
    if not options.no_wide:
        with tempfile.TemporaryDirectory() as folder, served(save_wide(Path(folder))) as connection:
            show("which head matters here, 144 heads, 384 dimensions", swept(connection), SWEEP)
    if options.decoder is not None:
        with served(options.decoder) as connection:
            asked = {"off": [{"heads": "L3H1, L5"}], "client": "tab"}
            presses = typed(connection, [PROMPT], max(10, options.presses // 3), **asked)
            show_typing("key press to next tokens, decoder", presses, NEXT_TOKEN, None)
            first = timed(connection, "/api/continue", {"texts": [PROMPT], "new_tokens": 16, **asked}, first=True)
            show("first tokens of a continuation, decoder", first, NEXT_TOKEN)


if __name__ == "__main__":
    main()
