"""The verb `sweep`: a kill loses nothing, bad input is one line, scripts get JSON."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.cli.main import app, main
from tests import planted
from tests.closeness import FLOAT32, assert_same


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    planted.texts().to_csv(path / "validation.csv", index=False)
    return path


def words(place: Path, *more: str) -> list[str]:
    return ["sweep", str(place / "model"), "--task", "sst2", "--data", str(place), "--how", "zero", *more]


def test_the_summary_and_the_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--out", str(tmp_path / "study"))) == 0
    shown = capsys.readouterr().out
    assert "L0H1" in shown
    assert "2 heads have a significant effect on accuracy (q < 0.05, 4 heads tested)" in shown.replace("\n", " ")
    assert main(["table", str(tmp_path / "study"), "--to", "csv"]) == 0
    assert capsys.readouterr().out.startswith("result,model,task,metric,stack,layer,head,")


def test_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--by", "layer", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["whole"]["baseline"] == pytest.approx(0.7)
    assert len(found["choices"]) == 2


def test_options_from_a_file(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.toml").write_text(f'task = "sst2"\ndata = "{place}"\nhow = "zero"\nby = "layer"\n')
    assert main(["sweep", str(place / "model"), "--config", str(tmp_path / "sweep.toml"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["choices"]) == 2
    assert main(["sweep", str(place / "model"), f"--config={tmp_path / 'sweep.toml'}", "--json"]) == 0
    assert app.config is None, "later calls in this process do not read the file"
    assert len(json.loads(capsys.readouterr().out)["choices"]) == 2
    assert main(["sweep", str(place / "model"), f"--config={tmp_path / 'absent.toml'}"]) == 2
    assert "absent.toml; expected one TOML file that exists" in capsys.readouterr().err
    (tmp_path / "wrong.toml").write_text('tsak = "sst2"\n')
    assert main(["sweep", str(place / "model"), "--config", str(tmp_path / "wrong.toml")]) == 2
    assert "tsak" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--how", "median"], "median"),
        (["--how", "mean"], "reference"),
        (["--task", "nonsense"], "expected one of"),
        (["--data", "no/such.csv"], "there is no file"),
        (["--stack", "cross"], "has encoder"),
        (["--sets", "no-such-file"], "there is no file no-such-file; expected one with a set of heads on each line"),
        (["--draws", "3"], "need --draws (at least 1) and --size"),
        (["--device", "cuda:77"], "not here"),
        (["--metric", "pearson"], "accuracy"),
        (["--label", "stars"], "no label column 'stars'"),
        (["--labels", "yes", "no"], "say what 0, 1, ... mean in the model's words, such as --labels negative positive"),
        (["--shard", "1/2"], "--shard, which has no effect without --out"),
    ],
)
def test_bad_input(place: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    base = words(place)
    for option in more:
        if option in base:
            at = base.index(option)
            del base[at : at + 2]
    assert main([*base, *more]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert expected in captured.err


def test_killed_at_any_moment_it_goes_on(place: Path, tmp_path: Path) -> None:
    planted.texts(1500).to_csv(tmp_path / "validation.csv", index=False)
    out = tmp_path / "study"
    command = [
        sys.executable,
        "-m",
        "headcount.cli.main",
        "sweep",
        str(place / "model"),
        "--task",
        "sst2",
        "--data",
        str(tmp_path),
        "--how",
        "zero",
        "--batch-tokens",
        "12",
        "--out",
        str(out),
    ]
    kills = 0
    for least in (1, 20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("sweep/head-zero/done/c/*"))) < least:
            time.sleep(0.005)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 2
    done = len(list(out.glob("sweep/head-zero/done/c/*")))
    assert 20 <= done < 64
    subprocess.run(command, check=True, capture_output=True)
    model, tokenizer = hc.load(place / "model")
    whole = hc.sweep(model, tokenizer, tmp_path, task="sst2", how="zero")
    found = hc.open_study(out)["sweep/head-zero"].to_dataset()
    for name in ("score", "p", "q", "low", "high"):
        np.testing.assert_allclose(found[name], whole[name], err_msg=name)
    assert_same(found.sortby("example")["logits"], whole["logits"], FLOAT32)


def test_screening_fits_the_terminal_and_names_what_was_not_run(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    screening = ("--screen", "importance", "--top", "2", "--control", "1", "--out", str(tmp_path / "study"))
    assert main(words(place, *screening)) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "2 of 4 heads were run because they rank highest by importance" in shown.replace("\n", " ")
    assert "nan" not in shown
    assert main(["table", str(tmp_path / "study"), "--group", "sweep/head-zero-screened"]) == 0
    rows = capsys.readouterr().out.splitlines()
    column = rows[0].split(",").index("selected")
    assert sorted(row.split(",")[column] for row in rows[1:]) == ["control", "not run", "top", "top"]
    assert main(["report", str(tmp_path / "study"), "-o", str(tmp_path / "page.html")]) == 0
    assert "not run" in (tmp_path / "page.html").read_text()


def test_a_race_fits_the_terminal(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words(place, "--stop-when", "0.15")) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert not [line for line in shown.splitlines() if line.startswith("│          │")], "no row takes two lines"
    assert "1 lower it by more, 1 raise it by more, and 2 stay within" in shown.replace("\n", " ")
    assert main(words(place, "--stop-when", "0.15", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["decision"] for row in found["choices"]} == {"smaller", "larger", "within"}
    assert found["whole"]["passes_saved"] > 0
