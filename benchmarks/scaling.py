"""How sweeps scale with Ray workers: measured on this machine, and simulated for up to 1,024 workers.

    python benchmarks/scaling.py [--limit 64] [--workers 1 2] [--repeats 3] [--json costs.json]
    python benchmarks/scaling.py --gpus-per-worker 1 0.5 0.25 --limit 2048        # 1, 2 and 4 workers on each GPU
    python benchmarks/scaling.py --simulate [--costs costs.json] [--batches 20000] [--units 64] [--gbit 10]

The first form sweeps the bundled model in this process and on Ray workers, with one thread for each worker and as many
cores for this process as there are workers, in turns; numbers are medians, ratios carry over to other machines. Bars:
two workers are at least 1.7 times as fast as one, and Ray takes at most 1.1 times as long as this process, without its
start. The results of all are compared. It then measures what a call, a result, a unit and the weights cost, and writes
these costs to `--json`.

The simulation runs Headcount's own dispatch (`engines/ray_dispatch.py`) with a clock in place of Ray: batches take the
seconds that they took on a worker, everything that the driver does takes the seconds that it took here, and bytes pass
through one network link of the driver. It starts when the processes of the workers are there. Without `--costs` the
costs are measured first. Not simulated: failures, and the latency of the network, which a worker does not wait for, as
its next call is there already.
"""

from __future__ import annotations

import argparse
import dataclasses
import heapq
import itertools
import json
import math
import os
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
import xarray as xr

import headcount as hc
from headcount.core.provenance import origin_of
from headcount.core.results import ArrayPlan
from headcount.engines import ray_dispatch
from headcount.engines.executors import Done, Executor, ThisProcess, executing
from headcount.engines.parcel import Parcel, pack
from headcount.engines.ray_dispatch import Dispatch, WorkerHandle
from headcount.engines.ray_executor import RayExecutor
from headcount.engines.ray_worker import Answer
from headcount.engines.run import Run
from headcount.engines.sinks import FolderSink
from headcount.engines.torch_modes import TorchModes
from headcount.engines.worker_plan import WorkerPlan
from headcount.engines.workers import Batched, as_batched, count_cores

WORKERS = [2**power for power in range(11)]
"""Numbers of workers that are simulated."""
EFFICIENT = 0.8
CALLS = 1536
"""Calls that the costs of a call are measured over."""
FEW, MANY = 32, 512
"""Numbers of workers, as the driver sees them, for what each of them adds to the cost of a call."""
TIMES = 512
"""How much larger a unit is made, to measure what saving each byte costs."""
SAVES = 7


@dataclass(frozen=True)
class Costs:
    """What the simulation knows of a machine and a sweep, all of it measured."""

    machine: str
    batch_s: list[float]
    """Of each batch of the sweep, on a worker."""
    batch_bytes: float
    """Of a batch, as it is sent."""
    result_bytes: float
    """Of the result of a batch, as it comes back."""
    weights_bytes: float
    code_bytes: float
    start_s: float
    """From the start of Ray until the first worker has its model."""
    pack_s: float
    put_s: float
    """The weights into the object store."""
    take_s: float
    """Until a worker that is there has fetched the weights and has its model."""
    submit_s: float
    """Of the driver for each call."""
    receive_s: float
    """Of the driver for each answer."""
    hand_s: float
    """Of the driver for each answer and each worker that it waits for."""
    call_s: float
    """Until a call that does nothing is answered, with others on the way."""
    sized_call_s: float
    """The same with a batch and a result of the sweep's sizes."""
    empty_unit_s: float
    """Of a unit that does nothing, sent as units are: several in a call."""
    join_s: float
    """Of the driver for each batch of a unit that is complete."""
    save_s: float
    """Of the driver for each unit, besides its bytes."""
    save_byte_s: float


# --- Measured -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """Where a sweep runs: in this process on some cores, or on some Ray workers."""

    workers: int
    ray: bool
    gpus: float = 0

    def __str__(self) -> str:
        where = f", {self.gpus:g} GPUs each" if self.gpus else ""
        several = "s" if self.workers > 1 else ""
        if self.ray:
            return f"Ray, {self.workers} worker{several}{where}"
        return f"this process, {self.workers} core{several}"


