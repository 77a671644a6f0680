"""Every verb on two real workers gives the numbers of this process, and says where; killed, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.engines import ray_dispatch
from headcount.engines.executors import executing
from headcount.engines.ray_executor import RayExecutor
from headcount.engines.sinks import HERE, RAN_ON
from headcount.errors import HeadcountWarning, InvalidOption
from headcount.training.trainer import Settings
from tests import planted
from tests.closeness import assert_same
from tests.contracts.test_runs import datasets
from tests.contracts.two_parts import dispatched
from tests.contracts.writers import TIMES, make_checkpoints, writers
from tests.contracts.zoo import BY_NAME, build
from tests.measures.planted import WORDS
from tests.measures.tiny import bare_tokenizer
from tests.training import toy

VERBS = (
    *("sweep", "screened", "pairs", "raced", "measure", "compare", "patterns", "probe", "classifiers"),
    *("importance", "attribution", "choose", "budget", "dynamics", "roles", "circuit", "paths", "cue_heads"),
)
SHARED = ("sweep", "measure", "compare", "importance", "attribution")
"""Verbs whose own result has units, of which the study says where they ran."""


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("verbs")
    make_checkpoints(folder / "run")
    return writers(folder)


@pytest.mark.parametrize("name", VERBS)
def test_as_in_this_process(two_workers: RayExecutor, verbs: dict[str, Any], tmp_path: Path, name: str) -> None:
    expected = datasets(verbs[name](None))
    with executing(two_workers):
        found = datasets(verbs[name](tmp_path / "study"))
    assert set(found) == set(expected)
    for key, one in found.items():
        ours, theirs = (each.drop_vars((RAN_ON, "done", *TIMES), errors="ignore") for each in (one, expected[key]))
        xr.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-5)
    if name in SHARED:
        places = {str(place) for one in found.values() for place in one[RAN_ON].values}
        assert places
        assert all("process" in place for place in places)


def test_a_model_in_two_parts(two_workers: RayExecutor, tmp_path: Path) -> None:
    """What `device_map` has spread stays spread on the workers: here the upper layers are on the disk."""
    case = BY_NAME["llama"]
    config = tf.LlamaConfig(**case.options | {"vocab_size": len(WORDS), "tie_word_embeddings": True})
    whole = build(tf.LlamaForCausalLM, config, "sdpa", case.spread).double()
    parts, tokenizer = dispatched(whole, tmp_path), bare_tokenizer(WORDS)
    texts = pd.DataFrame({"text": [" ".join(WORDS[5 + row : 13 + row]) for row in range(6)]})
    expected = hc.sweep(whole, tokenizer, texts, task="causal-lm")
    with executing(two_workers):
        found = hc.sweep(parts, tokenizer, texts, task="causal-lm")
    assert all("process" in str(place) for place in found[RAN_ON].values)
    assert_same(found["score"].values, expected["score"].values)


def test_a_run_that_began_elsewhere_goes_on_here(two_workers: RayExecutor, tmp_path: Path) -> None:
    """The study says of each example who computed it."""
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer")
    texts, out = planted.texts(400), tmp_path / "study"

    class Enough(Exception):
        pass

    def stop(done: float, total: float, _: str = "") -> None:
        if total / 2 < done < total:
            raise Enough

    with executing(two_workers), pytest.raises(Enough):
        hc.importance(model, tokenizer, texts, task="sst2", out=out, progress=stop)
    found = hc.importance(model, tokenizer, texts, task="sst2", out=out)
    xr.testing.assert_allclose(
        found.drop_vars((RAN_ON, "done")), hc.importance(model, tokenizer, texts, task="sst2").drop_vars([]), rtol=1e-5
    )
    places = set(map(str, found[RAN_ON].values))
    assert HERE in places
    assert any("process" in place for place in places)


def test_a_worker_killed_within_a_sweep(
    two_workers: RayExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer"), planted.texts(400)
    killed: list[int] = []

    def kill(done: float, total: float, _: str = "") -> None:
        known = [handle.place for handle in two_workers.handles if handle.place]
        if done and not killed:
            killed.append(int(known[0].split("process ")[1].split(",")[0]))
            os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.5)

    expected = hc.sweep(model, tokenizer, texts, task="sst2")
    compute = hc.Compute(batch_tokens=64)
    monkeypatch.setattr(ray_dispatch, "CALL", 1e-9)  # a call for each batch: much is left when the first is answered
    with executing(two_workers), warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)  # that it ended, if it was working
        found = hc.sweep(model, tokenizer, texts, task="sst2", compute=compute, progress=kill)
    assert killed
    xr.testing.assert_allclose(found.drop_vars(RAN_ON), expected, rtol=1e-5, atol=2e-5)


DRIVER = """
import sys
from pathlib import Path
import headcount as hc
from headcount.engines import sinks
from tests import planted

folder = Path(sys.argv[1])
save = sinks.FolderSink.save

def slowly(sink, unit, *rest):
    save(sink, unit, *rest)
    print("saved", unit, flush=True)
    if sys.argv[2] == "wait":
        sys.stdin.readline()

