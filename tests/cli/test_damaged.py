"""A damaged study on the command line: one line that names result, file and command; that command puts it right."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests import planted
from tests.core.damage import Harm, delete, empty, files, flip, halve, harm


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, its data and a study of two results."""
    path = tmp_path_factory.mktemp("damaged")
    planted.save(path / "model")
    planted.texts(24).to_csv(path / "validation.csv", index=False)
    for by in ("head", "layer"):
        assert main(sweep(path, path / "study", by)) == 0
    return path


def sweep(place: Path, study: Path, by: str) -> list[str]:
    return [
        "sweep",
        str(place / "model"),
        "--task",
        "sst2",
        "--data",
        str(place / "validation.csv"),
        "--how",
        "zero",
        "--by",
        by,
        "--out",
        str(study),
    ]


FLIPPED = ("score/c/0/0/0", flip(9))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("score/c/0/0/0", delete),
        FLIPPED,
        ("logits/c/0/0/0/0/0", halve),
        ("delta/c/0/0/0", empty),
        ("zarr.json", delete),
        ("score/zarr.json", flip(300)),
        ("zarr.json", halve),
    ],
)
def test_the_command_that_is_named_puts_it_right(
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    how: Harm,
) -> None:
    monkeypatch.chdir(place)
    shutil.rmtree("again", ignore_errors=True)
    shutil.copytree("study", "again")
    file = Path("again") / "sweep" / "head-zero" / name
    before = files(Path("again"))
    harm(file, how)
    for verb in (
        ["table", "again"],
        ["report", "again", "-o", str(tmp_path / "page.html")],
        ["figure", "again", "-o", str(tmp_path / "x.svg")],
        ["agreement", "again"],
    ):
        if verb[0] == "agreement" and (name, how) == FLIPPED:
            continue  # it does not read it
        capsys.readouterr()
        assert main(verb) == 2, verb
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said
        assert f"sweep/head-zero is damaged (sweep/head-zero/{name} " in said
        command = said.partition("compute it again with: ")[2].strip()
    words = shlex.split(command)
    assert words[0] == "headcount"
    assert words[1:] == sweep(place, place / "study", "head"), "as it was typed"
    words[words.index("--out") + 1] = "again"
    assert main(words[1:]) == 0
    said = capsys.readouterr().err
    assert f"headcount: again: sweep/head-zero was damaged (sweep/head-zero/{name} " in said
    assert said.count("\n") == 1
    now = files(Path("again"))
    # The command has another --out now; all else is what it was, bit for bit.
    assert {key for key, content in now.items() if before.get(key) != content} == {
        "zarr.json",
        "sweep/head-zero/zarr.json",
    }
    assert set(now) == set(before)
    assert main(["table", "again"]) == 0


def test_a_result_that_is_whole_can_be_tabled(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = shutil.copytree(place / "study", tmp_path / "study")
    (study / "sweep/head-zero/score/c/0/0/0").unlink()
    assert main(["table", str(study), "--group", "sweep/layer-zero"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    assert main(["table", str(study), "--group", "sweep"]) == 2
    assert "sweep/head-zero is damaged" in capsys.readouterr().err
    assert main(sweep(place, study, "layer")) == 0
    said = capsys.readouterr().err
    assert "sweep/head-zero is damaged" in said, "the command for another result works, and tells"
    assert said.count("\n") == 1


def test_another_model_is_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = planted.classifier()
    model.classifier.weight.data.mul_(2)
    model.save_pretrained(tmp_path / "model")
    planted.tokenizer(tmp_path / "model").save_pretrained(tmp_path / "model")
    capsys.readouterr()
    words = ["measure", str(tmp_path / "model"), "--data", str(place / "validation.csv"), "--text", "sentence"]
    assert main([*words, "--only", "spread", "--out", str(place / "study")]) == 2
    said = capsys.readouterr().err
    assert f"{place / 'study'} is a study of the model {place / 'model'} [" in said
    assert f"this result is of {tmp_path / 'model'} [" in said
    assert "give another study folder" in said
    assert said.count("\n") == 1
    words[1] = str(place / "model")
    assert main([*words, "--only", "spread", "--dtype", "bfloat16", "--out", str(place / "study")]) == 2
    assert "the same name, but dtype float32 -> bfloat16" in capsys.readouterr().err
