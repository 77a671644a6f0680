"""Ray on this machine: started for a while, without a trace in the program that uses it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headcount.engines.cluster import check_cluster, connected
from headcount.errors import ClusterProblem

PROGRAM = """
import json, os, signal, sys
from headcount.engines.engine import Ray
from headcount.engines.executors import current_executor
from headcount.engines.run import Unit

def mine(*_): ...

signal.signal(signal.SIGTERM, mine)
units = [Unit(number, number, number + 1, ("toy",)) for number in range(4)]
tried = sys.argv[1]  # a worker has arguments of its own

def work(unit):
    print("a worker's own output")
    if unit.number == 2 and not os.path.exists(tried):
        open(tried, "w").close()
        os._exit(1)
    return unit.start

import warnings
warnings.simplefilter("ignore")
with Ray(workers=1).running():
    import ray
    found = [done.result for done in current_executor().execute(units, work)]
    assert ray.is_initialized()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
assert not ray.is_initialized()
assert signal.getsignal(signal.SIGTERM) is mine
print(json.dumps(sorted(found)))
"""


def test_nothing_but_the_result_is_printed(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Not even where a worker dies: what a program prints may be JSON."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "tried")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout == "[0, 1, 2, 3]\n"
    assert ended.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["tried"], "a worker died, and left nothing else"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no.such.host.invalid", "127.0.0.1:port"])
def test_addresses_that_cannot_be(address: str) -> None:
    with pytest.raises(ClusterProblem, match=rf"nothing answers at {address} \(.*\); check the address"):
        check_cluster(address)


def test_a_connection_that_is_there_is_used_and_stays(two_workers) -> None:  # type: ignore[no-untyped-def]
    ray = two_workers.ray
    with connected(None) as same:
        assert same is ray
    assert ray.is_initialized()
