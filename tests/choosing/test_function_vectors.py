"""Are planted function-vector heads found, apart from induction heads, and are all numbers those of a plain loop?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import hypergeom, spearmanr

import headcount as hc
from headcount.ablation.donors import split_by_answer
from headcount.ablation.hows import FunctionVector
from headcount.ablation.job import prepare_job
from headcount.choosing.function_vectors import BOTH, INDUCTION, NEITHER, VECTOR, _roles, function_vectors
from headcount.core.heads import Head
from headcount.errors import DataProblem, InvalidOption
from headcount.models.anatomy import read_anatomy
from tests.choosing import pairs, planted_vectors
from tests.closeness import ROUNDED, assert_same

REPEATED = "synthetic:repeat,length=6"
OPTIONS: dict[str, Any] = {"task": "completion", "repeated": REPEATED, "texts": 12}


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return function_vectors(*planted_vectors.decoder(), planted_vectors.prompts(), **OPTIONS)


def at(result: xr.Dataset, name: str, head: str) -> float:
    layer, number = map(int, head[1:].split("H"))
    return float(result[name].sel(stack="decoder", layer=layer, head=number))


def test_the_planted_head_carries_the_task_and_does_no_induction(found: xr.Dataset) -> None:
    carrier, induction = planted_vectors.CARRIER, planted_vectors.INDUCTION
    assert int(np.argmax(found["rise"].values)) == 4, "L1H0"
    assert at(found, "rise_low", carrier) > 1
    assert at(found, "rise_q", carrier) < 0.01
    assert at(found, "probability", carrier) > 0.2
    assert at(found, "role", carrier) == VECTOR
    assert at(found, "role", induction) == INDUCTION
    assert at(found, "induction", induction) > 0.5
    assert at(found, "rise", "L0H0") == 0, "it writes nothing"
    assert list(found["task"].values) == ["one", "two"]
    assert (found["rise_of_task_low"].sel(stack="decoder", layer=1, head=0) > 1).all()
    assert float(found["clean"]) > float(found["corrupted"]) + 1
    assert float(found["honest_rise"]) > 1


def naive(job: Any, seed: int) -> np.ndarray:
    """[head, example]: the log-probability of the answer with each head's mean, one example and head at a time."""
    layout = read_anatomy(job.model).layout
    halves = split_by_answer(job.counterparts.tasks, [text[1] for text in job.examples.texts], seed)
    ends = [next(at for at, label in enumerate(row["labels"]) if label != -100) - 1 for row in job.encodings.rows]
    clean = [pairs.outputs(job, row) for row in job.encodings.rows]
    rows = []
    for head in layout:
        scores = []
        for example, (task, half) in enumerate(halves):
            others = [number for number, one in enumerate(halves) if one == (task, 1 - half)]
            mean = torch.stack([clean[number][head][ends[number]] for number in others]).mean(0)
            given = job.counterparts.encodings.rows[example]
            last = next(at for at, label in enumerate(given["labels"]) if label != -100) - 1

            def put(one: Head, output: torch.Tensor, head: Head = head, mean: Any = mean, last: int = last) -> Any:
                if one == head:
                    output = output.clone()
                    output[:, last] = mean
                return output

            scores.append(pairs.score(job, given, put).item())
        rows.append(scores)
    return np.array(rows)


def test_equal_to_a_loop_over_heads_and_prompts() -> None:
    model, tokenizer = planted_vectors.decoder()
    torch.manual_seed(1)
    with torch.no_grad():  # a model in which every head does something
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    table = planted_vectors.prompts(12)
    found = function_vectors(model, tokenizer, table, **OPTIONS, seed=3)
    job = prepare_job(model, tokenizer, table, "completion", FunctionVector(), "log_probability", None, 3, None)
    scores = naive(job, 3)
    shuffled = np.array([pairs.score(job, row).item() for row in job.counterparts.encodings.rows])  # type: ignore[union-attr]
    shape = found["rise"].shape
    assert_same(found["rise"].values, (scores - shuffled).mean(1).reshape(shape), ROUNDED)
    assert_same(found["probability"].values, (np.exp(scores) - np.exp(shuffled)).mean(1).reshape(shape), ROUNDED)
    first = table["task"] == "one"
    assert_same(
        found["rise_of_task"].sel(task="one").values, (scores - shuffled)[:, first].mean(1).reshape(shape), ROUNDED
    )
    assert float(found["corrupted"]) == pytest.approx(shuffled.mean(), rel=1e-5)
    clean = np.array([pairs.score(job, row).item() for row in job.encodings.rows])
    assert float(found["clean"]) == pytest.approx(clean.mean(), rel=1e-5)


