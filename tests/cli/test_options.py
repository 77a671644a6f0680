"""Devices that are not there, number types, folders of runs, tokenizers from elsewhere, heads that are missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.cli.main import main
from headcount.cli.options import load_for_task, load_model_and_tokenizer
from headcount.errors import InvalidOption
from headcount.models.dispatched import is_offloaded
from headcount.models.fingerprint import model_fingerprint
from tests import planted
from tests.contracts.two_parts import two_parts


def test_devices_and_number_types(tmp_path: Path) -> None:
    planted.save(tmp_path)
    model, _ = load_for_task(str(tmp_path), "classification", "cpu", "bfloat16")
    assert model.dtype == torch.bfloat16
    with pytest.raises(InvalidOption, match="device=cpu"):
        load_for_task(str(tmp_path), "classification", "cuda:99", "auto")
    with pytest.raises(InvalidOption, match="not here"):
        load_for_task(str(tmp_path), "classification", "abacus", "auto")


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
def test_half_precision_is_for_storing_on_a_cpu(tmp_path: Path, stored: torch.dtype) -> None:
    planted.classifier().to(stored).save_pretrained(tmp_path)
    planted.tokenizer(tmp_path).save_pretrained(tmp_path)
    assert hc.load(tmp_path)[0].dtype == stored
    for load in (load_model_and_tokenizer, lambda *more: load_for_task(more[0], "classification", *more[1:])):
        model, tokenizer = load(str(tmp_path), "cpu", "auto")
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
        with torch.no_grad():
            assert model(**tokenizer("so good", return_tensors="pt")).logits.dtype == torch.float32
    asked, _ = load_model_and_tokenizer(str(tmp_path), "cpu", "float16")
    assert {parameter.dtype for parameter in asked.parameters()} == {torch.float16}


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
def test_a_model_in_two_parts(tmp_path: Path, stored: torch.dtype, capfd: pytest.CaptureFixture[str]) -> None:
    """The same scores as whole, in the same study; what accelerate says about it is left out."""
    planted.classifier().to(stored).save_pretrained(tmp_path / "model")
    planted.tokenizer(tmp_path).save_pretrained(tmp_path / "model")
    planted.texts(24).to_csv(tmp_path / "texts.csv", index=False)
    whole, _ = load_model_and_tokenizer(str(tmp_path / "model"), "cpu", "auto")
    (tmp_path / "map.json").write_text(json.dumps(two_parts(whole)))
    parts, _ = load_model_and_tokenizer(str(tmp_path / "model"), "auto", "auto", device_map=str(tmp_path / "map.json"))
    assert is_offloaded(parts)
    assert parts.dtype == torch.float32
    assert model_fingerprint(parts) == model_fingerprint(whole)
    task = ["--task", "sst2", "--data", str(tmp_path / "texts.csv"), "--json"]
    for verb, options in (
        ("sweep", task),
        ("importance", task),
        ("measure", ["--data", str(tmp_path / "texts.csv"), "--text", "sentence", "--json"]),
    ):
        printed = []
        for more in (["--device", "cpu"], ["--device-map", str(tmp_path / "map.json")]):
            capfd.readouterr()
            assert main([verb, str(tmp_path / "model"), *options, *more]) == 0
            said = capfd.readouterr()
            assert "meta device" not in said.err
            printed.append(json.loads(said.out))
        if verb == "sweep":
            assert [each.pop("attributes")["device"] for each in printed] == ["cpu", "cpu (cpu, disk)"]
        assert printed[0] == printed[1]


def test_the_folder_of_a_run_is_taken_for_its_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "mrpc" / "pretrained" / "seed-0"
    planted.save(run / "model")
    capsys.readouterr()
    (run / "result.json").write_text("{}")
    assert main(["prune", str(run), "--heads", "L0H1", "--out", str(tmp_path / "small")]) == 0
    said = capsys.readouterr()
    assert said.err == f"headcount: note: {run} is the folder of a run; its model is {run / 'model'}\n"
    assert (tmp_path / "small" / "model.safetensors").is_file()
    assert main(["heads", str(run)]) == 0


def test_a_tokenizer_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every verb that reads texts can be told where the tokenizer is, and says so where there is none."""
    planted.save(tmp_path / "whole")
    planted.classifier().save_pretrained(tmp_path / "bare")
    planted.texts(60).to_csv(tmp_path / "texts.csv", index=False)
    bare, task = str(tmp_path / "bare"), ["--task", "sst2", "--data", str(tmp_path / "texts.csv")]
    texts, out = ["--data", str(tmp_path / "texts.csv"), "--text", "sentence"], ["--out", str(tmp_path / "out")]
    for words in (
        ["sweep", bare, *task, "--by", "layer"],
        ["importance", bare, *task],
        ["measure", bare, *texts, "--only", "entropy"],
        ["patterns", bare, *texts],
        ["compare", bare, str(tmp_path / "whole"), *texts],
        ["maps", bare, "--text", "so good", *out],
        ["prune", bare, "--heads", "L0H1", "--out", str(tmp_path / "small")],
        ["export", bare, "--to", "zeroed", "--out", str(tmp_path / "zeroed")],
        ["finetune", bare, "--tasks", "sst2", "--data", str(tmp_path / "texts.csv"), "--out", str(tmp_path / "runs")],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err.count("--tokenizer") == 1, words[0]
        if words[0] in ("measure", "prune", "maps", "finetune"):
            assert main([*words, "--tokenizer", str(tmp_path / "whole")]) == 0, words[0]
            capsys.readouterr()
    assert (tmp_path / "small" / "vocab.txt").is_file() or (tmp_path / "small" / "tokenizer.json").is_file()
    assert main(["cost", bare, "--batches", "1", "--lengths", "8", "--repeats", "1"]) == 0, "it reads no text"


def test_a_model_without_the_head_gets_the_command_that_makes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = planted.classifier().bert
    model.save_pretrained(tmp_path / "plain")
    planted.tokenizer(tmp_path / "plain").save_pretrained(tmp_path / "plain")
    planted.texts(60).to_csv(tmp_path / "texts.csv", index=False)
    words = [str(tmp_path / "plain"), "--task", "sst2", "--data", str(tmp_path / "texts.csv")]
    command = f"headcount finetune {tmp_path / 'plain'} --tasks sst2 --data FOLDER --out runs"
    assert main(["sweep", *words]) == 2
    assert f"make one: {command}, or allow a random one with --untrained" in capsys.readouterr().err
    assert main(["importance", *words]) == 2
    said = capsys.readouterr().err
    assert command in said
    assert "--untrained" not in said, "importance has no such option"
    assert main(["sweep", *words, "--untrained", "--by", "layer"]) == 0
