"""The verb `patterns`: a table of five patterns, how good the names are, JSON for scripts, bad input is one line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.attention_maps.find_patterns import find_patterns
from headcount.cli.find_patterns import find_patterns as verb
from headcount.cli.main import main
from headcount.patterns.naming import PATTERNS, read_rule
from headcount.story.patterns import pattern_rows
from tests import planted
from tests.measures.test_patterns import LONG
from tests.measures.tiny import translator

LIMIT = 4


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose heads look at all tokens alike, and texts of which the first is too short for a pattern."""
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    words = planted.WORDS[5:]
    rows = ["so good", *(" ".join(words[:size]) * 2 for size in (5, 6, 7, 8))]
    pd.DataFrame({"text": rows, "note": "more"}).to_csv(path / "texts.csv", index=False)
    return path


def words(place: Path, *more: str) -> list[str]:
    return ["patterns", str(place / "model"), "--data", str(place / "texts.csv"), *more]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The example of the help on fewer texts: its study, and what was printed on a screen of 80 columns."""
    found = re.search(r"Example: headcount (.*)", verb.__doc__ or "")
    assert found
    command = shlex.split(found[1])
    command[command.index("--limit") + 1] = str(LIMIT)
    shown = io.StringIO()
    folder = tmp_path_factory.mktemp("example")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown):
        patch.setenv("COLUMNS", "80")
        patch.chdir(folder)
        assert main(command) == 0
    return folder / "study", shown.getvalue()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│")[1:-1]]


def test_the_table(example: tuple[Path, str]) -> None:
    study, shown = example
    lines = shown.splitlines()
    table = [cells(line) for line in lines if line.startswith("│")]
    assert [row[0] for row in table] == list(PATTERNS)
    dataset = hc.open_study(study)["measures/patterns"].to_dataset()
    assert [tuple(row) for row in table] == pattern_rows(dataset, "encoder")
    assert sum(int(row[2]) for row in table) == 144
    assert sum(float(row[1].split(" ")[0]) for row in table) == pytest.approx(100, abs=2)
    assert all(len(line) <= 80 for line in lines[:-1])


def test_how_good_the_names_are(example: tuple[Path, str]) -> None:
    said, rule = " ".join(example[1].split()), read_rule()
    headline = rule.said
    assert f"95 % intervals: over {LIMIT} texts, and the mistakes of the rule" in said
    assert (
        f"On {headline['maps']:.0f} labelled maps, each of a model family that the rule had not seen, its macro "
        f"F1 is {headline['f1']:.2f} [{headline['f1_low']:.2f}, {headline['f1_high']:.2f}] "
        f"(accuracy {round(100 * headline['accuracy'])}%; weakest: block {rule.f1['block']:.2f}, "
        f"heterogeneous {rule.f1['heterogeneous']:.2f})"
    ) in said
    assert f"two labellings agree on {round(100 * headline['agreement'])}% of them." in said


def test_where_it_is_and_what_comes_next(example: tuple[Path, str]) -> None:
    study, shown = example
    assert shown.splitlines()[-1] == ("Saved in study. Next: headcount report study, or headcount table study --to csv")
    opened = hc.open_study(study)
    assert set(opened.children) == {"measures", "patterns"}
    assert opened["patterns/typical"].attrs["complete"] is True


def test_the_study_as_a_table(example: tuple[Path, str], tmp_path: Path) -> None:
    assert main(["table", str(example[0]), "--to", "csv", "-o", str(tmp_path / "heads.csv")]) == 0
    table = pd.read_csv(tmp_path / "heads.csv")
    measured = table[table["result"] == "measures"]
    assert len(measured) == 144
    shares = measured[[f"patterns.share[{name}]" for name in PATTERNS]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1)


def test_the_same_command_again(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(place, "--out", str(tmp_path / "study"))
    assert main(command) == 0
    first = capsys.readouterr().out
    assert f"Saved in {tmp_path / 'study'}." in first
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*") if path.is_file()}
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*") if path.is_file()}
    assert main([*command, "--seed", "1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "seed: 0 -> 1" in error
    assert main([*command, "--seed", "1", "--name", "second"]) == 0
    assert "typical@second" in hc.open_study(tmp_path / "study")["patterns"].children


def test_without_a_study_nothing_is_kept(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words(place)) == 0
    captured = capsys.readouterr()
    assert "Saved" not in captured.out
    assert captured.err == ""
    assert list(tmp_path.iterdir()) == []
    row = next(line for line in captured.out.splitlines() if line.startswith("│ heterogeneous"))
    low = 100 * (1 - read_rule().share_margin(np.ones(1))[0])  # texts that are all alike leave the rule's mistakes
    assert cells(row) == ["heterogeneous", f"100 [{low:.0f}, 100]", "4", "L0H0, L0H1, L1H0"]


def test_json_is_what_the_library_finds(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--json", "--limit", "4", "--seed", "2", "--max-length", "12")) == 0
    found = json.loads(capsys.readouterr().out)
    options = {"limit": 4, "seed": 2, "max_length": 12}
    expected = find_patterns(*hc.load(place / "model"), place / "texts.csv", **options)
    assert found["attributes"] == expected.attrs
    assert set(found["measures"]) == {"patterns"}
    rows = found["measures"]["patterns"]
    assert [(row["layer"], row["head"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for row in rows:
        share = expected["patterns"]["share"].sel(stack="encoder", layer=row["layer"], head=row["head"])
        assert [row[f"share[{name}]"] for name in PATTERNS] == pytest.approx(share.values.tolist())
        assert row["mostly"] == PATTERNS.index("heterogeneous")


def test_cut_texts_are_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--max-length", "10")) == 0
    assert re.search(r"\d texts were longer than the model takes and were cut\.", capsys.readouterr().out)


def test_a_translation_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table for the encoder and one for the decoder; cross attention has no patterns."""
    monkeypatch.setenv("COLUMNS", "120")
    model, tokenizer = translator()
    for one in (model, tokenizer):
        one.save_pretrained(tmp_path / "model")
    pd.DataFrame({"source": LONG, "target": LONG[::-1]}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["patterns", str(tmp_path / "model"), "--data", str(tmp_path / "t.csv")]) == 0
    shown = capsys.readouterr().out
    assert "The encoder's self-attention" in shown
    assert "The decoder's self-attention" in shown
    assert "cross" not in shown
    assert "encoder.L" in shown
    assert "nan" not in shown
    assert shown.count("│ vertical+diagonal ") == 2


