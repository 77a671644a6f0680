"""Workers: results in order, errors and interruptions that leave no thread, the same bits however many there are."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.ablation.runner import Runner
from headcount.engines import workers
from headcount.engines.workers import Batched, count_cores, each_unit, in_caller, spread
from headcount.errors import NotFinite
from headcount.trace.replay import Replay
from tests import planted
from tests.contracts.zoo import BY_NAME, exact
from tests.measures import tiny
from tests.measures.planted import SENTENCES
from tests.measures.tiny import assert_untouched, first_output

PATIENCE = 20
COUNTS = (1, 2, 3)


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the machine have so many cores."""
    return lambda count: monkeypatch.setattr(workers, "count_cores", lambda: count)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    assert not any(thread.name == workers.NAME for thread in threading.enumerate())
    assert torch.get_num_threads() == threads


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("items", [0, 1, 2, 20])
def test_results_come_in_order(count: int, items: int, cores: Any) -> None:
    cores(count)

    def work(item: int) -> int:
        time.sleep(0.002 * (item * 7 % 5))
        return item * item

    assert list(spread(work, range(items), 9)) == [item * item for item in range(items)]


def test_workers_run_at_the_same_time(cores: Any) -> None:
    cores(3)
    barrier = threading.Barrier(3)
    assert len(set(spread(lambda _: (barrier.wait(PATIENCE), threading.get_ident())[1], range(3), 9))) == 3


def test_never_more_than_allowed_at_once(cores: Any) -> None:
    cores(3)
    running, most = [0], [0]
    lock = threading.Lock()

    def work(_: int) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1

    list(spread(work, range(12), 2))
    assert most == [2]


def test_few_results_wait_for_a_slow_caller(cores: Any) -> None:
    cores(2)
    begun: list[int] = []
    with closing(spread(begun.append, range(50), 9)) as results:
        next(results)
        time.sleep(0.1)
        assert len(begun) <= 2 * workers.AHEAD + 1


@pytest.mark.parametrize("count", COUNTS)
def test_the_first_error_in_order_comes_after_the_results_before_it(count: int, cores: Any) -> None:
    """Item 3 fails long before item 2 is done, and item 4 fails first of all."""
    cores(count)

    def work(item: int) -> int:
        if item == 2:
            time.sleep(0.05)
        if item in (3, 4):
            raise ValueError(f"item {item}")
        return item

    seen = []
    with pytest.raises(ValueError, match="^item 3$"), closing(spread(work, range(30), 9)) as results:
        seen.extend(results)
    with pytest.raises(ValueError, match="^item 3$"), closing(spread(work, range(30), 9)) as results:
        for result in results:
            seen.append(result)
    assert seen == [0, 1, 2] * (len(seen) // 3)
    assert seen


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("begin", ["waits", "is called"])
@pytest.mark.usefixtures("interruptible")
def test_an_interruption_ends_the_workers(begin: str, cores: Any) -> None:
    """Ctrl-C while the caller waits for a result, and while it is told of progress."""
    cores(2)
    begun = threading.Event()

    def work(item: int) -> None:
        if not begun.is_set():
            begun.set()
            if begin == "waits":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                in_caller(signal.raise_signal, signal.SIGINT)
        for _ in range(int(PATIENCE / 0.01)):  # a long batch that tells of its progress
            time.sleep(0.01)
            in_caller(lambda: None)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), closing(spread(work, range(5), 9)) as results:
        list(results)
    assert begun.is_set()
    assert time.monotonic() - start < PATIENCE / 2


def test_progress_is_told_in_the_callers_thread(cores: Any) -> None:
    cores(3)
    caller = threading.get_ident()
    told: list[tuple[int, int]] = []

    def tell(item: int) -> None:
        told.append((threading.get_ident(), item))

    def work(item: int) -> int:
        for _ in range(3):
            in_caller(tell, item)
        return threading.get_ident()

    assert caller not in list(spread(work, range(9), 9))
    assert {thread for thread, _ in told} == {caller}
    assert sorted(item for _, item in told) == sorted([*range(9)] * 3)
    in_caller(tell, 99)
    assert told[-1] == (caller, 99)


