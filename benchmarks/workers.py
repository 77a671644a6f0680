"""A batch on each core against one batch on all cores: on an idle machine, and with a busy loop on each core.

    python benchmarks/workers.py [--pairs 96] [--repeats 3] [--work sweep measure importance] [--only-idle]

Both ways alternate in one run, on the bundled model and pairs; numbers are medians, ratios carry over to other
machines. `--pairs` should make several batches for each core: a lone batch has one core. Bars: on an idle machine a
batch on each core is not slower than one on all cores; with a busy loop on each core it takes at most 2.5 times the
idle time. The results of several workers and of one are compared, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import torch
import xarray as xr

import headcount as hc
from headcount.engines import workers
from headcount.zoo.bundled import bundled_pairs

spread = workers.spread
WAYS = {
    "a batch on each core": spread,
    "one batch on all cores": lambda work, items, at_once: spread(work, items, 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=96)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", nargs="*", default=["sweep", "measure", "importance"])
    parser.add_argument("--only-idle", action="store_true")
    options = parser.parse_args()
    model, tokenizer = hc.load(hc.bundled("qnli"))
    model.float()
    pairs = pd.read_json(bundled_pairs(), lines=True).head(options.pairs)
    works: dict[str, Callable[[], xr.Dataset]] = {
        "sweep": lambda: hc.sweep(model, tokenizer, pairs, task="qnli", how="zero"),
        "measure": lambda: hc.measure(
            model, tokenizer, pairs, text=("question", "sentence"), only=["position", "entropy", "contribution"]
        )["contribution"].to_dataset(),
        "importance": lambda: hc.importance(model, tokenizer, pairs, task="qnli"),
    }
    machine = f"{workers.count_cores()} cores, load {os.getloadavg()[0]:.1f} before the run, torch {torch.__version__}"
    print(f"{len(pairs)} pairs, {machine}")
    for name in options.work:
        work = works[name]
        check(work)
        idle = times(work, options.repeats)
        each, together = (idle[way] for way in WAYS)
        print(f"{name}, idle: {each:.2f} s and {together:.2f} s, ratio {each / together:.2f} (bar 1)", flush=True)
        if not options.only_idle:
            with busy_loops():
                busy = times(work, options.repeats)
            ratios = [busy[way] / idle[way] for way in WAYS]
            print(f"{name}, busy: {ratios[0]:.2f} (bar 2.5) and {ratios[1]:.2f} times the idle time", flush=True)


def check(work: Callable[[], xr.Dataset]) -> None:
    """The same bits from all workers and from one; also the warm-up."""
    several = work()
    with mock.patch.object(workers, "count_cores", return_value=1):
        alone = work()
    for name in several:
        np.testing.assert_array_equal(several[name].values, alone[name].values, err_msg=str(name))


def times(work: Callable[[], object], repeats: int) -> dict[str, float]:
    """The median of each way, in turns."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way, run in WAYS.items():
            with mock.patch.object(workers, "spread", run):
                start = time.perf_counter()
                work()
                seconds[way].append(time.perf_counter() - start)
    return {way: statistics.median(several) for way, several in seconds.items()}


@contextmanager
def busy_loops() -> Iterator[None]:
    """A process that never waits on each core."""
    code = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", code, str(core)]) for core in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    main()
