"""Completion is installed by one command, and bash itself completes with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from headcount.cli.main import app, main

BASH = shutil.which("bash")
COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_headcount
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "headcount"
    assert main(["--install-completion", "--shell", "bash", "-o", str(path)]) == 0
    return path


def completed(script: Path, *words: str, folder: Path | None = None) -> list[str]:
    """What bash completes the last of these words to."""
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", COMPLETE, "bash", str(script), "headcount", *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_bash_completes(script: Path, tmp_path: Path) -> None:
    verbs = {name for name in app if not name.startswith("-")}
    assert set(completed(script, "")) == verbs
    assert completed(script, "swe") == ["sweep"]
    assert completed(script, "sweep", "--ta") == ["--task"]
    assert {"head", "layer", "pair"} <= set(completed(script, "sweep", "model", "--by", ""))
    (tmp_path / "study-one").mkdir()
    assert completed(script, "explain", "L0H1", "study", folder=tmp_path) == ["study-one"]


def test_one_command_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):  # a second time changes nothing
        assert main(["--install-completion", "--shell", "bash"]) == 0
    written = tmp_path / ".local/share/bash-completion/completions/headcount"
    assert f"Completion is in {written}. Open a new shell" in capsys.readouterr().out
    assert (tmp_path / ".bashrc").read_text().count(f'. "{written}"') == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--shell", "tcsh"], '"bash", "zsh"'), (["--colour"], "--colour"), (["--shell"], "--shell")],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--install-completion", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_bad_input_installs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for words in (["more", "--shell", "bash"], ["--shell", "bash", "more"], ["--shell", "bash", "--colour"]):
        assert main(["--install-completion", *words]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "(see headcount --install-completion --help)" in captured.err
        assert not list(tmp_path.iterdir())


def test_an_unknown_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from cyclopts.completion import detect

    def unknown() -> str:
        raise detect.ShellDetectionError("none")

    monkeypatch.setattr(detect, "detect_shell", unknown)
    assert main(["--install-completion"]) == 2
    assert "expected --shell bash, zsh, fish or powershell" in capsys.readouterr().err
