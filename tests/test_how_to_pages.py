"""Every block of the how-to pages runs, in the order of its page and in an empty folder, as a reader would copy it.

```sh    commands; one that names something only the reader has (MODEL) is read by the command line without running
```python    runs, together with the blocks before it
```py    needs a package that is not installed for the tests: must be correct syntax
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import app, main
from tests import planted
from tests.models import test_sentence_files

FOLDER = Path(__file__).parent.parent / "docs" / "how-to"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
WHAT_ONLY_THE_READER_HAS = re.compile(r"\b(MODEL|RERANKER|beir-folder|runs/\S+)(?= |$)")
OTHER_PROGRAMS = {"pip", "sbatch", "tensorboard", "lm_eval"}
SMALLER = {
    r"curve (.*)--limit 60": r"curve \1--limit 44 --max-length 16",
    r"--limit 60": "--limit 6 --max-length 24",
    r"--limit 40": "--limit 4 --max-length 24",
    r"--steps [45]": "--steps 1",
    r"--randoms 2": "--randoms 1",
    r"--repeats 3": "--repeats 1",
    r"--lengths 64": "--lengths 8",
    r"--batches 1,16": "--batches 1",
    r"--length (64|32)": "--length 8 --steps 1 --randoms 1",
    r"--order importance,ablation,random": "--order importance,random",
    r"--data bundled:pairs --(what|drop)": r"--data bundled:pairs --limit 40 --max-length 16 --\1",
    r"(--drop 30%)": r"\1 --randoms 1",
    r"--relations det,nsubj,obj,case": "--relations det --limit 40 --no-control",
    r"--kind classifiers (.*) --limit 6": r"--kind classifiers \1 --limit 24 --no-control",
    r"--recover 20": "--recover 1",
}
"""What only saves time."""


def save_as_v4(folder: Path) -> None:
    """A model without three heads, as transformers 4 wrote it: smaller matrices and `pruned_heads`."""
    model = hc.prune(planted.classifier(), {0: [1], 1: [0]})
    hc.save(model, planted.tokenizer(folder.parent / "words"), folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    kept = {key: value for key, value in config.items() if key not in ("headcount", "auto_map")}
    kept |= {"architectures": ["BertForSequenceClassification"], "pruned_heads": {"0": [1], "1": [0]}}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    (folder / "headcount_model.py").unlink(missing_ok=True)


def make_embedder(folder: Path) -> None:
    test_sentence_files.written(folder.parent / "made").rename(folder)


def scored_pairs(path: Path) -> None:
    words = ["a cat", "me", "it", "a man and a cat", "who", "it is"]
    rows = [(one, other, number % 6) for number, (one, other) in enumerate(itertools.permutations(words, 2))]
    pd.DataFrame(rows * 2, columns=["sentence1", "sentence2", "label"]).to_csv(path, index=False)


WHAT_THE_READER_HAS: dict[str, dict[str, Callable[[Path], None]]] = {
    "load-a-v4-model": {"pruned-with-v4": save_as_v4},
    "faster-embeddings": {"EMBEDDER": make_embedder, "sts.csv": scored_pairs},
}
"""What the pages speak of as already there."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return [match.groups() for match in BLOCK.finditer(page.read_text("utf-8"))]


def commands(block: str) -> list[str]:
    return [line.partition("  #")[0].strip() for line in block.splitlines() if not line.startswith("#")]


def shortened(command: str) -> str:
    for longer, shorter in SMALLER.items():
        command = re.sub(longer, shorter, command)
    return command


def run_command(command: str) -> None:
    program, *words = shlex.split(command)
    if program == "python":
        assert importlib.util.find_spec(words[words.index("-m") + 1]), command
    elif program != "headcount":
        assert program in OTHER_PROGRAMS, command
    elif WHAT_ONLY_THE_READER_HAS.search(command):
        app.parse_args(words, exit_on_error=False, print_error=False)
    else:
        assert main(shlex.split(shortened(command))[1:]) == 0, command


def run_python(block: str, page: Path, names: dict[str, Any]) -> None:
    if importlib.util.find_spec("tensorboard") is None:
        block = block.replace('report_to="tensorboard"', 'report_to="none"')
    exec(compile(block.replace("limit=60", "limit=6"), page.name, "exec"), names)


@pytest.mark.filterwarnings("ignore")  # of other packages, such as sentence-transformers
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, make in WHAT_THE_READER_HAS.get(page.stem, {}).items():
        make(tmp_path / name)
    names: dict[str, Any] = {}
    ran = 0
    for language, block in blocks(page):
        if language == "sh":
            for command in commands(block):
                run_command(command)
        elif language == "python":
            run_python(block, page, names)
        elif language == "py":
            compile(block, page.name, "exec")
        else:
            assert language == "", f"a block of {page.name} that no test looks at: {language}"
        ran += language != ""
    assert ran, f"{page.name} shows nothing to type"


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text("utf-8")))
    assert listed == {page.name for page in PAGES}