@dataclass
class Stopwatch:
    """An executor that leaves the work to another one, and notes how long it takes and what is sent."""

    inner: Executor
    units: int = 0
    seconds: float = 0.0
    """From the first call to the last unit that is saved."""
    batch_s: list[float] = field(default_factory=list)
    join_s: float = 0.0
    work: Batched | None = None
    batch: Any = None
    part: Any = None
    unit: Any = None
    """The result of a unit."""

    @property
    def elsewhere(self) -> bool:
        return self.inner.elsewhere

    def mine(self, numbers: Iterable[int]) -> list[int]:
        return self.inner.mine(numbers)

    def execute(self, units: list[Any], work: Callable[[Any], Any]) -> Generator[Done]:
        batched = as_batched(work)
        self.units, self.work, self.batch = len(units), batched, batched.split(units[0])[0]
        timed = dataclasses.replace(batched, work=partial(run_timed, batched.work), join=self._join)
        start = time.perf_counter()
        with closing(self.inner.execute(units, timed)) as results:
            for done in results:
                self.unit = done.result
                yield done
        self.seconds = time.perf_counter() - start

    def _join(self, unit: Any, parts: list[tuple[Any, float]]) -> Any:
        assert self.work is not None
        self.batch_s += [seconds for _, seconds in parts]
        self.part = parts[0][0]
        start = time.thread_time()
        joined = self.work.join(unit, [part for part, _ in parts])
        self.join_s += time.thread_time() - start
        return joined


def run_timed(work: Callable[[Any], Any], batch: Any) -> tuple[Any, float]:
    """On a worker: the result, and the seconds."""
    start = time.perf_counter()
    result = work(batch)
    return result, time.perf_counter() - start


def give_bytes(size: int, batch: Any) -> np.ndarray:
    """On a worker: work that takes no time."""
    return np.zeros(size, np.uint8)


def count_weights(model: Any, unit: Any) -> int:
    """On a worker: nothing, but it needs the model."""
    return sum(1 for _ in model.parameters())


@dataclass
class Bench:
    """The sweep that is timed."""

    model: Any
    tokenizer: Any
    limit: int

    def sweep(self, executor: Executor) -> tuple[xr.Dataset, Stopwatch, float]:
        """The result, what the stopwatch has noted, and the seconds of the whole call."""
        watch = Stopwatch(executor)
        with tempfile.TemporaryDirectory() as folder, executing(watch):
            start = time.perf_counter()
            result = hc.sweep(
                self.model, self.tokenizer, "bundled:pairs", task="qnli", limit=self.limit, out=f"{folder}/study"
            ).load()
            return result, watch, time.perf_counter() - start


@contextmanager
def running(way: Way, model: Any) -> Iterator[tuple[Executor, float]]:
    """The executor of a way, and the seconds until its first worker has the model."""
    cores = torch.get_num_threads()
    if not way.ray:
        torch.set_num_threads(way.workers)
        try:
            yield ThisProcess(), 0.0
        finally:
            torch.set_num_threads(cores)
        return
    executor = RayExecutor(None, way.workers, way.gpus)
    executor.plan = WorkerPlan(way.workers, 1, way.gpus)  # one thread, where a lone worker would get all cores
    try:
        start = time.perf_counter()
        with closing(executor.execute(list(range(4 * way.workers)), partial(count_weights, model))) as results:
            next(results)
            seconds = time.perf_counter() - start
            list(results)
        yield executor, seconds
    finally:
        executor.close()


