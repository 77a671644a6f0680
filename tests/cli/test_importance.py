"""The verb `importance`: a table at 80 columns, JSON, how well it foretells ablation, bad input, and a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.choosing.estimators import prediction
from headcount.cli.main import main
from tests import planted
from tests.pruning import planted as parts

BUNDLED = ["importance", "bundled:qnli", "--task", "qnli", "--data", "bundled:pairs"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    parts.classifier(parts.GRADED).save_pretrained(path / "model")
    planted.tokenizer(path / "model").save_pretrained(path / "model")
    parts.texts(40).to_csv(path / "texts.csv", index=False)
    return path


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(place: Path, *more: str, verb: str = "importance") -> list[str]:
    return [verb, str(place / "model"), "--task", "sst2", "--data", str(place / "texts.csv"), *more]


def rows(shown: str) -> dict[str, list[str]]:
    """The cells of a table's rows by the first one; a row that was broken continues in the next line."""
    found: dict[str, list[str]] = {}
    last = ""
    for line in shown.splitlines():
        if line.startswith("│"):
            cells = [cell.strip() for cell in line.split("│")[1:-1]]
            if cells[0]:
                last = cells[0]
                found[last] = cells[1:]
            else:
                found[last] = [f"{one} {two}".strip() for one, two in zip(found[last], cells[1:], strict=True)]
    return found


def test_the_bundled_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BUNDLED, "--limit", "8", "--out", str(tmp_path / "study")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Importance on 8 examples")
    assert list(rows(shown)) == ["michel", "gate", "taylor", "fisher", "norm"]
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("Saved"))
    stored = hc.open_study(tmp_path / "study")["pruning/importance"].to_dataset()
    assert stored["michel"].shape == (1, 12, 12)
    most = int(stored["michel"].values.argmax())
    assert rows(shown)["michel"][0].startswith(f"L{most // 12}H{most % 12} ")
    assert f"Saved in {tmp_path / 'study'}. Next: headcount report" in shown
    assert main([*BUNDLED, "--limit", "8", "--json", "--out", str(tmp_path / "study")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 144
    assert {"stack", "layer", "head", "michel", "michel_low", "michel_high", "taylor", "gate", "norm"} <= set(found[0])
    by_hand = {(row["layer"], row["head"]): row["michel"] for row in found}
    for (layer, head), value in by_hand.items():
        assert value == pytest.approx(float(stored["michel"][0, layer, head]), rel=1e-5)


def test_the_planted_order(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place)) == 0
    shown = capsys.readouterr().out
    found = rows(shown)
    for name in ("michel", "gate", "taylor"):
        assert found[name][0].startswith(parts.GRADED_ORDER[-1])
        assert found[name][1].startswith(parts.GRADED_ORDER[0])
        assert found[name][2] == "1.00 [1.00, 1.00]"
        assert found[name][3] == "-"
    assert "headcount sweep ... --by head --how zero into the same" in shown


def test_units(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    assert main(words(place, "--what", "both", "--own-labels", "--out", str(out))) == 0
    shown = rows(capsys.readouterr().out)
    assert list(shown) == ["michel", "gate", "taylor", "fisher", "norm", "unit_fisher", "unit_michel", "unit_taylor"]
    stored = hc.open_study(out)["pruning/importance"].to_dataset()
    assert stored.attrs["what"] == "both"
    assert stored.attrs["labels"] == "the model's own"
    most = np.unravel_index(int(stored["unit_fisher"].values.argmax()), stored["unit_fisher"].shape)
    assert shown["unit_fisher"][0].startswith(f"L{most[1]}U{most[2]} ")
    assert main(["report", str(out), "-o", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(words(place, "--what", "units", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == stored["unit_fisher"].size
    assert {"layer", "unit", "unit_fisher", "unit_taylor"} <= set(found[0])
    assert main(words(place, "--what", "units")) == 0
    assert list(rows(capsys.readouterr().out)) == ["unit_fisher", "unit_michel", "unit_taylor"]


def test_how_well_it_foretells_ablation(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    assert main(words(place, "--how", "zero", "--metric", "loss", "--out", str(out), verb="sweep")) == 0
    capsys.readouterr()
    assert main(words(place, "--out", str(out))) == 0
    shown = capsys.readouterr().out
    tree = hc.open_study(out)
    expected = prediction(tree["pruning/importance"].to_dataset(), tree["sweep/head-zero"].to_dataset(), "norm")
    assert rows(shown)["norm"][3] == "{:.2f} [{:.2f}, {:.2f}]".format(*expected)
    assert rows(shown)["michel"][3] == "1.00 [1.00, 1.00]"
    assert "headcount sweep" not in shown


def test_a_study_of_another_model_is_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    planted.save(tmp_path / "model")
    parts.texts(40).to_csv(tmp_path / "texts.csv", index=False)
    assert main(words(tmp_path, "--how", "zero", "--out", str(out), verb="sweep")) == 0
    capsys.readouterr()
    assert main(words(place, "--out", str(out))) == 2
    assert f"{out} is a study of the model {tmp_path / 'model'} [" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--task", "nonsense"], "expected one of"),
        (["--data", "no/such.csv"], "there is no file"),
        (["--task", "mrpc"], "no column sentence1"),
        (["--label", "stars"], "no label column 'stars'"),
        (["--task", "masked-lm"], "cannot do masked-lm"),
        (["--device", "cuda:77"], "not here"),
        (["--frobnicate"], "--frobnicate"),
        pytest.param(["--limit", "0"], "at least 1"),
        pytest.param(["--seed", "-1"], "seed"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(place, "--out", str(tmp_path / "study"))
    if more[0] in base:
        at = base.index(more[0])
        del base[at : at + 2]
    assert main([*base, *more]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert not captured.out
    assert not (tmp_path / "study").exists()


def test_a_model_without_a_trained_classifier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    assert main(["importance", "bundled:pretrained", *BUNDLED[2:], "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert not out.exists()


def test_it_says_that_the_classifier_is_not_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["importance", "bundled:pretrained", *BUNDLED[2:]]) == 2
    assert "cannot do classification" in capsys.readouterr().err


def test_one_example(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--limit", "1")) == 0
    assert "on 1 example" in capsys.readouterr().out


def test_killed_it_goes_on(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    parts.texts(960).to_csv(tmp_path / "texts.csv", index=False)
    command = [
        "importance",
        str(place / "model"),
        "--task",
        "sst2",
        "--data",
        str(tmp_path / "texts.csv"),
        "--batch-tokens",
        "16",
        "--out",
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "headcount.cli.main", *command, str(out)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    done = out / "pruning" / "importance" / "done" / "c"
    while process.poll() is None and len(list(done.glob("*"))) < 2:
        time.sleep(0.005)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {one.name: one.stat().st_mtime_ns for one in done.glob("*")}
    assert 2 <= len(before) < 15
    assert main([*command, str(out)]) == 0
    resumed = capsys.readouterr().out
    assert {one.name: one.stat().st_mtime_ns for one in done.glob("*") if one.name in before} == before
    assert main([*command, str(tmp_path / "whole")]) == 0
    assert rows(capsys.readouterr().out) == rows(resumed)
    first, second = (hc.open_study(one)["pruning/importance"] for one in (out, tmp_path / "whole"))
    for name in ("values_michel", "michel", "michel_low", "norm"):
        np.testing.assert_array_equal(first[name], second[name])