def test_each_worker_has_one_thread_inside_operators(cores: Any) -> None:
    cores(2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        barrier = threading.Barrier(2)

        def work(_: int) -> tuple[int, int]:
            barrier.wait(PATIENCE)
            torch.randn(64, 64) @ torch.randn(64, 64)
            found = torch.get_num_threads()
            barrier.wait(PATIENCE)
            return found, threading.get_ident()

        with closing(spread(work, range(4), 9)) as results:
            (threads, one), (more, other) = next(results), next(results)
            assert torch.get_num_threads() == 2
            later: list[int] = []
            thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
            thread.start()
            thread.join()
            list(results)
        assert (threads, more, later) == (1, 1, [2])
        assert one != other
        assert list(spread(lambda _: torch.get_num_threads(), range(1), 9)) == [1], "a lone batch is no other batch"
        assert list(spread(lambda _: torch.get_num_threads(), range(3), 1)) == [2] * 3, "large batches have all cores"
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_users_threads_are_the_limit() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert count_cores() == 1
        torch.set_num_threads(64)
        assert count_cores() <= len(os.sched_getaffinity(0))
    finally:
        torch.set_num_threads(before)


def test_autocast_stays_in_the_callers_thread(cores: Any) -> None:
    cores(2)
    weights = torch.randn(4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert {one.dtype for one in spread(lambda _: weights @ weights, range(4), 9)} == {torch.bfloat16}


@pytest.mark.parametrize("count", COUNTS)
def test_units_are_joined_from_their_batches(count: int, cores: Any) -> None:
    cores(count)
    work = Batched(lambda unit: [*range(unit)], lambda batch: batch * 10, lambda unit, parts: (unit, parts), 9)
    assert list(each_unit(work, [3, 1, 2])) == [(unit, work(unit)) for unit in (3, 1, 2)]
    assert work(3) == (3, [0, 10, 20])


class Crews:
    """Counts the workers of all crews."""

    def __init__(self) -> None:
        self.workers: list[int] = []
        start = workers._Crew.start

        def counted(crew: Any) -> None:
            self.workers.append(len(crew.threads))
            start(crew)

        self.patch = mock.patch.object(workers._Crew, "start", counted)


def by_count(run: Callable[[], Any], cores: Any) -> list[Any]:
    """What is computed on 1, 2 and 3 cores; the test fails where no worker worked."""
    found = []
    for count in COUNTS:
        cores(count)
        crews = Crews()
        with crews.patch:
            found.append(run())
        assert set(crews.workers) == ({count} if count > 1 else set())
    return found


def assert_identical(first: xr.Dataset, *others: xr.Dataset) -> None:
    for other in others:
        assert set(first) == set(other)
        for name in first:
            np.testing.assert_array_equal(first[name].values, other[name].values, err_msg=str(name))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["bert", "albert", "deberta-v2", "mpnet", "distilbert", "llama"])
def test_a_sweep_is_the_same(name: str, dtype: torch.dtype, tokenizer: Any, cores: Any) -> None:
    model = exact(name, BY_NAME[name].kernels[0], "AutoModelForSequenceClassification").to(dtype)
    for how in ("zero", "uniform"):
        told: list[float] = []

        def tell(done: float, total: float, told: list[float] = told) -> None:
            told.append(done / total)

        def run(how: str = how) -> xr.Dataset:
            return hc.sweep(
                model,
                tokenizer,
                planted.texts(24),
                task="classification",
                how=how,
                compute=hc.Compute(batch_tokens=30),
                progress=tell,
            )

        assert_identical(*by_count(run, cores))
        assert told[-1] == pytest.approx(1)
        assert max(told) == pytest.approx(1)


@pytest.mark.parametrize("name", ["bart", "marian", "t5"])
def test_a_translation_is_the_same(name: str, tokenizer: Any, cores: Any) -> None:
    """Scored by its loss, and generated: with beams, too."""
    model = exact(name, head="AutoModelForSeq2SeqLM").float()
    texts = planted.texts(24)["sentence"]
    pairs = pd.DataFrame({"source": texts.head(12), "target": texts.tail(12).values})
    for options in ({"metric": "loss"}, {"metric": "chrf", "generate": {"max_new_tokens": 6, "num_beams": 2}}):

        def run(options: dict[str, Any] = options) -> xr.Dataset:
            return hc.sweep(
                model,
                tokenizer,
                pairs,
                task="translation",
                how="zero",
                by=hc.Every(stack="cross"),
                compute=hc.Compute(batch_tokens=40),
                **options,
            )

        assert_identical(*by_count(run, cores))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["masked", "causal", "translator"])
def test_a_measurement_is_the_same(kind: str, dtype: torch.dtype, cores: Any) -> None:
    """All that makes sense: of layers, of gradients, of distances between heads."""
    model, tokenizer = getattr(tiny, kind)()
    model = model.to(dtype)
    data = pd.DataFrame({"text": SENTENCES[:12]})
    text: Any = "text"
    if kind == "translator":
        data, text = pd.DataFrame({"source": SENTENCES[:4], "target": SENTENCES[4:8]}), ("source", "target")
    batch = {"input_ids": torch.tensor([[5, 6, 7]])}
    before = first_output(model, batch)
    trees = by_count(lambda: hc.measure(model, tokenizer, data, text=text, compute=hc.Compute(batch_tokens=40)), cores)
    for name in trees[0].children:
        assert_identical(*(tree[name].to_dataset() for tree in trees))
    assert len(trees[0].children) > 4
    assert_untouched(model, batch, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["bert", "albert", "deberta-v2", "llama"])