def compare(bench: Bench, ways: Sequence[Way], repeats: int) -> dict[Way, dict[str, float]]:
    """The medians of each way, in turns; their results are equal, to float tolerance."""
    found: dict[Way, list[dict[str, float]]] = {way: [] for way in ways}
    first: xr.Dataset | None = None
    for _ in range(repeats):
        for way in ways:
            with running(way, bench.model) as (executor, start):
                bench.sweep(executor)  # the weights are there, and torch is warm
                result, watch, whole = bench.sweep(executor)
            first = result if first is None else first
            for name in ("logits", "baseline_logits", "score", "delta"):
                np.testing.assert_allclose(result[name].values, first[name].values, rtol=1e-4, atol=1e-4, err_msg=name)
            found[way].append({"start": start, "units": watch.seconds, "whole": whole})
    return {
        way: {key: statistics.median(one[key] for one in several) for key in several[0]}
        for way, several in found.items()
    }


def report_ways(times: dict[Way, dict[str, float]]) -> None:
    print(f"{'':<36}{'start, s':>10}{'units, s':>10}{'whole call, s':>15}")
    for way, one in times.items():
        print(f"{way!s:<36}{one['start']:>10.2f}{one['units']:>10.2f}{one['whole']:>15.2f}")
    remote = [way for way in times if way.ray]
    for way in remote[1:]:
        alone = remote[0]
        bar = " (bar 1.7)" if not way.gpus and (alone.workers, way.workers) == (1, 2) else ""
        print(f"{way}: {times[alone]['units'] / times[way]['units']:.2f} times as fast as {alone}{bar}")
    for way in remote:
        here = next((one for one in times if not one.ray and (way.gpus or one.workers == way.workers)), None)
        if here is not None:
            print(f"{way}: {times[way]['whole'] / times[here]['whole']:.2f} times as long as {here} (bar 1.1)")


def measure_costs(bench: Bench, gpus: float) -> tuple[Costs, Stopwatch]:
    """What a sweep costs on one worker, and what the driver does for it."""
    with running(Way(1, True, gpus), bench.model) as (executor, start):
        assert isinstance(executor, RayExecutor)
        bench.sweep(executor)
        result, watch, _ = bench.sweep(executor)
        assert watch.work is not None
        begin = time.perf_counter()
        parcel = pack(watch.work.work)
        pack_s = time.perf_counter() - begin
        put_s, take_s = measure_weights(executor, parcel)
        size = len(pickle.dumps(watch.part))
        submit_s = measure_submit(executor, watch.batch)
        few, _ = measure_calls(executor, FEW, watch.batch, size)
        many, _ = measure_calls(executor, MANY, watch.batch, size)
        _, sized_call_s = measure_calls(executor, 1, watch.batch, size)
        _, call_s = measure_calls(executor, 1, 0, 8)
        hand_s = max(0.0, (many - few) / (MANY - FEW))
        save_s, save_byte_s = measure_save(result, watch.unit)
        costs = Costs(
            machine=describe_machine(),
            batch_s=watch.batch_s,
            batch_bytes=len(pickle.dumps(watch.batch)),
            result_bytes=size,
            weights_bytes=sum(array.nbytes for array in parcel.weights.values()),
            code_bytes=len(parcel.code),
            start_s=start,
            pack_s=pack_s,
            put_s=put_s,
            take_s=take_s,
            submit_s=submit_s,
            receive_s=max(0.0, few - FEW * hand_s - submit_s),
            hand_s=hand_s,
            call_s=call_s,
            sized_call_s=sized_call_s,
            empty_unit_s=measure_units(executor),
            join_s=watch.join_s / len(watch.batch_s),
            save_s=save_s,
            save_byte_s=save_byte_s,
        )
    return costs, watch


def measure_weights(executor: RayExecutor, parcel: Parcel) -> tuple[float, float]:
    """Seconds to put weights into the object store, and until a worker without weights has its model again."""
    ray, actor, modes = executor.ray, executor.handles[0].actor, TorchModes.here()
    start = time.perf_counter()
    sent = [ray.put(array) for array in parcel.weights.values()]
    put_s = time.perf_counter() - start
    code, digests = ray.put(parcel.code), list(parcel.weights)
    ray.get(actor.take.remote(ray.put(pack(partial(give_bytes, 8)).code), [], modes, []))  # empties its shelf
    start = time.perf_counter()
    ray.get(actor.take.remote(code, digests, modes, digests, *sent))
    return put_s, time.perf_counter() - start


