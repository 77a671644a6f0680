"""Promise: no verb computes with weights that are not finite or not the checkpoint's, whatever its class says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from headcount.cli.main import main
from tests import planted

DATA = ["--data", "{data}"]
TASK = ["--task", "sst2", *DATA]
TEXTS = [*DATA, "--text", "sentence"]
VERBS: dict[str, list[str]] = {
    "heads": [],
    "sweep": TASK,
    "importance": TASK,
    "measure": TEXTS,
    "patterns": TEXTS,
    "compare": ["{good}", *TEXTS],
    "maps": ["--text", "so good", "--out", "{out}"],
    "cost": ["--batches", "1", "--lengths", "8", "--repeats", "1"],
    "prune": ["--heads", "L0H1", "--out", "{out}"],
    "export": ["--to", "zeroed", "--out", "{out}"],
    "finetune": ["--tasks", "sst2", *DATA, "--out", "{out}"],
    "dynamics": TASK,
}
USES_HEAD = ("sweep", "importance", "prune", "export", "dynamics")


def change(folder: Path, name: str, tensor: torch.Tensor | None) -> None:
    path = folder / "model.safetensors"
    found = load_file(path)
    del found[name]
    save_file(found if tensor is None else found | {name: tensor}, path, metadata={"format": "pt"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights")
    planted.texts(60).to_csv(path / "texts.csv", index=False)
    planted.save(path / "good")
    planted.save(path / "nan")
    bad = torch.zeros(8)
    bad[3] = float("nan")
    change(path / "nan", "bert.encoder.layer.1.attention.self.key.bias", bad)
    planted.save(path / "deeper")
    config = json.loads((path / "deeper" / "config.json").read_text())
    (path / "deeper" / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    planted.save(path / "headless")
    change(path / "headless", "classifier.weight", None)
    for name in ("nan", "deeper", "headless"):
        for step in ("step-000001", "step-000002"):
            (path / f"{name}-run").mkdir(exist_ok=True)
            (path / f"{name}-run" / step).symlink_to(path / name)
    return path


def run(place: Path, verb: str, model: str, out: Path) -> int:
    name = f"{model}-run" if verb == "dynamics" else model
    words = [verb, str(place / name), *VERBS[verb]]
    return main([word.format(data=place / "texts.csv", good=place / "good", out=out) for word in words])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nan", ["1 of 8 values of bert.encoder.layer.1.attention.self.key.bias are NaN or infinite"]),
        ("deeper", ["16 tensors (bert.encoder.layer.2.attention.output.LayerNorm.bias", "missing from the weights"]),
    ],
)
def test_every_verb_refuses_in_one_line(
    place: Path, tmp_path: Path, verb: str, model: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, verb, model, tmp_path / "out") == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert said.out == ""
    for word in words:
        assert word in said.err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*.safetensors"))


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "finetune"])
def test_a_missing_head_is_refused_by_those_that_use_it_and_said_by_the_others(
    place: Path, tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(place, verb, "headless", tmp_path / "out")
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "the checkpoint has no classifier (1 tensor)" in said.err
    if verb in USES_HEAD:
        assert code == 2
        assert not (tmp_path / "out").exists()
    else:
        assert code == 0
        assert "note: " in said.err
        assert said.out
