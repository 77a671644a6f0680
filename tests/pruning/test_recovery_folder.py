"""Does a recovery that was interrupted end with the weights of one that was not?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import CannotWrite, StudyProblem, TrainingDiverged
from headcount.pruning import recovery_folder
from headcount.pruning.recover import recover
from tests import planted
from tests.pruning import jobs

SST2 = find_task("sst2")
TEXTS = planted.texts(60)
STEPS = 7
OPTIONS: dict[str, Any] = {
    "task": SST2,
    "max_steps": STEPS,
    "learning_rate": 1e-3,
    "per_device_train_batch_size": 16,
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery_folder, "SECONDS", 0.0)


def pruned() -> Any:
    return hc.prune(jobs.random_model().float(), ["L0H1", "L1", "L0U0-19", "L2U"])


def stop_at(step: int) -> Any:
    def progress(done: float, total: float, name: str = "") -> None:
        if done == step:
            raise KeyboardInterrupt

    return progress


def same(first: Any, second: Any) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return set(ours) == set(theirs) and all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())


WAYS = [
    pytest.param({}, id="labels"),
    pytest.param({"teacher": jobs.random_model().float()}, id="teacher"),
    pytest.param({"teacher": jobs.random_model().float(), "hidden": True, "lora": True, "lora_rank": 2}, id="lora"),
]


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("way", WAYS)
def test_resumed_equals_uninterrupted(way: dict[str, Any], tokenizer: Any, tmp_path: Path) -> None:
    if "lora" in way:
        pytest.importorskip("peft")
    whole = recover(pruned(), tokenizer, TEXTS, **OPTIONS, **way)
    out, seen = tmp_path / "state", []
    for step in (3, 5):
        with pytest.raises(KeyboardInterrupt):
            recover(pruned(), tokenizer, TEXTS, out=out, progress=stop_at(step), **OPTIONS, **way)
        assert len(list((out / "state").glob("checkpoint-*"))) == 1
    resumed = recover(pruned(), tokenizer, TEXTS, out=out, progress=lambda *now: seen.append(now[0]), **OPTIONS, **way)
    assert min(seen) == 4, "not from the beginning"
    assert same(resumed, whole)
    assert not (out / "state").exists()
    seen.clear()
    again = recover(pruned(), tokenizer, TEXTS, out=out, progress=lambda *now: seen.append(now[0]), **OPTIONS, **way)
    assert same(again, whole)
    assert not again.training
    assert not seen, "nothing is trained again"


def test_a_short_recovery_saves_no_state(tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", progress=stop_at(5), **OPTIONS)
    assert not list((tmp_path / "state").glob("state/checkpoint-*"))
    recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS)
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == [
        "options.json",
        "result.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"max_steps": 3}, "max_steps"),
        ({"seed": 1}, "seed"),
        ({"teacher": jobs.random_model().float()}, "teacher"),
        ({"learning_rate": 1e-4}, "learning_rate"),
    ],
)
def test_other_options(change: dict[str, Any], expected: str, tokenizer: Any, tmp_path: Path) -> None:
    recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS)
    with pytest.raises(StudyProblem, match="holds a run with other options") as caught:
        recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS | change)
    assert expected in str(caught.value)


def test_another_model_and_other_texts(tokenizer: Any, tmp_path: Path) -> None:
    recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS)
    with pytest.raises(StudyProblem, match="model"):
        recover(hc.prune(pruned(), "L0H2"), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS)
    with pytest.raises(StudyProblem, match="data"):
        recover(pruned(), tokenizer, TEXTS.head(50), out=tmp_path / "state", **OPTIONS)


@pytest.mark.usefixtures("often")
def test_after_a_divergence_another_rate_can_be_tried(tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainingDiverged):
        recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS | {"learning_rate": 1e30})
    assert not list((tmp_path / "state").iterdir())
    recover(pruned(), tokenizer, TEXTS, out=tmp_path / "state", **OPTIONS)


def test_damaged_weights(tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "state"
    recover(pruned(), tokenizer, TEXTS, out=out, **OPTIONS)
    (out / "weights.safetensors").write_bytes(b"half")
    with pytest.raises(StudyProblem, match="the weights in .* cannot be read"):
        recover(pruned(), tokenizer, TEXTS, out=out, **OPTIONS)


def test_a_file_in_the_way(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CannotWrite, match="file"):
        recover(pruned(), tokenizer, TEXTS, out=tmp_path / "file", **OPTIONS)
    assert (tmp_path / "file").read_text() == "mine"
