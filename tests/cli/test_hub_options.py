"""`--split` and `--config` of data on the hub, and GLUE from the hub where there is no `--data`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.cli.hub_options import join_hub_options
from headcount.cli.main import main
from headcount.data import hub
from headcount.errors import InvalidOption
from tests import planted

SPLITS = {"train": 0, "validation": 1, "test": 2}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is read from the hub, in place of which there are toy texts."""
    found: list[tuple[Any, ...]] = []

    def read(path: str, config: str | None, split: str) -> pd.DataFrame:
        found.append((path, config, split))
        return planted.texts(64).sample(48, random_state=SPLITS[split]).reset_index(drop=True)

    monkeypatch.setattr(hub, "read_hub", read)
    monkeypatch.setattr(hub.HubData, "has", lambda self, split: split in SPLITS)
    return found


def test_options_become_part_of_the_name() -> None:
    plain = ["sweep", "m", "--data", "hub:a/b", "--limit", "3"]
    assert join_hub_options(plain) == plain
    for words in (["--split", "test", "--config", "c"], ["--config=c", "--split=test"]):
        joined = join_hub_options(["sweep", *words, "m", "--data", "hub:a/b", "--limit", "3"])
        assert joined == ["sweep", "m", "--data", "hub:a/b,config=c,split=test", "--limit", "3"]
    assert join_hub_options(["measure", "m", "--data=hub:a/b", "--split", "test"])[-1] == "--data=hub:a/b,split=test"


def test_a_file_of_options_stays_one(tmp_path: Path) -> None:
    (tmp_path / "options").write_text("limit = 4")
    for file in (str(tmp_path / "options"), "absent.toml"):
        words = ["sweep", "m", "--data", "hub:a/b", "--config", file]
        assert join_hub_options(words) == words
        both = join_hub_options([*words, "--split", "test"])
        assert both == ["sweep", "m", "--data", "hub:a/b,split=test", "--config", file]


@pytest.mark.parametrize(
    "words",
    [
        ["--data", "pairs.csv", "--split", "test"],
        ["--split", "test"],
        ["--data", "hub:a/b", "--split"],
        ["--data", "hub:a/b", "--split", "test", "--split", "train"],
    ],
)
def test_what_is_refused(words: list[str]) -> None:
    with pytest.raises(InvalidOption, match="--split"):
        join_hub_options(["sweep", "m", *words])


def test_a_verb_reads_the_named_split(
    tmp_path: Path, asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    planted.save(tmp_path)
    (tmp_path / "options.toml").write_text("limit = 8")
    words = ["--data", "hub:a/b", "--split", "test", "--config", "c", "--config", str(tmp_path / "options.toml")]
    assert main(["sweep", str(tmp_path), "--task", "sst2", "--by", "layer", *words]) == 0
    assert main(["measure", str(tmp_path), "--only", "entropy", "--text", "sentence", *words]) == 0
    assert asked == [("a/b", "c", "test")] * 2
    assert "--split" in capsys.readouterr().out or main(["importance", "--help"]) == 0


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("importance", []),
        ("choose", ["--drop", "1", "--randoms", "1", "--steps", "2"]),
        ("curve", ["--randoms", "1", "--steps", "2"]),
        ("prune", ["--drop", "1", "--randoms", "1", "--steps", "2", "--out", "small"]),
    ],
)
def test_without_data_the_hubs_glue(
    verb: str, more: list[str], tmp_path: Path, asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sst2").mkdir()  # a folder of that name is not what is meant
    planted.save(tmp_path / "model")
    assert main([verb, "model", "--task", "sst2", "--limit", "44", *more]) == 0
    assert asked == [("nyu-mll/glue", "sst2", "validation")]


def test_a_budget_takes_its_training_texts_from_the_hub(
    tmp_path: Path, asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planted.save(tmp_path / "model")
    budget = ["--what", "both", "--weights", "95%", "--steps", "1", "--randoms", "1", "--out", "small"]
    assert main(["prune", "model", "--task", "sst2", *budget]) == 0
    assert set(asked) == {("nyu-mll/glue", "sst2", "validation"), ("nyu-mll/glue", "sst2", "train")}


def test_other_tasks_need_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted.save(tmp_path)
    capsys.readouterr()
    for verb in ("sweep", "importance", "curve"):
        assert main([verb, str(tmp_path), "--task", "classification"]) == 2
        said = capsys.readouterr().err
        assert "classification" in said
        assert "--data" in said
        assert said.count("\n") == 1
