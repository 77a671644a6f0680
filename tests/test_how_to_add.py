"""The recipes of docs/architecture.md, each followed once: what is added works everywhere without further changes."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS
from headcount.cli.main import main
from headcount.data.kinds.classification import Classification
from headcount.data.kinds.metrics import Metric, Outputs
from headcount.errors import InvalidOption
from headcount.models.families.plan import Family, StackPlan
from headcount.models.families.registry import FAMILIES
from headcount.models.load import load_model
from headcount.reporting.colourings import effect_of
from headcount.reporting.document import describe
from headcount.reporting.view import read_view
from headcount.trace.call import AttentionCall
from headcount.trace.variants import Replacement
from tests import planted
from tests.closeness import assert_same
from tests.contracts import test_promises as promises
from tests.contracts import zoo

ROOT = Path(__file__).parent.parent
FOLLOWED = {
    "An executor": "tests/engines/test_executors.py::test_an_executor",
    "A family": "tests/test_how_to_add.py::test_a_family",
    "A kind of annotations": "tests/probing/test_new_kind.py::test_a_kind",
    "A kind of task": "tests/data/kinds/test_new_kind.py::test_a_kind",
    "A measure": "tests/measures/test_new_question.py::test_the_page_shows_it",
    "A metric": "tests/test_how_to_add.py::test_a_metric",
    "A replacement": "tests/test_how_to_add.py::test_a_replacement",
    "A source of synthetic texts": "tests/data/synthetic/test_new_source.py::test_a_source",
}
"""By recipe, the test that follows it."""
ELSEWHERE = {"An option"}
"""Recipes whose every entry is tested by a table of its own."""


def test_every_recipe_is_followed() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    recipes = set(re.findall(r"^\*\*(An? [^*]+)\.\*\*", text.partition("## How to add")[2], flags=re.MULTILINE))
    assert recipes == set(FOLLOWED) | ELSEWHERE
    for address in FOLLOWED.values():
        path, _, name = address.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, address


def test_a_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record and a row in the zoo: the promises then hold for it, its heads can be cut, saved and loaded."""
    plan = StackPlan(
        stack="decoder",
        layer="layers.*",
        attention="self_attn",
        output="self_attn.o_proj",
        query="q_proj",
        key="k_proj",
        value="v_proj",
        size="head_dim",
        groups="num_key_value_groups",
    )
    assert "starcoder2" not in FAMILIES
    monkeypatch.setitem(FAMILIES, "starcoder2", Family(("starcoder2",), (plan,)))
    options = {**zoo.BY_NAME["llama"].options, "num_key_value_heads": 2}
    case = zoo.Case("starcoder2", "Starcoder2Config", options, kind="decoder", float32_inside=True)
    monkeypatch.setitem(zoo.BY_NAME, case.name, case)
    for kernel in case.kernels:
        promises.test_gates_of_one_change_nothing(case, kernel, "right")
        promises.test_zero_equals_zeroed_columns(case, kernel, "left")
        promises.test_uniform_equals_overwritten_weights(case, kernel, "right")
        promises.test_mean_puts_the_mean_over_real_tokens(case, kernel, "none")
    model, batch = zoo.exact(case.name), zoo.inputs(case)
    with hc.ablated(model, ["L0H1", "L1H2-3"], how="zero"):
        expected = zoo.run(model, batch)
    hc.prune(model, ["L0H1", "L1H2-3"])
    assert_same(zoo.run(model, batch), expected, case.within)
    hc.save(model, None, tmp_path / "small")
    assert_same(zoo.run(load_model(tmp_path / "small", dtype=torch.float64), batch), expected, case.within)


class Negated(Replacement):
    """The heads give the opposite."""

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return -outputs


def test_a_replacement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A class and an entry in the table: contexts, sweeps and the command line take it, the promises hold for it."""
    monkeypatch.setitem(REPLACEMENTS, "negated", Negated)
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(20)
    batch = tokenizer(texts["sentence"].tolist(), padding=True, return_tensors="pt")
    gates = torch.ones(2, 2)
    gates[0, 0] = -1
    with torch.no_grad(), hc.gated(model, gates):
        expected = model(**batch).logits
    with torch.no_grad(), hc.ablated(model, "L0H0", how="negated"):
        torch.testing.assert_close(model(**batch).logits, expected, rtol=0, atol=0)
    swept = hc.sweep(model, tokenizer, texts, task="sst2", how="negated")
    logits = swept["logits"].sel(layer=0, head=0).values[0]
    np.testing.assert_allclose(logits, expected.numpy(), atol=1e-6)
    assert not np.allclose(logits, swept["baseline_logits"].values)
    with pytest.raises(InvalidOption, match="reference=, which has no effect here"):
        hc.sweep(model, tokenizer, texts, task="sst2", how="negated", reference=texts)
    texts.to_csv(tmp_path / "texts.csv", index=False)
    folder = str(planted.save(tmp_path / "model"))
    words = ["sweep", folder, "--task", "sst2", "--data", str(tmp_path / "texts.csv"), "--how", "negated", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["choices"][0]["score"] == float(swept["score"][0, 0, 0])
    for name in ("bert", "llama", "t5"):
        promises.test_nothing_stays_behind(zoo.BY_NAME[name], "negated")


def _wrong(outputs: Outputs, labels: Any) -> np.ndarray:
    wrong = (outputs["logits"].argmax(-1) != np.asarray(labels)).astype(float)
    return np.stack([wrong, np.ones_like(wrong)], -1)


def test_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example gives, how sums make the score, and an entry for a kind: sweeps, claims and the page take it."""
    error = Metric("error", _wrong, lambda sums: sums[..., 0] / sums[..., 1], higher_is_better=False)
    monkeypatch.setattr(Classification, "metrics", (*Classification.metrics, error))
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(40)
    study = tmp_path / "study"
    swept = hc.sweep(model, tokenizer, texts, task="sst2", how="zero", metric="error", out=study)
    plain = hc.sweep(model, tokenizer, texts, task="sst2", how="zero", metric="accuracy")
    np.testing.assert_allclose(swept["score"], 1 - plain["score"])
    np.testing.assert_allclose(swept["delta"], -plain["delta"])
    described, _ = describe(read_view(study), str(study))
    effect = effect_of(described["colourings"])
    assert effect is not None
    assert (effect["unit"], effect["higher"]) == ("error", False)
