"""The verbs on a language model with key/value groups: whole groups removed, perplexity, recovery with adapters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.pruning import lora as module
from tests.pruning import planted_groups as groups

HALF = ["--drop", "50%", "--steps", "2", "--randoms", "1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return groups.save(tmp_path_factory.mktemp("groups"))


def words(place: Path, verb: str, *more: str) -> list[str]:
    return [verb, str(place / "llama"), "--task", "causal-lm", "--data", str(place / "texts.csv"), *more]


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_whole_groups_go(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--by", "group", "--metric", "perplexity", "--no-normed", *HALF, "--out", str(tmp_path / "small")]
    assert main(words(place, "prune", *more)) == 0
    said = shown(capsys)
    assert "perplexity (lower is better) on the held-out half" in said
    number = r"\d+(?:\.\d)?"
    assert re.search(
        r"Without 6 of 12 heads \(3 of 6 key/value groups, ordered by importance\) perplexity changes by "
        rf"[+-]{number} \[[+-]{number}, [+-]{number}\] from {number} \[{number}, {number}\] \(lower is better\) on 24 "
        rf"held-out examples; a random order: [+-]{number}\.",
        said,
    )
    whole, small = (hc.read_anatomy(hc.load(folder)[0]) for folder in (place / "llama", tmp_path / "small"))
    assert small.layout.count == 6
    before, after = (sum(block.kv_heads for block in model.stacks["decoder"]) for model in (whole, small))
    assert (before, after) == (6, 3)
    assert main(["cost", str(place / "llama"), str(tmp_path / "small"), *COST]) == 0
    bytes_of = {heads: 2 * heads * groups.SIZE * 10 * 4 / 1e6 for heads in (6, 3)}
    assert f"{bytes_of[6]:.2f} -> {bytes_of[3]:.2f}" in shown(capsys)


COST = ["--batches", "1", "--lengths", "8", "--repeats", "1", "--new-tokens", "2"]


def test_costs_of_generation_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(place / "llama"), *COST, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["cache_bytes"] == 2 * 6 * groups.SIZE * 10 * 4
    assert row["prefill"] > 0
    assert row["decode"] > 0


def test_curves_of_groups(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "curve", "--by", "group", "--steps", "3", "--randoms", "1", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert sorted({row["removed"] for row in rows}) == [4, 8, 12]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            ["--drop", "5"],
            "got --drop 5; the groups have 2 heads, so that a multiple of 2 can go: give --drop 4, or --by",
        ),
        (["--keep", "5"], "got --keep 5; the groups have 2 heads, so that a multiple of 2 can go: give --keep 4"),
        (["--drop", "4", "--order", "file:order.txt"], "order.txt separates L0H0, L0H1, which share keys and values"),
    ],
)
def test_parts_of_groups_in_one_line(
    place: Path, more: list[str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    (place / "order.txt").write_text("L0H0 L0H2 L0H1 L0H3 L1 L2")
    assert main(words(place, "choose", "--by", "group", *more)) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_groups_of_unequal_size(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(place / "llama"), "--heads", "L0H0", "--out", str(tmp_path / "odd")]) == 0
    capsys.readouterr()
    command = words(place, "choose", "--by", "group", "--drop", "4")
    command[1] = str(tmp_path / "odd")
    assert main(command) == 2
    assert "have 1 to 2 query heads; expected groups of one size" in capsys.readouterr().err


def test_recovery_with_adapters(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("peft")
    more = [
        "--by",
        "group",
        "--metric",
        "perplexity",
        *HALF,
        "--recover",
        "30",
        "--no-teacher",
        "--lora",
        "--lora-rank",
        "2",
    ]
    command = words(place, "prune", *more, "--learning-rate", "0.02", "--out", str(tmp_path / "small"))
    assert main(command) == 0
    number = r"(\d+(?:\.\d+)?)"
    found = re.search(
        r"Fine-tuned for 30 steps with LoRA \(rank 2\) on the selection half: perplexity "
        rf"{number} -> {number} on the held-out half, ([+-]\d+(?:\.\d+)?) \[.*?\] from the whole model \({number} \[",
        shown(capsys),
    )
    assert found is not None
    cut, after, change, whole = map(float, found.groups())
    assert after < cut
    assert change == pytest.approx(after - whole, abs=1), "each is rounded"
    assert hc.read_anatomy(hc.load(tmp_path / "small")[0]).layout.count == 6
    assert main(["recover", str(tmp_path / "small"), *command[2:6], "--lora", "--out", str(tmp_path / "new")]) == 0
    assert "Fine-tuned for 100 steps with LoRA (rank 16); saved in" in shown(capsys)


@pytest.mark.parametrize("verb", ["prune", "recover"])
def test_without_peft_nothing_is_computed(
    place: Path, tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    more = [*HALF, "--recover", "2"] if verb == "prune" else []
    assert main(words(place, verb, *more, "--lora", "--out", str(tmp_path / "small"))) == 2
    error = capsys.readouterr().err
    assert "--lora needs peft: pip install 'headcount[lora]', or leave --lora out and train all weights" in error
    assert error.count("\n") == 1
