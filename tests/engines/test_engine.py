"""Which engine: its options, and what is said where it cannot be used."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

import headcount as hc
from headcount.engines.cluster import PATIENCE
from headcount.engines.compute import Compute, check_compute
from headcount.engines.engine import parse_engine, use_engine
from headcount.engines.executors import current_executor
from headcount.errors import ClusterProblem, InvalidOption, MissingPackage


def test_options_of_the_command_line() -> None:
    assert parse_engine(None, None, None, None) is None
    assert parse_engine("ray", "auto", 3, 0.5) == hc.Ray("auto", 3, 0.5)
    with pytest.raises(InvalidOption, match=r"got engine='slurm'; expected 'ray'"):
        parse_engine("slurm", None, None, None)
    with pytest.raises(InvalidOption, match=r"got workers=, which has no effect here"):
        parse_engine(None, None, 2, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 0}, "got workers=0; expected at least 1"),
        ({"gpus_per_worker": -1}, "got gpus_per_worker=-1; expected"),
        ({"gpus_per_worker": 1.5}, "got gpus_per_worker=1.5; expected a whole number, or a share"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        hc.Ray(**options)  # type: ignore[arg-type]


def test_an_engine_that_is_not_known() -> None:
    with pytest.raises(InvalidOption, match=r"got engine='dask'; expected 'ray'"), use_engine("dask"):
        pass


def test_inside_and_after() -> None:
    """Ray itself starts with the first unit, and not before."""
    with use_engine("ray"):
        assert current_executor().elsewhere
        with pytest.raises(InvalidOption, match="got shard=, which has no effect here: the workers of the engine"):
            check_compute(Compute(shard="1/2"), "study")
    assert not current_executor().elsewhere


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r"engine='ray' needs Ray: pip install 'headcount\[ray\]'"
    with pytest.raises(MissingPackage, match=said), use_engine("ray"):
        pass


def test_an_address_where_nobody_is() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ClusterProblem, match=rf"nothing answers at {address}"), use_engine(hc.Ray(address)):
        pass


PROGRAM = """
from headcount.engines.ray_executor import RayExecutor
list(RayExecutor({address!r}).execute([1], lambda unit: unit))
"""


def test_an_address_where_something_else_is() -> None:
    """A server that takes the connection and never says a word; in a process of its own, as Ray goes on knocking."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = PROGRAM.format(address=f"127.0.0.1:{server.getsockname()[1]}")
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
        )
    said = ended.stderr.strip().splitlines()[-1]
    assert said.startswith("headcount.errors.ClusterProblem: ")
    assert f"did not answer within {PATIENCE:.0f} s" in said or "cannot use the cluster" in said
    assert PATIENCE < 20
