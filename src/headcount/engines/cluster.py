"""Ray on this machine, started and stopped here, or a cluster that runs elsewhere."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headcount.engines.workers import count_cores
from headcount.errors import ClusterProblem, MissingPackage

PATIENCE = 15.0
"""Seconds until a cluster that does not answer is given up."""
PORT = 6379
CHECK = "check the address, and that `ray status` shows the cluster there"


def import_ray() -> Any:
    """Ray, or one line that says how to install it."""
    # On this machine: tell nobody about it, and work as eagerly as any other program. A cluster decides for itself.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingPackage("engine='ray' needs Ray: pip install 'headcount[ray]'") from error
    return ray


def check_cluster(address: str | None) -> None:
    """An error where Ray is not installed, or where nobody answers at the address."""
    import_ray()
    if address is not None:
        _knock(address)


@contextmanager
def connected(address: str | None, workers: int | None = None) -> Iterator[Any]:
    """Ray, connected to the cluster at the address or, without one, started on this machine until the end.

    A connection that the program has already is used, and stays.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    if address is None:
        _start(ray, max(count_cores(), workers or 1))
    else:
        _connect(ray, address)
    try:
        with _own_output():
            yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, cores: int) -> None:
    try:
        with _own_signals():
            # "local": a new one, whatever else runs on this machine.
            own = {"address": "local", "num_cpus": cores, "_node_ip_address": "127.0.0.1"}
            ray.init(**own, include_dashboard=False, **_quiet())
    except Exception as error:
        raise ClusterProblem(f"Ray did not start on this machine: {message_lines(error)[0]}") from error


def _connect(ray: Any, address: str) -> None:
    """Ray waits for minutes where nothing answers; here it is seconds."""
    where = address if address == "auto" or ":" in address else f"{address}:{PORT}"
    problems: list[BaseException] = []

    def connect() -> None:
        try:
            ray.init(address=where, **_quiet())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            problems.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise ClusterProblem(f"the cluster at {address} did not answer within {PATIENCE:.0f} s; {CHECK}")
    if problems:
        raise ClusterProblem(
            f"cannot use the cluster at {address}: {message_lines(problems[0])[0]}; {CHECK}"
        ) from problems[0]


@contextmanager
def _own_output() -> Iterator[None]:
    """Ray writes about workers that end into the program's output, whatever it is asked: there may be JSON in it."""
    from ray._private import worker

    before = getattr(worker, "print_to_stdstream", None)
    if before is not None:
        worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        if before is not None:
            worker.print_to_stdstream = before


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray sets a handler of SIGTERM, which would end the program without a word about what was saved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _quiet() -> dict[str, Any]:
    logging.getLogger("ray").setLevel(logging.ERROR)
    return {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}


def _knock(address: str) -> None:
    """An error where nobody listens."""
    plain = address.removeprefix("ray://")
    if plain in ("auto", "local"):
        return
    host, _, port = plain.rpartition(":") if ":" in plain else (plain, "", PORT)
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE / 3).close()
    except (OSError, ValueError) as error:
        raise ClusterProblem(f"nothing answers at {address} ({error}); {CHECK}") from error


def message_lines(error: BaseException) -> list[str]:
    """The lines of an error's message; where a worker raised it, Ray puts its traceback there and the error last."""
    return [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