def measure_submit(executor: RayExecutor, batch: Any) -> float:
    """Seconds of the driver's thread to send a batch."""
    actor = executor.handles[0].actor
    executor.ray.get(actor.take.remote(pack(partial(give_bytes, 8)).code, [], TorchModes.here(), []))
    start = time.thread_time()
    sent = [actor.run.remote([batch]) for _ in range(CALLS)]
    seconds = (time.thread_time() - start) / CALLS
    executor.ray.get(sent)
    return seconds


def measure_calls(executor: RayExecutor, handles: int, batch: Any, size: int) -> tuple[float, float]:
    """For each call of one batch: CPU seconds of the driver, and seconds until it is answered.

    The driver has so many workers to wait for; all of them are one process. Ray's own threads count as if they never
    ran at the same time as the driver's.
    """
    handle = executor.handles[0]
    executor.handles = [WorkerHandle(handle.actor, handle.hello, handle.place) for _ in range(handles)]
    executor.plan = WorkerPlan(handles, 1, 0)
    begin, start = time.process_time(), time.perf_counter()
    with mock.patch.object(ray_dispatch, "CALL", 1e-12):  # one batch in a call
        for _ in executor.execute([batch] * CALLS, partial(give_bytes, size)):
            pass
    calls = CALLS + handles  # each is also given the work
    found = (time.process_time() - begin) / calls, (time.perf_counter() - start) / calls
    executor.handles, executor.plan = [WorkerHandle(handle.actor, handle.hello, handle.place)], WorkerPlan(1, 1, 0)
    return found


def measure_units(executor: RayExecutor) -> float:
    start = time.perf_counter()
    for _ in executor.execute([0] * CALLS, partial(give_bytes, 8)):
        pass
    return (time.perf_counter() - start) / CALLS


def measure_save(result: xr.Dataset, unit: dict[str, dict[str, np.ndarray]]) -> tuple[float, float]:
    """Seconds to save a unit of the sweep into a study: for each unit, and for each byte."""
    ((group, arrays),) = unit.items()
    axes = {name: result[name].dims.index("example") for name in arrays}
    count = next(values.shape[axes[name]] for name, values in arrays.items())
    seconds, sizes = [], []
    for times in (1, TIMES):
        larger = {name: np.concatenate([values] * times, axes[name]) for name, values in arrays.items()}
        plans = {
            name: ArrayPlan(
                tuple(map(str, result[name].dims)),
                tuple(SAVES * length if axis == axes[name] else length for axis, length in enumerate(values.shape)),
                str(values.dtype),
            )
            for name, values in larger.items()
        }
        units = [(number * count * times, (number + 1) * count * times) for number in range(SAVES)]
        run = Run(group, origin_of(result.attrs), {}, {}, lambda _: {}, plans, {}, units)
        with tempfile.TemporaryDirectory() as folder:
            sink, found = FolderSink(run, f"{folder}/study"), []
            for number in range(SAVES):
                start = time.perf_counter()
                sink.save(number, larger)
                found.append(time.perf_counter() - start)
        seconds.append(statistics.median(found))
        sizes.append(sum(values.nbytes for values in larger.values()))
    slope = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return max(0.0, seconds[0] - slope * sizes[0]), slope


def describe_machine() -> str:
    gpu = f", {torch.cuda.device_count()} x {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return f"{count_cores()} cores{gpu}, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}"


