"""The verb `maps`: its example runs, one line tells what happened, bad input is one line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.attention_maps.maps import unpack
from headcount.cli.main import main
from headcount.cli.maps import maps
from tests import planted
from tests.attention_maps.test_maps import words_tokenizer
from tests.contracts.zoo import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    planted.save(path / "bert")
    for name in ("llama", "t5"):
        tiny(name).save_pretrained(path / name)
        words_tokenizer().save_pretrained(path / name)
    return path


def test_the_example_of_the_help_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.search(r"Example: headcount (.*)", maps.__doc__ or "")
    assert example
    assert main(shlex.split(example[1])) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1
    found = re.fullmatch(
        r"Saved (maps/who-wrote-it-[0-9a-f]{6}) in study: the maps of 144 heads over 14 tokens, (\d+) kB\. "
        r'Read it with headcount\.open_study\("study"\)\["\1"\]\.\n',
        shown,
    )
    assert found
    on_disk = sum(path.stat().st_size for path in (tmp_path / "study" / found[1]).rglob("*") if path.is_file())
    assert (int(found[2]) - 1) * 1000 < on_disk <= int(found[2]) * 1000
    weights = unpack(hc.open_study("study")[found[1]]["maps_encoder"])
    assert float(abs(weights.sum("key") - 1).max()) < 0.1


def words(folder: Path, name: str, out: Path, *more: str) -> list[str]:
    return ["maps", str(folder / name), "--out", str(out), *more]


def test_the_same_command_again_does_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(folder, "bert", tmp_path / "study", "--text", "it is so good", "--name", "good")
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("Saved maps/good in ")
    chunk = tmp_path / "study" / "maps" / "good" / "maps_encoder" / "c" / "0" / "0" / "0" / "0"
    before = chunk.stat().st_mtime_ns
    assert main(command) == 0
    assert "has maps/good already, nothing was done" in capsys.readouterr().out
    assert chunk.stat().st_mtime_ns == before


def test_the_same_name_for_another_text_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(folder, "bert", tmp_path / "study", "--text", "so good", "--name", "one")) == 0
    assert main(words(folder, "bert", tmp_path / "study", "--text", "so bad", "--name", "one")) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "text: 'so good' -> 'so bad'" in error


def test_weights_that_the_checkpoint_lacks_do_not_make_another_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pooler that is drawn anew at every loading has no part in the maps."""
    model, tokenizer = hc.load(folder / "bert")
    kept = {name: weight for name, weight in model.bert.state_dict().items() if "pooler" not in name}
    model.bert.save_pretrained(tmp_path / "bare", state_dict=kept)
    tokenizer.save_pretrained(tmp_path / "bare")
    for seed in (1, 2):
        torch.manual_seed(seed)
        state = torch.random.get_rng_state()
        assert main(words(tmp_path, "bare", tmp_path / "study", "--text", "so good")) == 0
        assert torch.equal(torch.random.get_rng_state(), state)
    assert capsys.readouterr().out.count("nothing was done") == 1


def test_a_cut_is_said(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(folder, "bert", tmp_path / "study", "--text", "good " * 30, "--max-length", "16")
    assert main(command) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "The text was longer than 16 tokens and was truncated: 16 tokens were left out."
    assert "over 16 tokens" in second


def test_both_texts_of_an_encoder_decoder(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "t5", tmp_path / "study", "--text", "the cat sat", "--pair", "a cat", "--name", "x")) == 0
    assert "36 heads over 4 and 3 tokens" in capsys.readouterr().out
    assert hc.open_study(tmp_path / "study")["maps/x"]["maps_cross"].shape == (3, 4, 3, 4)


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("llama", ["--text", "the cat", "--pair", "a mat"], "the model has no segments"),
        ("t5", ["--text", "the cat"], "give the target text with --pair"),
        ("bert", ["--text", ""], "nothing but special tokens"),
        ("bert", ["--text", "[CLS] [SEP]"], "nothing but special tokens"),
        ("bert", ["--text", "good", "--max-length", "2"], "at least 8"),
        ("bert", ["--text", "good", "--name", "a/b"], "got the name 'a/b'"),
        ("bert", ["--text", "good", "--device", "cuda:77"], "not here"),
        ("bert", ["--text", "good", "--dtype", "int3"], "int3"),
        ("bert", [], "--text"),
        ("none", ["--text", "good"], "expected a folder"),
    ],
)
def test_bad_input(
    folder: Path, tmp_path: Path, name: str, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(folder, name, tmp_path / "study", *more)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert not (tmp_path / "study").exists()


def test_a_text_too_long_to_keep_token_by_token(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headcount.attention_maps.plan.MOST_BYTES", 1000)
    assert main(words(folder, "bert", tmp_path / "study", "--text", "good " * 18)) == 0
    assert "each cell 2 x 2 tokens" in capsys.readouterr().out


def test_a_folder_that_is_no_study(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(words(folder, "bert", tmp_path, "--text", "good")) == 2
    assert "is not a study" in capsys.readouterr().err
