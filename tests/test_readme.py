"""The README's Python runs as it is printed, and its commands have the options that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.cli.main import app
from tests.contracts.zoo import CASES

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(r"^    (headcount .*?)(?:  +#.*)?$", README, flags=re.MULTILINE)
STAND_INS = {"path-or-hub-name": hc.bundled("qnli")}
"""What a reader puts in place of a name."""


def run(block: str, names: dict[str, Any]) -> None:
    for word, stand_in in STAND_INS.items():
        block = block.replace(word, stand_in)
    exec(compile(block, "README.md", "exec"), names)


def test_every_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    passes: list[torch.Tensor] = []
    load = hc.load

    def loaded(*args: Any, **kwargs: Any) -> Any:
        model, tokenizer = load(*args, **kwargs)
        model.float().register_forward_hook(lambda *call: passes.append(call[-1].logits.detach()))
        return model, tokenizer

    monkeypatch.setattr(hc, "load", loaded)
    assert len(BLOCKS) == 4, "a block that no test looks at"
    names: dict[str, Any] = {}

    run(BLOCKS[0], names)
    model, tokenizer = names["model"], names["tokenizer"]
    text = tokenizer("A sentence.", return_tensors="pt")
    plain = model(**text).logits
    assert not torch.allclose(passes[0], plain), "nothing was left out"
    with hc.ablated(model, ["L3H7", *(f"L5H{head}" for head in range(12))], how="uniform"):
        assert torch.equal(model(**text).logits, passes[0])

    run(BLOCKS[1], names)
    assert (tmp_path / "L2H9.pdf").read_bytes().startswith(b"%PDF")

    # What the reader has: gates for the model, and inputs with labels.
    names |= {"gates": torch.ones(12, 12, requires_grad=True), "inputs": text | {"labels": torch.tensor([1])}}
    run(BLOCKS[2], names)
    assert names["gates"].grad.abs().min() > 0
    assert names["seen"].maps["encoder"].shape == names["seen"].map_gradients["encoder"].shape == (12, 12, 1, 5, 5)

    run(BLOCKS[3], names)
    layers = hc.read_anatomy(names["model"]).layout.stacks["encoder"]
    assert (layers[3], layers[5]) == (tuple(head for head in range(12) if head != 7), ())
    kept, again = model.state_dict(), names["model"].state_dict()
    assert all(torch.equal(tensor, again[key]) for key, tensor in kept.items()), "bit for bit"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_understood(command: str) -> None:
    app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)


def test_the_families_that_are_claimed_are_those_that_are_tested() -> None:
    listed = re.findall(r"- Families: (.*?)\. A model of any other", README, flags=re.DOTALL)
    claimed = listed[0].replace("XLM-R", "XLM-RoBERTa")
    plain = lambda name: re.sub(r"[^a-z0-9]", "", name.lower())
    assert {plain(name) for name in claimed.split(",")} == {plain(case.name) for case in CASES}


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) > 15