def report_costs(costs: Costs) -> None:
    """One line for each cost."""
    batch = statistics.mean(costs.batch_s)
    driver = costs.submit_s + costs.receive_s
    lines = {
        "a batch of the sweep on a worker": f"{batch * 1e3:.1f} ms ({len(costs.batch_s)} batches)",
        "a call that does nothing": f"{costs.call_s * 1e3:.2f} ms",
        "a call with the sweep's batch and result": f"{costs.sized_call_s * 1e3:.2f} ms, {costs.batch_bytes:.0f} bytes "
        f"there and {costs.result_bytes:.0f} back",
        "a unit that does nothing, several in a call": f"{costs.empty_unit_s * 1e3:.3f} ms",
        "the driver for each call": f"{driver * 1e3:.2f} ms, and {costs.hand_s * 1e6:.1f} us for each worker",
        "join a batch": f"{costs.join_s * 1e3:.3f} ms",
        "save a unit": f"{costs.save_s * 1e3:.1f} ms, and {costs.save_byte_s * 1e9:.2f} s for each GB",
        "pack the work": f"{costs.pack_s * 1e3:.1f} ms, {costs.code_bytes:.0f} bytes and "
        f"{costs.weights_bytes / 1e6:.1f} MB of weights",
        "put the weights into the object store": f"{costs.put_s * 1e3:.1f} ms",
        "fetch them and build the model": f"{costs.take_s * 1e3:.1f} ms",
        "start Ray, until a worker has its model": f"{costs.start_s:.1f} s",
    }
    print("\n".join(f"{name:<46}{cost}" for name, cost in lines.items()))
    calls = math.ceil(ray_dispatch.CALL / batch)
    print(
        f"Batches in a call, so that it takes {ray_dispatch.CALL:g} s: {calls}; "
        f"sending them costs {costs.sized_call_s / (calls * batch):.2%} of their time (bar 5 %)"
    )


# --- Simulated ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """The driver's link, in both directions alike, and how many workers share what a node has received."""

    bytes_per_s: float = 10e9 / 8
    per_node: int = 8


@dataclass(eq=False)
class Sent:
    """A call; its answer is with the driver at `arrival`."""

    answer: Any
    size: float
    arrival: float = math.inf


class SimulatedRay:
    """What the dispatch uses of Ray, with a clock: what takes time moves the clock on, and nothing else happens."""

    exceptions = None

    def __init__(self, costs: Costs, network: Network) -> None:
        self.costs, self.network = costs, network
        self.now = 0.0
        self.driver_s = 0.0
        """The seconds in which the driver's thread has worked."""
        self.in_free = self.out_free = 0.0
        """When the link has carried all that was given to it."""
        self.in_s = self.out_s = 0.0
        self.traffic = 0.0
        self.kept = self.most_kept = 0.0
        """Bytes of results that wait for the rest of their unit."""
        self.has_weights: dict[int, float] = {}
        """When each node has the weights."""
        self.finishing: list[tuple[float, int, Sent]] = []
        self.numbers = itertools.count()

    def spend(self, seconds: float) -> None:
        """Time of the driver."""
        self.now += seconds
        self.driver_s += seconds

    def keep(self, size: float) -> None:
        self.kept += size
        self.most_kept = max(self.most_kept, self.kept)

    def send(self, size: float) -> float:
        """When bytes that leave the driver now have arrived."""
        seconds = size / self.network.bytes_per_s
        self.out_free = max(self.out_free, self.now) + seconds
        self.out_s += seconds
        self.traffic += size
        return self.out_free

    def finish(self, at: float, sent: Sent) -> Sent:
        """A worker has its answer."""
        heapq.heappush(self.finishing, (at, next(self.numbers), sent))
        return sent

    def _deliver(self) -> None:
        """Answers that are finished enter the link in their order."""
        while self.finishing and self.finishing[0][0] <= self.now:
            at, _, sent = heapq.heappop(self.finishing)
            seconds = sent.size / self.network.bytes_per_s
            self.in_free = sent.arrival = max(self.in_free, at) + seconds
            self.in_s += seconds
            self.traffic += sent.size

    def put(self, thing: Any) -> None:
        """Its time is counted when the work is packed."""

    def wait(self, calls: list[Sent], num_returns: int, timeout: float) -> tuple[list[Sent], list[Sent]]:
        """As Ray does, the first of the list that is there, even if another one has been there for longer."""
        self.spend(self.costs.hand_s * len(calls))
        until = self.now + timeout
        while True:
            self._deliver()
            for sent in calls:
                if sent.arrival <= self.now:
                    return [sent], []
            arriving = min(sent.arrival for sent in calls)
            self.now = min(arriving, self.finishing[0][0] if self.finishing else math.inf, until)
            if self.now == until:
                return [], calls

    def get(self, sent: Sent) -> Any:
        self.spend(self.costs.receive_s)
        self.keep(sent.size)
        return sent.answer


