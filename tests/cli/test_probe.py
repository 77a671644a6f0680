"""`headcount probe`: the table and its sentences, JSON, a study, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests.measures.planted import planted_attention
from tests.probing.documents import documents
from tests.probing.framebank import frames
from tests.probing.treebank import sentences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probe")
    model, tokenizer = planted_attention()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    sentences(120).to_json(folder / "trees.jsonl", orient="records", lines=True)
    frames(120).to_json(folder / "frames.jsonl", orient="records", lines=True)
    return folder


def typed(folder: Path, *more: str) -> list[str]:
    return ["probe", str(folder / "model"), "--data", str(folder / "trees.jsonl"), *more]


def test_table_and_sentences(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(folder, "--out", str(tmp_path / "study"))) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if "│ det" in line)
    assert "L0H3 ->" in row
    assert "of 3 relations a head is shown to beat every fixed offset" in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    assert "probe/dependencies" in [group[1:] for group in hc.open_study(tmp_path / "study").groups]
    assert main(["table", str(tmp_path / "study"), "--group", "probe/dependencies"]) == 0
    assert "relation_gain" in capsys.readouterr().out
    assert shown.splitlines()[-1].split("Next: ")[1].startswith(f"headcount report {tmp_path / 'study'}")
    assert main(["report", str(tmp_path / "study"), "--output", str(tmp_path / "page.html")]) == 0


def test_coreference(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(tmp_path / "documents.jsonl")
    documents(40).to_json(data, orient="records", lines=True)
    study = str(tmp_path / "study")
    assert main(["probe", str(folder / "model"), "--kind", "coreference", "--data", data, "--out", study]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if "│ pronoun" in line)
    assert "L0H3 ->" in row
    assert "For pronoun mentions a head is shown to be right more often" in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    assert main(["table", study, "--group", "probe/coreference"]) == 0
    assert main(["report", study, "--output", str(tmp_path / "page.html")]) == 0
    assert "finds an antecedent of" in (tmp_path / "page.html").read_text(encoding="utf-8")
    more = ["--candidates", "mentions", "--json", "--no-control"]
    assert main(["probe", str(folder / "model"), "--kind", "coreference", "--data", data, *more]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["relation"] for row in said["relations"]] == ["all", "pronoun"]


def test_frames(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(tmp_path / "study")
    command = ["probe", str(folder / "model"), "--kind", "frames", "--data", str(folder / "frames.jsonl")]
    assert main([*command, "--out", study]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if "│ L0H3 ->" in line)
    assert "+1.000 [+1.000, +1.000]" in row
    said = " ".join(shown.split())
    assert "with at most 12 words │ 120 │" in said
    assert "L0H3, element to predicate, is furthest above unlinked words" in said
    assert "Whether these heads matter for a task: headcount sweep" in said
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    assert main(["table", study, "--group", "probe/frames"]) == 0
    assert "excess_q[element to predicate]" in capsys.readouterr().out
    assert main(["report", study, "--output", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main([*command, "--json", "--no-control"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["attributes"]["filter"]["with at most 12 words"] == 120
    assert told["relations"][0]["best_head"] == "L0H3"


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(folder, "--json", "--no-control", "--relations", "det, obj")) == 0
    said = json.loads(capsys.readouterr().out)
    det = next(row for row in said["relations"] if row["relation"] == "det")
    assert (det["best_head"], det["best_direction"]) == ("L0H3", "dependent to head")
    assert "baseline_random_weights" not in det


def test_json_of_a_part_has_no_rows(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(folder, "--json", "--shard", "1/2", "--out", str(tmp_path / "study"))) == 0
    assert json.loads(capsys.readouterr().out)["relations"] == []


def test_classifiers(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(tmp_path / "study")
    classifiers = typed(folder, "--kind", "classifiers", "--seeds", "1", "--limit", "40", "--out", study)
    assert main(classifiers) == 0
    shown = capsys.readouterr().out
    assert "│ right-branching" in shown
    assert "Largest weights of the attention-only classifier:" in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    assert "Next: headcount report" in shown.splitlines()[-1]
    assert main(["table", study, "--group", "probe/classifiers"]) == 0
    assert "weight[head to dependent]" in capsys.readouterr().out
    assert main([*classifiers, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["attributes"]["split"]["test"] == 4
    assert {"probe", "uas", "uas_low", "uas_high", "gain_distance"} <= set(said["classifiers"][0])
    assert main(["report", study, "--output", str(tmp_path / "page.html")]) == 0


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--relations", "dobj"], "got the relation 'dobj', which never occurs; the sentences have dep"),
        (["--kind", "constituents"], "constituents"),
        (["--from-word", "max"], "max"),
        (["--kind", "classifiers", "--vectors", "none.txt"], "cannot read none.txt: No such file or directory"),
        (["--kind", "classifiers", "--seeds", "0"], "--seeds 0"),
        (["--kind", "classifiers", "--limit", "5"], "got 5 sentences"),
        (["--limit", "0"], "--limit"),
        (["--name", "again"], "--out"),
    ],
)
def test_bad_input(folder: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed(folder, *more)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert expected in said


def test_bad_trees(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_\n"
    (tmp_path / "a.conllu").write_text("".join(line.format(n, "dog", head) for n, head in ((1, 2), (2, 1))) + "\n")
    assert main(["probe", str(folder / "model"), "--data", str(tmp_path / "a.conllu")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "circle" in said or "at least two" in said
