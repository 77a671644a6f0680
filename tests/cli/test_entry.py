"""Ctrl-C and SIGTERM at any moment: one line, exit code 130 or 143, and the same command resumes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headcount as hc
from tests import planted
from tests.training import toy

AT = """
import os, signal, sys
event, part, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
sent = []
def hook(name, given):
    if name == event and not sent and part in str(given[0]):
        sent.append(1)
        os.kill(os.getpid(), number)
sys.addaudithook(hook)
del sys.argv[1:4]
from headcount.cli.entry import main
sys.exit(main())
"""
"""The program, with a signal to itself at the first event (an import, a file that is opened) of a name."""
INT, TERM = int(signal.SIGINT), int(signal.SIGTERM)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    planted.texts(200).to_csv(path / "validation.csv", index=False)
    toy.save_checkpoint(path / "plain")
    toy.save_splits(path / "data", toy.pairs(32))
    return path


def hear_ctrl_c() -> None:
    """Where the tests run in the background of a shell, Ctrl-C is ignored, and so it would be by their processes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stopped_at(event: str, part: str, number: int, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", AT, event, part, str(number), *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=hear_ctrl_c,
    )
    assert done.returncode == 128 + number, done.stderr
    return only_line(done.stderr)


def only_line(said: str) -> str:
    """What was said, how far the work was aside: on a slow machine that is told too."""
    lines = [
        line
        for line in said.splitlines()
        if not re.fullmatch(r"[a-z]+: (preparing, .*|.* of .* left|.* unknown)", line)
    ]
    assert len(lines) == 1, said
    assert lines[0].startswith("headcount: stopped"), said
    return lines[0]


SWEEP = ["sweep", "{place}/model", "--task", "sst2", "--data", "{place}", "--how", "zero", "--out", "{out}"]
MEASURE = ["measure", "{place}/model", "--data", "{place}/validation.csv", "--text", "sentence", "--out", "{out}"]
PRUNE = ["prune", "{place}/model", "--task", "sst2", "--data", "{place}", "--keep", "2", "--study", "{out}"]
FINETUNE = ["finetune", "{place}/plain", "--tasks", "mrpc", "--data", "{place}/data", "--out", "{out}"]
KEPT, NOTHING, WHOLE = "the same command resumes: headcount", "before anything was saved", "writes nothing before"


@pytest.mark.parametrize(
    ("event", "part", "number", "words", "expected"),
    [
        ("import", "headcount.cli.main", INT, ["heads", "{place}/model"], WHOLE),
        ("import", "cyclopts", INT, SWEEP, NOTHING),
        ("import", "rich.console", TERM, MEASURE, NOTHING),
        ("import", "numpy", INT, ["report", "{place}", "-o", "{out}"], WHOLE),
        ("import", "torch._C", TERM, [*PRUNE, "--out", "{out}-small"], NOTHING),
        ("open", "model/config.json", INT, ["heads", "{place}/model"], WHOLE),
        ("open", "model/config.json", TERM, SWEEP, NOTHING),
        ("open", "done", INT, SWEEP, KEPT),
        ("open", "out/measures", TERM, MEASURE, KEPT),
        ("open", "out/pruning", INT, [*PRUNE, "--out", "{out}-small"], KEPT),
        ("open", "seed-0", INT, FINETUNE, KEPT),
    ],
)
def test_one_line_at_any_moment(
    event: str, part: str, number: int, words: list[str], expected: str, place: Path, tmp_path: Path
) -> None:
    given = [word.format(place=place, out=tmp_path / "out") for word in words]
    line = stopped_at(event, part, number, *given)
    assert expected in line
    assert line.rstrip().endswith(" ".join(["headcount", *given]))
    assert not (tmp_path / "out-small").exists()


def test_the_same_command_resumes(place: Path, tmp_path: Path) -> None:
    command = [word.format(place=place, out=tmp_path / "out") for word in [*SWEEP, "--batch-tokens", "12"]]
    stopped_at("open", "done/c/2", INT, *command)
    assert "score" not in hc.open_study(tmp_path / "out").get("sweep/head-zero", {})
    subprocess.run([sys.executable, "-m", "headcount", *command], check=True, capture_output=True)
    assert "score" in hc.open_study(tmp_path / "out")["sweep/head-zero"].to_dataset()


def test_processes_of_a_training_end_silently(place: Path, tmp_path: Path) -> None:
    """Ctrl-C of a terminal reaches all processes of the command: only the first one speaks, and none stays."""
    out = tmp_path / "runs"
    command = [
        word.format(place=place, out=out)
        for word in [*FINETUNE, "--num-train-epochs", "5000", "--jobs", "2", "--seeds", "2"]
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "headcount", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    while process.poll() is None and not list(out.rglob("options.json")):
        time.sleep(0.02)
    os.killpg(process.pid, INT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert KEPT in only_line(said)
    for _ in range(50):
        if not living(process.pid):
            return
        time.sleep(0.1)
    raise AssertionError(f"still alive: {living(process.pid)}")


def living(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return [row[2] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]


def test_a_second_signal_ends_it_at_once(place: Path) -> None:
    code = AT.replace(
        "from headcount.cli.entry import main",
        """
import headcount.cli.heads, time
from headcount.cli.entry import main
class Slow:
    def __enter__(self): pass
    def __exit__(self, *_): print('leaving', flush=True); time.sleep(60)
def heads(model: str, /):
    with Slow():
        print('inside', flush=True); time.sleep(60)
headcount.cli.heads.heads = heads
""",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "none", "none", "0", "heads", "m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    process.send_signal(INT)
    assert process.stdout.readline() == "leaving\n"
    process.send_signal(INT)
    assert process.wait(timeout=5) == -INT
    process.communicate()


def test_a_job_that_ignores_interrupts_goes_on(place: Path) -> None:
    """As `nohup` or a script's `&` leave it."""
    code = AT.replace("import os,", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nimport os,")
    done = subprocess.run(
        [sys.executable, "-c", code, "import", "rich.console", str(INT), "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.strip() == hc.__version__