class SimulatedWorker:
    """A batch is the seconds that it takes, and its result the bytes that it has."""

    def __init__(self, ray: SimulatedRay, number: int) -> None:
        self.ray, self.node, self.free = ray, number // ray.network.per_node, 0.0
        self.take, self.run = SimpleNamespace(remote=self._take), SimpleNamespace(remote=self._run)

    def _take(self, *_: Any) -> Sent:
        ray, costs = self.ray, self.ray.costs
        ray.spend(costs.submit_s)
        if self.node not in ray.has_weights:  # the first worker of a node fetches them for all
            ray.has_weights[self.node] = ray.send(costs.weights_bytes + costs.code_bytes)
        self.free = max(self.free, ray.has_weights[self.node]) + costs.take_s
        return ray.finish(self.free, Sent(None, 0))

    def _run(self, batches: list[float]) -> Sent:
        ray, costs = self.ray, self.ray.costs
        ray.spend(costs.submit_s)
        arrived = ray.send(costs.batch_bytes * len(batches))
        seconds = sum(batches)
        self.free = max(self.free, arrived) + costs.sized_call_s + seconds
        answer = Answer([costs.result_bytes] * len(batches), seconds)
        return ray.finish(self.free, Sent(answer, costs.result_bytes * len(batches)))


@dataclass(frozen=True)
class Simulated:
    """A run on so many workers."""

    workers: int
    nodes: int
    seconds: float
    work_s: float
    """Of all batches, one after the other."""
    driver_s: float
    network_s: float
    traffic: float
    memory: float
    """Bytes: the model and its copy in the object store, results that wait for their unit, and all results in the end,
    when statistics are computed from them."""
    limit: str = ""

    @property
    def efficiency(self) -> float:
        return self.work_s / (self.workers * self.seconds)


def simulate(costs: Costs, workers: int, batches: int, units: int, network: Network | None = None) -> Simulated:
    """A sweep of so many batches, whose times are those that were measured, again and again, longest first."""
    network = network or Network()
    found = simulate_once(costs, workers, batches, units, network)
    if found.efficiency >= EFFICIENT:
        return dataclasses.replace(found, limit="workers")
    if simulate_once(free_of_charge(costs), workers, batches, units, Network(math.inf)).efficiency < EFFICIENT:
        return dataclasses.replace(found, limit="too few batches")
    return dataclasses.replace(
        found, limit="driver CPU" if found.driver_s > found.network_s else "network of the driver"
    )


def free_of_charge(costs: Costs) -> Costs:
    """The same batches, where nothing else takes time."""
    names = [each.name for each in dataclasses.fields(costs) if each.name.endswith("_s") and each.name != "batch_s"]
    nothing: dict[str, Any] = dict.fromkeys(names, 0.0)
    return dataclasses.replace(costs, **nothing)