def test_importance_is_the_same(name: str, dtype: torch.dtype, tokenizer: Any, cores: Any) -> None:
    model = exact(name, BY_NAME[name].kernels[0], "AutoModelForSequenceClassification").to(dtype)
    data = planted.texts(40)
    found = by_count(
        lambda: hc.importance(model, tokenizer, data, task="classification", compute=hc.Compute(batch_tokens=40)), cores
    )
    assert_identical(*found)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_a_context_of_the_caller_holds_for_its_workers(cores: Any) -> None:
    model, tokenizer = tiny.masked()
    data = pd.DataFrame({"text": SENTENCES[:12]})

    def run() -> xr.Dataset:
        found: xr.Dataset = hc.measure(
            model, tokenizer, data, only="contribution", compute=hc.Compute(batch_tokens=40)
        )["contribution"].to_dataset()
        return found

    plain = by_count(run, cores)
    with hc.ablated(model, "L0H1"):
        inside = by_count(run, cores)
    assert_identical(*plain)
    assert_identical(*inside)
    assert not np.array_equal(plain[0]["share"], inside[0]["share"])


def test_sessions_of_the_caller_are_untouched(cores: Any) -> None:
    """The caller's own passes beside the workers' are those of its own contexts."""
    cores(2)
    model, _ = tiny.masked()
    batch = {"input_ids": torch.tensor([[2, 5, 6, 7, 3]])}
    plain = first_output(model, batch)
    barrier = threading.Barrier(3)

    def work(item: int) -> torch.Tensor:
        with hc.ablated(model, f"L{item}"):
            barrier.wait(PATIENCE)
            barrier.wait(PATIENCE)
            return first_output(model, batch)

    seen: list[torch.Tensor] = []

    def look() -> None:
        barrier.wait(PATIENCE)
        seen.append(first_output(model, batch))
        barrier.wait(PATIENCE)

    def spread_work(item: int) -> torch.Tensor:
        if item == 0:
            in_caller(look)
        return work(item)

    found = list(spread(spread_work, range(2), 9))
    assert torch.equal(seen[0], plain)
    for item, output in enumerate(found):
        with hc.ablated(model, f"L{item}"):  # on all threads inside operators, where a worker has one
            torch.testing.assert_close(output, first_output(model, batch), rtol=1e-12, atol=1e-12)
    assert (found[0] - found[1]).abs().max() > 0.01
    assert_untouched(model, batch, plain)


def test_numbers_that_are_not_finite_are_the_same_error(tokenizer: Any, cores: Any) -> None:
    """The pass that looks for the layer meets the passes of other workers."""
    model = planted.too_large_for_float16(planted.classifier(3)).half()
    data = planted.texts(60)

    def run() -> str:
        with pytest.raises(NotFinite) as caught:
            hc.sweep(model, tokenizer, data, task="sst2", how="zero", compute=hc.Compute(batch_tokens=20))
        return str(caught.value)

    messages = by_count(run, cores)
    assert len(set(messages)) == 1
    assert "not finite, from L1 on" in messages[0]


def test_out_of_memory_halves_in_every_worker(tokenizer: Any, cores: Any) -> None:
    run = Replay.run

    def call(self: Replay, variants: Any) -> Any:
        if self.size * len(variants) > 2:
            raise torch.OutOfMemoryError("no room")
        return run(self, variants)

    def sweep() -> xr.Dataset:
        with mock.patch.object(Replay, "run", call):
            return hc.sweep(
                planted.classifier(), tokenizer, planted.texts(30), task="sst2", compute=hc.Compute(batch_tokens=60)
            )

    assert_identical(*by_count(sweep, cores))


def test_a_study_that_was_interrupted_goes_on(tokenizer: Any, cores: Any, tmp_path: Path) -> None:
    """On three workers, then on one: units that were whole are kept, and the numbers are those of one run."""
    model, data = planted.classifier(), planted.texts(60)
    options: dict[str, Any] = {"task": "sst2", "how": "zero", "compute": hc.Compute(batch_tokens=30)}
    cores(3)
    saved: list[float] = []

    def stop(done: float, total: float) -> None:
        saved.append(done)
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hc.sweep(model, tokenizer, data, out=tmp_path / "study", progress=stop, **options)
    begun: list[list[int]] = []
    run = Runner.run

    def counted(self: Runner, rows: list[int]) -> Any:
        begun.append(rows)
        return run(self, rows)

    cores(1)
    with mock.patch.object(Runner, "run", counted):
        found = hc.sweep(model, tokenizer, data, out=tmp_path / "study", **options)
    whole = hc.sweep(model, tokenizer, data, **options)
    assert 0 < sum(map(len, begun)) < len(data)
    for name in ("score", "delta", "logits", "baseline_logits"):
        np.testing.assert_array_equal(found[name].values, whole[name].values)
