"""The README's lines of code work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

import headcount as hc
from tests.contracts.zoo import BY_NAME, inputs, tiny
from tests.models.test_load import save_with_tokenizer

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_lines_work(tmp_path: Path) -> None:
    save_with_tokenizer(tmp_path)
    code = BLOCKS[0].replace("path-or-hub-name", str(tmp_path)).replace('"L3H7", "L5"', '"L0H1", "L2"')
    exec(compile(code, "README.md", "exec"), {})


def test_the_second_lines_work() -> None:
    names: dict[str, Any] = {
        "hc": hc,
        "model": tiny("bert", head="AutoModelForSequenceClassification"),
        "gates": torch.ones(3, 4, requires_grad=True),
        "inputs": inputs(BY_NAME["bert"]) | {"labels": torch.tensor([0, 1, 2])},
    }
    exec(compile(BLOCKS[1], "README.md", "exec"), names)
    assert names["gates"].grad is not None
    assert names["seen"].map_gradients