def simulate_once(costs: Costs, workers: int, batches: int, units: int, network: Network) -> Simulated:
    ray = SimulatedRay(costs, network)
    seconds = sorted(itertools.islice(itertools.cycle(costs.batch_s), batches), reverse=True)
    ends = [batches * number // units for number in range(units + 1)]
    handles = [WorkerHandle(SimulatedWorker(ray, number), None, "there") for number in range(min(workers, batches))]

    def join(unit: int, parts: list[float]) -> float:
        ray.spend(costs.join_s * len(parts))
        ray.keep(-sum(parts))
        return sum(parts)

    work = Batched(lambda unit: seconds[ends[unit] : ends[unit + 1]], float, join)
    executor: Any = SimpleNamespace(
        ray=ray, handles=handles, plan=WorkerPlan(workers, 1, 1), works=1, sent={}, versions={}
    )
    ray.spend(costs.pack_s + costs.put_s)
    for done in Dispatch(executor, work, list(range(units)), Parcel(b"", {})).results():
        ray.spend(costs.save_s + costs.save_byte_s * done.result)
    memory = 2 * costs.weights_bytes + ray.most_kept + batches * costs.result_bytes
    nodes = math.ceil(len(handles) / network.per_node)
    return Simulated(
        workers, nodes, ray.now, math.fsum(seconds), ray.driver_s, ray.in_s + ray.out_s, ray.traffic, memory
    )


def report_simulation(costs: Costs, batches: int, units: int, network: Network) -> None:
    print(f"Costs measured on: {costs.machine}")
    print(
        f"{batches} batches of {statistics.mean(costs.batch_s):.3f} s in {units} units, "
        f"{network.bytes_per_s * 8 / 1e9:g} Gbit/s at the driver, {network.per_node} workers on a node"
    )
    print(
        f"{'workers':>7}{'nodes':>6}{'seconds':>11}{'efficiency':>11}{'driver busy':>12}{'network busy':>13}"
        f"{'traffic, GB':>12}{'driver, GB':>11}  limit"
    )
    below = None
    for workers in WORKERS:
        one = simulate(costs, workers, batches, units, network)
        below = below or (one if one.efficiency < EFFICIENT else None)
        print(
            f"{workers:>7}{one.nodes:>6}{one.seconds:>11.1f}{one.efficiency:>11.1%}{one.driver_s / one.seconds:>12.1%}"
            f"{one.network_s / one.seconds:>13.1%}{one.traffic / 1e9:>12.2f}{one.memory / 1e9:>11.2f}  {one.limit}",
            flush=True,
        )
    if below is None:
        print(f"The efficiency is at least {EFFICIENT:.0%} up to {WORKERS[-1]} workers.")
    else:
        print(f"The efficiency falls below {EFFICIENT:.0%} at {below.workers} workers; the limit: {below.limit}.")


# --- The program ----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=64, help="pairs of the sweep")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--gpus-per-worker", type=float, nargs="*", default=[], help="instead of --workers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for the measured costs")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--costs", type=Path, help="the file of an earlier run with --json")
    parser.add_argument("--batches", type=int, default=20_000, help="of the simulated run")
    parser.add_argument("--units", type=int, default=64, help="that are saved; a sweep has at most 64")
    parser.add_argument("--gbit", type=float, default=10.0, help="bandwidth of the driver's network, Gbit/s")
    parser.add_argument("--per-node", type=int, default=8, help="workers of a node")
    options = parser.parse_args()
    if not options.gpus_per_worker and max(options.workers) > count_cores():
        parser.error(f"got {max(options.workers)} workers; expected at most {count_cores()}, a core (thread) for each")
    if options.costs:
        costs = Costs(**json.loads(options.costs.read_text()))
    else:
        costs = measure(options)
    if options.simulate:
        report_simulation(costs, options.batches, options.units, Network(options.gbit * 1e9 / 8, options.per_node))


def measure(options: argparse.Namespace) -> Costs:
    model, tokenizer = hc.load(hc.bundled("qnli"))
    shares = options.gpus_per_worker
    bench = Bench(model.float().to("cuda" if shares else "cpu"), tokenizer, options.limit)
    print(f"{options.limit} pairs, {describe_machine()}")
    times: dict[Way, dict[str, float]] = {}
    if not options.simulate:
        cards = torch.cuda.device_count()
        ways = (
            [Way(1, False), *(Way(int(cards / share), True, share) for share in shares)]
            if shares
            else [Way(count, ray) for count in options.workers for ray in (False, True)]
        )
        times = compare(bench, ways, options.repeats)
        report_ways(times)
    costs, watch = measure_costs(bench, shares[0] if shares else 0)
    report_costs(costs)
    for way in times:
        if way.ray and not way.gpus:  # workers that share a GPU slow each other down
            predicted = simulate(costs, way.workers, len(costs.batch_s), watch.units, Network(math.inf, way.workers))
            print(f"{way}: {times[way]['units']:.2f} s for the units, {predicted.seconds:.2f} s in the simulation")
    if options.json:
        options.json.write_text(json.dumps(dataclasses.asdict(costs), indent=1))
    return costs


if __name__ == "__main__":
    main()