def test_texts_too_short_for_a_pattern(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"text": ["so good", "so bad"]}).to_csv(tmp_path / "short.csv", index=False)
    command = ["patterns", str(place / "model"), "--data", str(tmp_path / "short.csv"), "--out", str(tmp_path / "s")]
    assert main(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "expected some of 8 or more" in captured.err
    assert not (tmp_path / "s").exists()


def test_targets_too_short_for_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The encoder has patterns; the decoder, which has none, has no table of nan."""
    monkeypatch.setenv("COLUMNS", "120")
    model, tokenizer = translator()
    for one in (model, tokenizer):
        one.save_pretrained(tmp_path / "model")
    pd.DataFrame({"source": LONG, "target": "He ran."}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["patterns", str(tmp_path / "model"), "--data", str(tmp_path / "t.csv")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("│ vertical+diagonal ") == 1
    assert "encoder.L" in shown
    assert "decoder" not in shown
    assert "nan" not in shown


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--data", "no/such.csv"], "there is no file"),
        (["--data", "bundled:nonsense"], "expected bundled:pairs, bundled:sentences or a file"),
        (["--text", "stars"], "stars"),
        (["--limit", "0"], "--limit 0"),
        (["--limit", "few"], "few"),
        (["--batch-tokens", "-1"], "--batch-tokens -1"),
        (["--max-length", "2"], "got --max-length 2; expected at least 8"),
        (["--device", "cuda:77"], "not here"),
        (["--name", "a/../b"], "a/../b"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(place, "--out", str(tmp_path / "study"))
    if "--data" in more:
        del base[2:4]
    assert main([*base, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bundled:pretrained"], "--data"),
        (["bundled:nonsense", "--data", "bundled:pairs"], "got the bundled model 'nonsense'"),
        (["no/such/model", "--data", "bundled:pairs"], "expected a folder"),
    ],
)
def test_what_is_missing(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patterns", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert expected in captured.err


def test_a_place_that_is_no_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for out, expected in ((tmp_path, "is not a study"), (tmp_path / "notes.txt", "is a file")):
        assert main(words(place, "--out", str(out))) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert expected in captured.err
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_damaged_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study"
    assert main(words(place, "--out", str(study))) == 0
    (study / "patterns/typical/zarr.json").write_text("{")
    capsys.readouterr()
    assert main(["table", str(study)]) == 2
    assert "patterns/typical is damaged" in capsys.readouterr().err
    assert main(words(place, "--out", str(study))) == 0
    assert "patterns/typical was damaged" in capsys.readouterr().err
    assert main(["table", str(study)]) == 0