def test_induction_is_that_of_the_measure(found: xr.Dataset) -> None:
    model, tokenizer = planted_vectors.decoder()
    measured = hc.measure(model, tokenizer, REPEATED, only=["induction"], limit=12)["induction"]
    assert_same(found["induction"].values, measured["gain"].values, ROUNDED)
    expected = spearmanr(found["rise"].values.ravel(), measured["gain"].values.ravel()).statistic
    assert float(found["correlation"]) == pytest.approx(expected)
    assert float(found["correlation_low"]) <= expected <= float(found["correlation_high"])


def test_halves_share_no_answer() -> None:
    generator = np.random.default_rng(0)
    tasks = generator.choice(["a", "b"], 60).tolist()
    answers = generator.choice(list("pqrstuv"), 60).tolist()
    halves = split_by_answer(tasks, answers, 0)
    assert [task for task, _ in halves] == tasks
    for task in "ab":
        sides = [
            {answer for answer, one in zip(answers, halves, strict=True) if one == (task, half)} for half in (0, 1)
        ]
        assert not sides[0] & sides[1]
        sizes = [halves.count((task, half)) for half in (0, 1)]
        assert abs(sizes[0] - sizes[1]) <= 6
    assert halves == split_by_answer(tasks, answers, 0)


def test_roles_beside_chance() -> None:
    known = np.ones((1, 2, 5), dtype=bool)
    known[0, 1, 4] = False
    vector, inductive = np.zeros_like(known), np.zeros_like(known)
    vector[0, 0, :3], inductive[0, 0, 1:5] = True, True
    found = {name: np.asarray(array[1]) for name, array in _roles(known, vector, inductive).items()}
    assert found["role"][0, 0].tolist() == [VECTOR, BOTH, BOTH, INDUCTION, INDUCTION]
    assert np.isnan(found["role"][0, 1, 4])
    assert found["role"][0, 1, 0] == NEITHER
    assert float(found["both_expected"]) == pytest.approx(3 * 4 / 9)
    assert float(found["both_p"]) == pytest.approx(sum(hypergeom.pmf(n, 9, 3, 4) for n in (2, 3)))


def test_accuracies_of_the_tasks(found: xr.Dataset) -> None:
    """`y` and `z` are equally probable after clean examples: one of them is always taken."""
    assert found["examples_of_task"].values.tolist() == [16, 16]
    assert found["clean_accuracy"].values.tolist() == [0.5, 0.5]
    assert (found["corrupted_accuracy"].values < 0.2).all()
    assert (found["clean_accuracy_low"].values < 0.5).all()
    assert (found["clean_accuracy_high"].values > 0.5).all()


def test_the_study_keeps_all_of_it(found: xr.Dataset, tmp_path: Path) -> None:
    stored = function_vectors(*planted_vectors.decoder(), planted_vectors.prompts(), **OPTIONS, out=tmp_path / "study")
    xr.testing.assert_allclose(stored, found)
    tree = hc.open_study(tmp_path / "study")
    names = {node.path.strip("/") for node in tree.subtree if node.attrs.get("complete")}
    assert names == {
        "sweep/head-function-vector@function-vectors",
        "measures/induction@function-vectors",
        "function_vectors/heads",
    }
    page = Path(hc.report(tmp_path / "study", tmp_path / "page.html")).read_text(encoding="utf-8")
    assert "Rank correlation with the induction score" in page
    assert "Function-vector head, induction head, or both" in page
    rows = hc.table(tmp_path / "study", group="function_vectors")
    assert {"rise", "induction", "clean_accuracy"} <= set(rows)


def test_what_is_refused() -> None:
    model, tokenizer = planted_vectors.decoder()
    table = planted_vectors.prompts(8)
    with pytest.raises(InvalidOption, match="task=completion"):
        function_vectors(model, tokenizer, table.rename(columns={"prompt": "text"}), task="causal-lm")
    with pytest.raises(DataProblem, match="counterpart"):
        function_vectors(model, tokenizer, table.drop(columns="counterpart"), **OPTIONS)
    with pytest.raises(DataProblem, match="all prompts of the task 'one' have the answer ' y'"):
        function_vectors(model, tokenizer, table.assign(completion=" y"), **OPTIONS)
    with pytest.raises(InvalidOption, match="texts"):
        function_vectors(model, tokenizer, table, **OPTIONS | {"texts": 0})
