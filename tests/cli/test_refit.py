"""The verb `refit`: a pruned model fitted to the whole one, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.cli.main import main
from tests import planted


@pytest.mark.parametrize("how", ["weights", "scales"])
def test_the_saved_model_is_the_one_that_python_gives(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted.save(tmp_path / "whole")
    whole, tokenizer = hc.load(tmp_path / "whole")
    hc.save(hc.prune(hc.load(tmp_path / "whole")[0], ["L0H1", "L1U0-3"]), tokenizer, tmp_path / "small")
    texts = tmp_path / "texts.csv"
    planted.texts(40).drop(columns="label").to_csv(texts, index=False)
    given = ["--whole", str(tmp_path / "whole"), "--task", "sst2", "--data", str(texts), "--how", how]
    command = ["refit", str(tmp_path / "small"), *given, "--ridge", "0.01", "--out", str(tmp_path / "new")]
    assert main(command) == 0
    assert f"Fitted to {tmp_path / 'whole'} ({how}); saved in {tmp_path / 'new'}." in capsys.readouterr().out
    model, _ = hc.load(tmp_path / "small")
    hc.refit(model, whole, tokenizer, str(texts), task="sst2", how=how, ridge=0.01)
    saved = hc.load(tmp_path / "new")[0].state_dict()
    assert all(torch.equal(tensor, saved[key]) for key, tensor in model.state_dict().items())
    assert main(command) == 2, "a folder that is there is not replaced"
    assert "--overwrite" in capsys.readouterr().err
