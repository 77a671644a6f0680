"""The verb `prune` where it chooses: what goes, what it costs, at 80 columns; bad input, nothing by halves, a kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.choosing.halves import read_halves
from headcount.cli.main import main
from tests import planted
from tests.contracts.zoo import BY_NAME
from tests.pruning import planted as parts

BUNDLED = ["prune", "bundled:qnli", "--task", "qnli", "--data", "bundled:pairs"]
QUICK = ["--limit", "40", "--max-length", "40", "--steps", "2", "--randoms", "2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    for name, model in (
        ("needed", parts.classifier(parts.NEEDED, parts.STEEP)),
        ("backed", parts.classifier(parts.BACKED, parts.STEEP)),
        ("graded", parts.classifier(parts.GRADED)),
    ):
        model.save_pretrained(path / name)
        planted.tokenizer(path / name).save_pretrained(path / name)
    parts.texts(80).to_csv(path / "texts.csv", index=False)
    return path


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(place: Path, model: str, *more: str) -> list[str]:
    return ["prune", str(place / model), "--task", "sst2", "--data", str(place / "texts.csv"), *more]


def rows(shown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]


def gone(folder: Path) -> set[str]:
    model, _ = hc.load(folder)
    layout = hc.read_anatomy(model).layout
    whole = {f"L{layer}H{head}" for layer in range(2) for head in range(4)}
    return whole - {layout.spell(head) for head in layout}


def test_the_bundled_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, study = tmp_path / "small", tmp_path / "study"
    assert main([*BUNDLED, *QUICK, "--drop", "25%", "--out", str(out), "--study", str(study)]) == 0
    shown = capsys.readouterr().out
    lines = rows(shown)
    assert [line[0] for line in lines] == ["144", "108 *", "72", "0"]
    change = r"\d\.\d{3} [+-]\d\.\d{3} \[[+-]\d\.\d{3}, [+-]\d\.\d{3}\]"
    assert all(re.fullmatch(change, line[1]) for line in lines[1:])
    assert all(re.fullmatch(r"\d\.\d{3} \(\d\.\d{3}-\d\.\d{3}\)", line[2]) for line in lines[1:])
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith(("Saved", "Next")))
    told = " ".join(shown.split())
    assert "accuracy on the held-out half, and its change from the whole model [95 % interval]:" in told
    assert "Without 36 of 144 heads (ordered by importance) accuracy changes by" in told
    assert re.search(r"[+-]0\.\d\d \[[+-]0\.\d\d, [+-]0\.\d\d\] on 20 held-out examples; random orders: ", told)
    assert "108 of 144 heads are left" in shown
    model, tokenizer = hc.load(out)
    assert hc.read_anatomy(model).layout.count == 108
    assert tokenizer("so")["input_ids"]
    tree = hc.open_study(study)
    confirmed = tree["pruning/curve@prune-confirming"]
    assert float(lines[1][1].split()[0]) == pytest.approx(float(confirmed["score"][0, 0]), abs=6e-4)
    first = [str(name) for name in confirmed["sequence"].values[0][:36]]
    layout = hc.read_anatomy(hc.load(hc.bundled())[0]).layout
    assert {layout.spell(head) for head in layout} - {
        layout.spell(head) for head in hc.read_anatomy(model).layout
    } == set(first)


@pytest.mark.parametrize(("size", "left"), [(["--keep", "5"], 5), (["--keep", "50%"], 4), (["--drop", "3"], 5)])
def test_sizes(place: Path, tmp_path: Path, size: list[str], left: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "graded", *size, "--steps", "1", "--out", str(tmp_path / "small"))) == 0
    assert f"{left} of 8 heads are left" in capsys.readouterr().out
    assert len(gone(tmp_path / "small")) == 8 - left


def test_a_tolerance_keeps_the_needed_head(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "needed", "--tolerance", "7", "--steps", "8", "--out", str(tmp_path / "small"))) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Selected: 7 heads, the largest cut shown to stay within 7 points of accuracy" in shown
    assert "That it stays within 7 points is confirmed by the held-out examples" in shown
    assert gone(tmp_path / "small") == {"L0H0", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"}


def test_computed_anew(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--keep", "1", "--steps", "8", "--anew", "--out", str(tmp_path / "small")]
    assert main(words(place, "backed", *more)) == 0
    assert len(gone(tmp_path / "small")) == 7
    assert "accuracy changes by +0.00 [" in " ".join(capsys.readouterr().out.split())


def test_where_nothing_can_go_nothing_is_written(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "order.txt").write_text("L0H1 L0H0 L0H2-3 L1")
    more = ["--tolerance", "0", "--steps", "8", "--order", f"file:{tmp_path / 'order.txt'}"]
    assert main(words(place, "needed", *more, "--out", str(tmp_path / "small"))) == 1
    assert capsys.readouterr().err.startswith("headcount: no model was written; give a larger --tolerance, or more")
    assert not (tmp_path / "small").exists()


def test_what_cannot_be_shown_is_not_cut_but_by_estimate(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = words(place, "needed", "--tolerance", "1", "--steps", "8", "--out", str(tmp_path / "small"))
    assert main(command) == 1
    captured = capsys.readouterr()
    shown = " ".join(captured.out.split())
    assert re.search(
        r"with 40 examples; about [\d,]+ would be needed for the smallest. "
        r"The largest cut whose point estimate stays within it on these examples removes 7 heads.",
        shown,
    )
    said = "no model was written; give more examples, a larger --tolerance, --drop 25%, or --by-estimate"
    assert captured.err == f"headcount: {said}\n"
    assert not (tmp_path / "small").exists()
    assert main([*command, "--by-estimate"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Too few held-out examples to tell whether it stays within 1 point: about" in shown
    assert len(gone(tmp_path / "small")) == 7


def test_an_order_of_ones_own(place: Path, tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_text("L1H3, L0H0\nL0H2 L1H1 L0H1 L1H0 L0H3 L1H2\n")
    more = ["--drop", "3", "--order", f"file:{tmp_path / 'order.txt'},random", "--randoms", "1", "--steps", "2"]
    assert main(words(place, "graded", *more, "--out", str(tmp_path / "small"))) == 0
    assert gone(tmp_path / "small") == {"L1H3", "L0H0", "L0H2"}


def test_every_layer_keeps_one(place: Path, tmp_path: Path) -> None:
    more = ["--keep", "2", "--at-least", "1", "--steps", "2", "--out", str(tmp_path / "small")]
    assert main(words(place, "graded", *more)) == 0
    assert gone(tmp_path / "small") == {"L0H0", "L0H2", "L0H3", "L1H0", "L1H1", "L1H3"}


@pytest.mark.parametrize("teaching", [[], ["--hidden", "--temperature", "3"], ["--no-teacher"]], ids=" ".join)
def test_trained_on_after_the_cut(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], teaching: list[str]
) -> None:
    (tmp_path / "order.txt").write_text("L0H1 L0H0 L1H1-3 L0H2-3 L1H0")
    more = [
        "--drop",
        "2",
        "--order",
        f"file:{tmp_path / 'order.txt'}",
        "--steps",
        "1",
        "--recover",
        "60",
        "--learning-rate",
        "0.01",
        *teaching,
    ]
    assert main(words(place, "graded", *more, "--out", str(tmp_path / "small"))) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert gone(tmp_path / "small") == {"L0H1", "L0H0"}
    how = "" if "--no-teacher" in teaching else " with the whole model as the teacher"
    said = re.search(rf"Fine-tuned for 60 steps{how} on the selection half: accuracy (\d\.\d+) -> (\d\.\d+)", shown)
    assert said is not None
    assert float(said[2]) > 0.9
    whole, small = hc.load(place / "graded")[0], hc.load(tmp_path / "small")[0]
    assert not torch.equal(whole.classifier.weight, small.classifier.weight)


def test_the_seed_is_that_of_the_recovery_too(place: Path, tmp_path: Path) -> None:
    more = ["--drop", "2", "--order", "importance", "--steps", "1", "--recover", "2", "--learning-rate", "0.01"]
    assert main(words(place, "graded", *more, "--seed", "1", "--out", str(tmp_path / "small"))) == 0
    pruned = hc.load(tmp_path / "small")[0]
    trained = []
    for seed in (1, 0):
        model, tokenizer = hc.load(place / "graded")
        selection, _ = read_halves(place / "texts.csv", hc.find_task("sst2"), None, 1, tokenizer)
        hc.prune(model, gone(tmp_path / "small"))
        whole = hc.load(place / "graded")[0]
        hc.recover(model, tokenizer, selection, task="sst2", teacher=whole, max_steps=2, learning_rate=0.01, seed=seed)
        trained.append(model.state_dict())
    weights = pruned.state_dict()
    assert all(torch.equal(weights[key], trained[0][key]) for key in weights)
    assert any(not torch.equal(weights[key], trained[1][key]) for key in weights)


def test_one_stack_of_a_translator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacrebleu")
    config = tf.MarianConfig(
        **BY_NAME["marian"].options | {"max_position_embeddings": 160, "encoder_layers": 1, "decoder_layers": 1}
    )
    torch.manual_seed(0)
    tf.MarianMTModel(config).save_pretrained(tmp_path / "model")
    planted.tokenizer(tmp_path / "model").save_pretrained(tmp_path / "model")
    texts = planted.texts(40)["sentence"]
    pd.DataFrame({"source": texts, "target": texts.values[::-1]}).to_csv(tmp_path / "pairs.csv", index=False)
    command = [
        "prune",
        str(tmp_path / "model"),
        "--task",
        "translation",
        "--data",
        str(tmp_path / "pairs.csv"),
        "--stack",
        "cross",
        "--order",
        "random",
        "--randoms",
        "1",
        "--steps",
        "1",
        "--keep",
    ]
    assert main([*command, "10", "--out", str(tmp_path / "small")]) == 0
    assert "bleu" in capsys.readouterr().out
    layout = hc.read_anatomy(hc.load(tmp_path / "small")[0]).layout
    assert [len(layers[0]) for layers in layout.stacks.values()] == [4, 4, 2]
    assert main([*command, "6", "--out", str(tmp_path / "smaller")]) == 2
    assert "only 4 of 12 heads may go" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--tolerance", "-1"], "got --tolerance -1.0; expected at least 0"),
        (["--keep", "145"], "got --keep 145; the model has 144 heads"),
        (["--drop", "144"], "the model has 144 heads"),
        (["--drop", "-1"], "the model has 144 heads"),
        (["--keep", "half"], "'half'; expected a number of heads"),
        (["--keep", "80", "--drop", "10"], "exactly one of"),
        (["--keep", "80", "--tolerance", "1"], "exactly one of"),
        (["--keep", "80", "--order", "file:ORDER-missing"], "has no L11H11 (1 missing); expected every head"),
        (["--keep", "80", "--order", "file:ORDER-twice"], "has L3H7 twice; expected every head once"),
        (["--keep", "80", "--order", "file:ORDER-unknown"], "'L12H0', but the model has layers L0 to L11"),
        (["--keep", "80", "--order", "file:nowhere"], "there is no file nowhere"),
        (["--keep", "80", "--order", "clever"], "got the order 'clever'"),
        (["--keep", "80", "--limit", "39"], "got 39 examples; expected at least 40"),
        (["--keep", "80", "--data", "no/such.csv"], "there is no file"),
        (["--keep", "80", "--task", "nonsense"], "expected one of"),
        (["--keep", "80", "--device", "cuda:77"], "not here"),
        (["--heads", "L0H0"], "got --task, which has no effect here: --heads says which heads go"),
        (["--keep", "80", "--by-estimate"], "got --by-estimate, which has no effect without --tolerance"),
        ([], "say what to remove"),
        pytest.param(["--keep", "80", "--order", "importance,clever"], "got the order 'clever'"),
        pytest.param(["--keep", "80", "--stack", "cross"], "the model has encoder"),
        pytest.param(["--keep", "80", "--steps", "0"], "at least 1"),
        pytest.param(["--keep", "80", "--recover", "-1"], "got --recover -1; expected at least 0"),
        pytest.param(["--keep", "80", "--order", "random", "--randoms", "0"], "random"),
    ],
)
def test_bad_input(tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    heads = [f"L{layer}H{head}" for layer in range(12) for head in range(12)]
    for name, order in (("missing", heads[:-1]), ("twice", [*heads, "L3H7"]), ("unknown", [*heads, "L12H0"])):
        (tmp_path / f"ORDER-{name}").write_text(" ".join(order))
    options = {"--task": "qnli", "--data": "bundled:pairs", "--limit": "40", "--max-length": "40", "--steps": "1"}
    given = [word.replace("ORDER", str(tmp_path / "ORDER")) for word in more]
    for at, word in enumerate(given):
        if word in options:
            options[word] = given[at + 1]
    rest = [word for at, word in enumerate(given) if word not in options and (at == 0 or given[at - 1] not in options)]
    out, study = tmp_path / "small", tmp_path / "study"
    command = ["prune", "bundled:qnli", *[word for pair in options.items() for word in pair], *rest]
    assert main([*command, "--out", str(out), "--study", str(study)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert not captured.out
    assert not out.exists()
    assert not study.exists()


def test_a_model_without_a_trained_classifier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, study = tmp_path / "small", tmp_path / "study"
    command = ["prune", "bundled:pretrained", *BUNDLED[2:], *QUICK, "--keep", "80"]
    assert main([*command, "--out", str(out), "--study", str(study)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()
    assert not study.exists()


def test_a_place_that_is_taken(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything is computed, and what is there stays."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "mine.txt").write_text("mine")
    command = words(place, "graded", "--keep", "4", "--steps", "1", "--out", str(tmp_path / "small"))
    assert main([*command, "--study", str(tmp_path / "study")]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()
    assert [one.name for one in (tmp_path / "small").iterdir()] == ["mine.txt"]
    assert main([*command, "--overwrite"]) == 2
    assert "headcount did not write what is in" in capsys.readouterr().err
    assert [one.name for one in (tmp_path / "small").iterdir()] == ["mine.txt"]
    (tmp_path / "small" / "mine.txt").rename(tmp_path / "mine.txt")
    assert main(command) == 0
    (tmp_path / "mine.txt").rename(tmp_path / "small" / "mine.txt")
    assert main([*command, "--overwrite"]) == 0
    assert len(gone(tmp_path / "small")) == 4
    assert (tmp_path / "small" / "mine.txt").read_text() == "mine", "what headcount did not write stays"


@pytest.mark.parametrize("where", ["graded", "graded/small", ".", "study", "study/small"])
def test_an_output_that_is_not_a_place_of_its_own(
    place: Path, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study").mkdir()
    out = tmp_path / where if where.startswith("study") else place / where
    before = sorted(one.name for one in place.rglob("*"))
    command = words(place, "graded", "--keep", "4", "--steps", "1", "--study", str(tmp_path / "study"))
    assert main([*command, "--overwrite", "--out", str(out)]) == 2
    assert "is, contains or lies in the" in capsys.readouterr().err
    assert sorted(one.name for one in place.rglob("*")) == before
    assert not list((tmp_path / "study").iterdir())


def test_killed_it_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*BUNDLED, *QUICK, "--keep", "100", "--order", "importance,random"]
    out, study = tmp_path / "small", tmp_path / "study"
    given = [*command, "--out", str(out), "--study", str(study)]
    process = subprocess.Popen(
        [sys.executable, "-m", "headcount.cli.main", *given],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list(study.glob("sweep/sets-zero@prune-choosing/done/c/*")):
        time.sleep(0.002)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    assert main(given) == 0
    resumed = capsys.readouterr().out
    whole = [*command, "--out", str(tmp_path / "whole"), "--study", str(tmp_path / "other")]
    assert main(whole) == 0
    expected = capsys.readouterr().out
    assert rows(resumed) == rows(expected)
    assert len(rows(expected)) == 4
    first, second = (hc.load(one)[0] for one in (out, tmp_path / "whole"))
    assert hc.read_anatomy(first).layout == hc.read_anatomy(second).layout


def test_a_recovery_that_diverges_saves_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is saved; exit code 1: the input was good, the training was not."""
    more = ["--keep", "4", "--steps", "2", "--order", "importance", "--out", str(tmp_path / "small")]
    assert main(words(place, "needed", *more, "--recover", "2", "--learning-rate", "1e30")) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the recovery diverged and nothing was saved" in said
    assert "give a lower --learning-rate than 1e+30" in said
    assert not (tmp_path / "small").exists()
