"""The example in the help of every verb runs as it is printed; one after the other they tell one story."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

import headcount as hc
from headcount.cli.main import app, main
from tests import planted
from tests.choosing import planted_vectors

STORY = {
    "heads": None,
    "maps": "study",
    "sweep": "study",
    "measure": "study",
    "compare": "study",
    "find-patterns": "study",
    "probe": "study",
    "cues": None,
    "cue-heads": None,
    "adversarial": "twins.csv",
    "importance": "study",
    "gates": "study",
    "attribution": "study",
    "carriers": None,
    "function-vectors": "vectors-study",
    "circuit": None,
    "paths": None,
    "curve": "study",
    "choose": "study",
    "agreement": None,
    "prune": "small/config.json",
    "refit": "refitted/config.json",
    "recover": "recovered/config.json",
    "cost": None,
    "export": "small-onnx/model.onnx",
    "finetune": "runs/runs.csv",
    "partial": "parts/summary.csv",
    "dynamics": None,
    "report": "report.html",
    "explain": "study",
    "doctor": None,
    "figure": "heads.pdf",
    "table": "heads.csv",
}
"""The verbs in the order in which their examples need each other, and what each leaves behind."""
ELSEWHERE = {"demo", "live"}  # tests/cli/test_demo.py, tests/cli/test_live.py
FEW_SHOT = "--data synthetic:few-shot --limit 200 --out study"
PROMPTS = "--data prompts.csv --task completion --repeated synthetic:repeat,length=6 --texts 3 --out vectors-study"
STAND_INS = {
    f"MODEL {FEW_SHOT}": f"vectors {PROMPTS}",
    "demo-out": "study",
    "study-mrpc study-rte": "study other-study",
    "export small": "export tiny",
}
"""What no example before it has made; a tiny model, as ONNX takes half a minute for 12 layers."""
SMALLER = {
    "--limit 150": "--limit 90 --max-length 24",
    "--data synthetic:repeat": "--data synthetic:repeat,length=6",
    "--limit 100 --out refitted": "--limit 20 --out refitted",
    "--limit 100": "--limit 3",
    "--limit 40": "--limit 3",
    "--limit 64": "--limit 4",
    "--max-steps 20": "--max-steps 2",
    "--max-steps 50": "--max-steps 1",
    "--batches 1,16 --lengths 64": "--batches 1 --lengths 8",
    "--tolerance 1": "--drop 10%",  # a tolerance needs more examples than there is time for
}
MORE = {
    "carriers": "--limit 40 --top 2 --randoms 1",
    "circuit": "--limit 40 --max-length 16 --passes 0 --subsets 1 --randoms 1",
    "paths": "--limit 8 --max-length 16",
    "measure": "--distance-examples 2",
    "prune": "--limit 40 --steps 2 --randoms 1",
    "choose": "--limit 40 --steps 2 --randoms 1",
    "curve": "--limit 40 --max-length 16 --name curve",
    "recover": "--limit 4 --max-length 16",
    "refit": "--max-length 16",
    "gates": "--max-length 16 --price 0.01",
    "finetune": "--limit 8 --num-train-epochs 1 --max-length 16 --checkpoints 1",
    "partial": "--limit 8 --num-train-epochs 1 --max-length 16 --seeds 1 --baselines bag-of-vectors",
    "dynamics": "--limit 40 --steps 1",
}
"""Words that only save time."""
ARGUMENTS = {
    "claim": ["tea", "tea"],
    "warrant0": ["it helps", "so so"],
    "warrant1": ["it hurts", "no"],
    "label": [0, 1],
}
"""A user's own data."""


def example_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*([verb] if verb else []), "--help"]) == 0
    (found,) = re.findall(r"^Example: (headcount .*?) *$", capsys.readouterr().out, flags=re.MULTILINE)
    return str(found)


def run(command: str) -> None:
    for word, other in (STAND_INS | SMALLER).items():
        command = command.replace(word, other)
    words = shlex.split(command)[1:]
    assert main([*words, *MORE.get(words[0], "").split()]) == 0, command


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")  # no line is broken
    monkeypatch.setattr(app, "_console", Console(width=300))  # each verb keeps the width of its first help
    assert STORY.keys() | ELSEWHERE == {name for name in app if not name.startswith("-")}
    run(example_of("", capsys))
    hc.save(hc.prune(planted.classifier(), "L0H1"), planted.tokenizer(tmp_path / "words"), "tiny")
    pd.DataFrame(ARGUMENTS).to_csv("arct.csv", index=False)
    questions = {"question": ["who is it?"] * 2, "other": ["what is it?"] * 2, "sentence": ["a cat.", "me."]}
    pd.DataFrame(questions | {"label": [0, 1]}).to_csv("questions.csv", index=False)
    planted_vectors.save(tmp_path / "vectors")
    planted_vectors.prompts(12).to_csv("prompts.csv", index=False)
    pd.DataFrame({"original": ["tea"], "negated": ["no tea"]}).to_csv("claims.csv", index=False)
    for verb, left in STORY.items():
        example = example_of(verb, capsys)
        if verb == "agreement":
            run(example_of("sweep", capsys).replace("--out study", "--out other-study --how zero"))
            capsys.readouterr()
        assert left in (None, "study") or not Path(left).exists()
        run(example)
        shown = capsys.readouterr()
        assert shown.out.strip() or verb == "table", f"{example} says nothing"
        assert left is None or Path(left).exists(), example