sinks.FolderSink.save = slowly
model, tokenizer = planted.classifier(), planted.tokenizer(folder / "tokenizer")
hc.importance(
    model, tokenizer, planted.texts(600), task="sst2", out=folder / "study", engine=hc.Ray(workers=2)
)
print("done", flush=True)
"""


def test_a_driver_that_is_killed_leaves_what_was_saved(tmp_path: Path) -> None:
    """Its workers end with it, and the next one computes what is missing alone; the lock is not in its way."""

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", DRIVER, str(tmp_path), how]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start("wait") as first:
        assert first.stdout is not None
        assert first.stdin is not None
        saved = [first.stdout.readline()]
        first.stdin.write("\n")
        first.stdin.flush()
        saved.append(first.stdout.readline())
        assert all(line.startswith("saved") for line in saved)
        first.kill()
    with start("go") as second:
        said, _ = second.communicate(timeout=200)
    assert second.returncode == 0
    lines = said.split("\n")
    assert "done" in lines
    assert not set(saved) & {f"{line}\n" for line in lines}, "what was saved is not computed again"
    study = hc.open_study(tmp_path / "study")["pruning/importance"]
    assert study.attrs["complete"]
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer")
    expected = hc.importance(model, tokenizer, planted.texts(600), task="sst2")
    np.testing.assert_allclose(study["michel"].values, expected["michel"].values, rtol=1e-5)


def test_fine_tuning_runs(two_workers: RayExecutor, tmp_path: Path) -> None:
    """The models come back to the folders of the runs, and a finished run is not run again."""
    model = toy.save_checkpoint(tmp_path / "model")
    planted.texts(60).to_csv(tmp_path / "texts.csv", index=False)
    given: dict[str, Any] = {"seeds": 2, "settings": Settings(num_train_epochs=1, checkpoints=2, max_length=16)}
    expected = hc.finetune(model, ["sst2"], tmp_path / "texts.csv", tmp_path / "here", **given)
    with executing(two_workers):
        found = hc.finetune(model, ["sst2"], tmp_path / "texts.csv", tmp_path / "there", **given)
    gone = ["seconds", "model"]
    pd.testing.assert_frame_equal(found.drop(columns=gone), expected.drop(columns=gone), rtol=1e-4)
    for run in ("seed-0", "seed-1"):
        folders = (tmp_path / where / "sst2/pretrained" / run for where in ("here", "there"))
        one, other = (sorted(path.name for path in folder.rglob("*")) for folder in folders)
        assert one == other
        hc.load(tmp_path / "there/sst2/pretrained" / run / "model")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "there").rglob("result.json")}
    again = hc.finetune(model, ["sst2"], tmp_path / "texts.csv", tmp_path / "there", **given)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert list(again["score"]) == list(found["score"])


def test_parts_of_the_input(two_workers: RayExecutor, tmp_path: Path) -> None:
    """Fine-tuned models and baselines, each a run of its own."""
    toy.save_checkpoint(tmp_path / "model")
    toy.save_splits(tmp_path / "pairs" / "RTE", toy.pairs(32), toy.pairs(20, seed=1))
    given: dict[str, Any] = {"inputs": ["sentence2"], "task": "rte", "seeds": 1, "settings": toy.QUICK}
    expected = hc.partial(tmp_path / "model", tmp_path / "pairs", tmp_path / "here", **given)
    with executing(two_workers):
        found = hc.partial(tmp_path / "model", tmp_path / "pairs", tmp_path / "there", **given)
    gone = [name for name in found.columns if name in ("seconds", "folder")]
    pd.testing.assert_frame_equal(found.drop(columns=gone), expected.drop(columns=gone), rtol=1e-4)


THREE_NODES = """
import sys, warnings
from pathlib import Path
from ray.cluster_utils import Cluster
from headcount.engines.engine import Ray
from headcount.engines.executors import current_executor
from headcount.engines.run import Unit

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
units = [Unit(number, number, number + 1, ("toy",)) for number in range(160)]

seen = Path(sys.argv[1])

def work(unit):
    import os, time
    (seen / str(os.getpid())).touch()
    time.sleep(0.2)
    until = time.monotonic() + 100
    # A busy machine starts the fourth worker late: the second half of the work waits for it.
    while unit.number >= 80 and len(list(seen.iterdir())) < 4 and time.monotonic() < until:
        time.sleep(0.1)
    return os.getpid()

with warnings.catch_warnings(), Ray(cluster.address, workers=3).running():
    warnings.simplefilter("ignore")
    found, lost = {}, False
    for done in current_executor().execute(units, work):
        assert done.unit not in found
        found[done.unit] = done.result
        if len(found) > 15 and len(set(found.values())) == 3 and not lost:
            lost = True
            cluster.remove_node(nodes[0], allow_graceful=False)
            cluster.add_node(num_cpus=1)
assert lost and set(found) == set(units)
print("workers", len(set(found.values())))
cluster.shutdown()
"""


def test_a_node_is_lost_and_another_one_comes(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", THREE_NODES, str(tmp_path)], capture_output=True, text=True, timeout=400, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout.split("workers ")[1]) == 4


def test_contexts_of_this_process_are_not_lost_in_silence(two_workers: RayExecutor, tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer")
    with (
        executing(two_workers),
        hc.ablated(model, "L0H0"),
        pytest.raises(InvalidOption, match=r"hc\.ablated.* is open"),
    ):
        hc.importance(model, tokenizer, planted.texts(40), task="sst2")
