"""The verb `recover`: a pruned model trained on for a few steps, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.cli.main import main
from headcount.pruning import recovery_folder, teacher
from tests import planted


def test_the_saved_model_is_the_one_that_python_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    hc.save(hc.prune(planted.classifier(), "L0H1"), tokenizer, tmp_path / "small")
    planted.texts(40).to_csv(tmp_path / "texts.csv", index=False)
    given = [str(tmp_path / "small"), "--task", "sst2", "--data", str(tmp_path / "texts.csv"), "--max-steps", "2"]
    command = ["recover", *given, "--learning-rate", "1e-3", "--out", str(tmp_path / "new")]
    assert main(command) == 0
    assert "Fine-tuned for 2 steps" in capsys.readouterr().out
    model, own = hc.load(tmp_path / "small")
    hc.recover(model, own, str(tmp_path / "texts.csv"), task="sst2", max_steps=2, learning_rate=1e-3)
    saved = hc.load(tmp_path / "new")[0].state_dict()
    assert all(torch.equal(tensor, saved[key]) for key, tensor in model.state_dict().items())
    assert main(command) == 2, "a folder that is there is not replaced"
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_with_a_teacher_and_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are not there; stopped after a state was saved, the same command ends as one that was not."""
    planted.save(tmp_path / "whole")
    whole, tokenizer = hc.load(tmp_path / "whole")
    hc.save(hc.prune(hc.load(tmp_path / "whole")[0], "L0H1"), tokenizer, tmp_path / "small")
    planted.texts(40).drop(columns="label").to_csv(tmp_path / "texts.csv", index=False)
    given = [str(tmp_path / "small"), "--task", "sst2", "--data", str(tmp_path / "texts.csv"), "--max-steps", "4"]
    taught = ["--teacher", str(tmp_path / "whole"), "--temperature", "3", "--hidden"]
    command = ["recover", *given, *taught, "--out", str(tmp_path / "new")]
    with monkeypatch.context() as patched:
        patched.setattr(recovery_folder, "SECONDS", 0.0)
        patched.setattr(teacher.Teacher, "loss", stopping_after(3, teacher.Teacher.loss))
        with pytest.raises(KeyboardInterrupt):
            main(command)
    assert list((tmp_path / ".new-state" / "state").glob("checkpoint-3"))
    assert not (tmp_path / "new").exists()
    assert main(command) == 0
    assert "Fine-tuned for 4 steps with the whole model as the teacher" in capsys.readouterr().out
    assert not (tmp_path / ".new-state").exists()
    model, own = hc.load(tmp_path / "small")
    texts = str(tmp_path / "texts.csv")
    hc.recover(model, own, texts, task="sst2", max_steps=4, teacher=whole, temperature=3, hidden=True)
    saved = hc.load(tmp_path / "new")[0].state_dict()
    assert all(torch.equal(tensor, saved[key]) for key, tensor in model.state_dict().items())


def stopping_after(calls: int, function: Any) -> Any:
    """The function, which is interrupted after some calls."""
    done = []

    def call(*args: Any) -> Any:
        if len(done) == calls:
            raise KeyboardInterrupt
        done.append(1)
        return function(*args)

    return call


def test_a_model_that_cannot_do_the_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted.save(tmp_path / "model")
    (tmp_path / "plain.csv").write_text("text\nso good\n")
    given = ["--task", "masked-lm", "--data", str(tmp_path / "plain.csv"), "--out", str(tmp_path / "new")]
    assert main(["recover", str(tmp_path / "model"), *given]) == 2
    assert "cannot do masked-lm" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
