"""Where stderr is no terminal, every verb that computes says in plain lines how far it is."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest

from headcount.cli import progress, time_left
from headcount.cli.main import main
from headcount.cli.progress import show_progress
from tests import planted
from tests.training import toy

LINE = re.compile(
    r"[a-z-]+: (preparing, \d+ s so far|.*\d of \d.* \(\d+ %\), (done|time left unknown|[\d.,]+/(s|min|h), \d+ s left))"
)


def test_a_line_from_time_to_time(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("sweep", "examples", every=0.05) as tell:
        tell(0, 20)
        for done in range(5):
            time.sleep(0.05)
            tell(done + 1, 20)
    said = capsys.readouterr().err.splitlines()
    assert len(said) > 1
    assert all(LINE.fullmatch(line) for line in said), said
    time.sleep(0.12)
    assert not capsys.readouterr().err, "nothing more after the end"


def test_work_that_says_nothing_for_long_is_still_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("importance", every=0.05):
        time.sleep(0.4)
    assert set(capsys.readouterr().err.splitlines()) == {"importance: preparing, 0 s so far"}


def test_the_estimate_comes_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(time_left, "FIRST", 0.01)
    monkeypatch.setattr(time_left, "LONG", 10)
    with show_progress("sweep", "examples", of="144 heads on ", limited=True) as tell:
        tell(0, 4000)
        for done in (1, 2, 3):
            time.sleep(0.02)
            tell(done, 4000)
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"sweep: about \d+ (s|min) for 144 heads on 4,000 examples; --limit 100 would take about \d+ s", line
    )


def test_on_a_terminal_it_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with show_progress("prune", "", every=0.01) as tell:
        tell(3, 4, "gates")
        time.sleep(0.05)
    assert "prune: gates" in screen.getvalue()
    assert " of 4" not in screen.getvalue(), "no lines beside the bar"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    planted.texts(60).to_csv(path / "validation.csv", index=False)
    toy.save_checkpoint(path / "plain")
    toy.save_splits(path / "data", toy.pairs(32))
    return path


TASK = ["--task", "sst2", "--data", "{place}"]
TEXTS = ["--data", "{place}/validation.csv", "--text", "sentence"]


@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "{place}/model", *TASK, "--json"],
        ["importance", "{place}/model", *TASK],
        ["measure", "{place}/model", *TEXTS],
        ["compare", "{place}/model", "{place}/model", *TEXTS],
        ["patterns", "{place}/model", *TEXTS],
        ["prune", "{place}/model", *TASK, "--keep", "2", "--out", "{out}", "--order", "gates", "--recover", "3"],
        [
            "finetune",
            "{place}/plain",
            "--tasks",
            "mrpc",
            "--data",
            "{place}/data",
            "--out",
            "{out}",
            "--per-device-train-batch-size",
            "4",
        ],
        ["cost", "{place}/model", "--lengths", "8", "--repeats", "3"],
    ],
)
def test_every_verb_that_computes(
    words: list[str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.002)
    assert main([word.format(place=place, out=tmp_path / "out") for word in words]) == 0
    said = capsys.readouterr().err.splitlines()
    assert all(LINE.fullmatch(line) for line in said), said
    assert any(" of " in line for line in said), said
