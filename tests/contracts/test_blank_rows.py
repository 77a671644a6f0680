"""Rows with nothing to look at or to predict change no result: for every kind of task and every verb."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.choosing.halves import read_halves
from headcount.cli.main import main
from headcount.data.tasks import find_task
from headcount.errors import BlankRows, DataProblem
from headcount.training.splits import read_splits
from tests import planted
from tests.measures import tiny
from tests.pruning import jobs
from tests.training import toy

BLANK = st.sampled_from([None, float("nan"), "", " ", "\n\t", "[SEP]", "\u200b"])
FEW = settings(max_examples=4, deadline=None)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("planted"))


@st.composite
def sprinkled(
    draw: Any,
    table: pd.DataFrame,
    columns: tuple[str, ...],
    words: bool = False,
    cell: Any = BLANK,
    lists: tuple[str, ...] = (),
) -> Any:
    """The table with blank rows between its own, and without them; rows keep their numbers in both.

    `lists`: the columns that hold lists of texts.
    """
    places = sorted(draw(st.lists(st.integers(0, len(table)), min_size=1, max_size=6)), reverse=True)
    rows, real = table.to_dict("records"), [True] * len(table)
    for place in places:
        empty = st.sampled_from([None, [], [" "]])
        cells = {column: draw(empty if words or column in lists else cell) for column in columns}
        rest = {key: [] if words else value for key, value in rows[0].items() if key not in columns}
        rows.insert(place, cells | rest)
        real.insert(place, False)
    whole = pd.DataFrame(rows)
    for column in columns:
        whole[column] = whole[column].astype(object)
    return whole, whole[real]


def assert_equal(one: Any, other: Any) -> None:
    """The same numbers for the same examples; only what is said of blank rows differs."""
    if isinstance(one, xr.DataTree):
        for name in one.children:
            assert_equal(one[name].to_dataset(), other[name].to_dataset())
        assert one.children.keys() == other.children.keys()
        return
    xr.testing.assert_equal(one, other)
    assert one.attrs["identity"] == other.attrs["identity"], "a study of the one resumes with the other"


def quietly(work: Any, *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BlankRows)
        return work(*args, **options)


@pytest.mark.parametrize("kind", jobs.KINDS)
@FEW
@given(data=st.data())
def test_a_sweep_and_importance(tokenizer: Any, kind: str, data: Any) -> None:
    model, table, task = jobs.make(kind)
    whole, part = data.draw(sprinkled(table, task.columns(table), kind == "tags", lists=("documents",)))
    options: dict[str, Any] = {"task": task, "limit": data.draw(st.sampled_from([None, 4, 10]))}
    metric = "loss" if task.kind.name == "translation" else None
    found = quietly(hc.sweep, model, tokenizer, whole, by="layer", metric=metric, **options)
    expected = hc.sweep(model, tokenizer, part, by="layer", metric=metric, **options)
    assert_equal(found, expected)
    count = len(whole) - len(part)
    assert found.attrs["blank_rows"] == {
        "count": count,
        "of": len(whole),
        "rows": sorted(set(whole.index) - set(part.index)),
    }
    assert expected.attrs["blank_rows"]["count"] == 0
    assert_equal(
        quietly(hc.importance, model, tokenizer, whole, **options), hc.importance(model, tokenizer, part, **options)
    )


@pytest.mark.parametrize("kind", ["masked", "causal", "pairs", "translator"])
@FEW
@given(data=st.data())
def test_what_heads_look_at(kind: str, data: Any) -> None:
    model, tokenizer = {"pairs": tiny.masked, "translator": tiny.translator}.get(kind, getattr(tiny, kind, None))()  # type: ignore[misc]
    texts = jobs.TEXTS.tolist()
    columns = {"pairs": ("sentence1", "sentence2"), "translator": ("source", "target")}.get(kind, ("text",))
    table = pd.DataFrame({column: texts[number:] + texts[:number] for number, column in enumerate(columns)})
    # The tokenizer of the causal model has no special tokens.
    cell = BLANK.filter(lambda text: kind != "causal" or text != "[SEP]")
    whole, part = data.draw(sprinkled(table, columns, cell=cell))
    options: dict[str, Any] = {"limit": data.draw(st.sampled_from([None, 4])), "only": ["entropy", "position"]}
    found = quietly(hc.measure, model, tokenizer, whole, **options)
    assert_equal(found, hc.measure(model, tokenizer, part, **options))
    assert found.attrs["blank_rows"]["count"] == found["entropy"].attrs["blank_rows"]["count"] == len(whole) - len(part)
    if kind == "masked":
        assert_equal(quietly(hc.compare, model, model, tokenizer, whole), hc.compare(model, model, tokenizer, part))
        assert_equal(
            quietly(hc.find_patterns, model, tokenizer, whole)["patterns"].to_dataset(),
            hc.find_patterns(model, tokenizer, part)["patterns"].to_dataset(),
        )


def test_sentences_without_words(tmp_path: Path) -> None:
    word = "1\tgood\t_\tADJ\t_\t_\t0\troot\t_\t_\n"
    (tmp_path / "some.conllu").write_text(f"# sent_id = x\n\n{word}\n# nothing\n\n{word}\n")
    model, tokenizer = tiny.masked()
    with pytest.warns(BlankRows, match="2 of 4 rows are blank and were left out .rows 0, 2"):
        found = hc.measure(model, tokenizer, tmp_path / "some.conllu", only="features")
    assert sorted(found["features"].example.values) == [1, 3]


def test_one_text_of_a_pair(tokenizer: Any) -> None:
    """Something is left to look at: QQP has questions that are empty."""
    table = pd.DataFrame({"sentence1": ["it is good", None, ""], "sentence2": ["so bad", "bad", "good"]})
    model = jobs.random_model()
    found = hc.sweep(model, tokenizer, table.assign(label=[1, 0, 1]), task="classification", by="layer", how="uniform")
    assert sorted(found.example.values) == [0, 1, 2]
    assert sorted(hc.measure(model, tokenizer, table, only="sentences")["sentences"].example.values) == [0, 1, 2]


@FEW
@given(data=st.data())
def test_what_is_chosen_and_trained(tokenizer: Any, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole, part = data.draw(sprinkled(planted.texts(60), ("sentence",)))
    task = find_task("sst2")
    for one, other in zip(
        quietly(read_halves, whole, task, 50, 0, tokenizer), read_halves(part, task, 50, 0, tokenizer), strict=True
    ):
        pd.testing.assert_frame_equal(one, other, check_dtype=False)
        assert one.attrs["blank_rows"]["count"] == len(whole) - len(part)
    place = tmp_path_factory.mktemp("splits")
    whole.to_parquet(place / "whole.parquet")
    part.to_parquet(place / "part.parquet")
    one = quietly(read_splits, task, place / "whole.parquet", 20, tokenizer=tokenizer)
    other = read_splits(task, place / "part.parquet", 20, tokenizer=tokenizer)
    assert one.fingerprint == other.fingerprint
    assert len(one.train) == 20


def test_a_smaller_model(tokenizer: Any) -> None:
    table = planted.texts(60)
    whole = pd.concat([table[:30], pd.DataFrame({"sentence": ["", None], "label": [0, 1]}), table[30:]])
    whole = whole.reset_index(drop=True)
    options: dict[str, Any] = {"task": "sst2", "keep": 2, "steps": 2, "randoms": 1}
    with pytest.warns(BlankRows, match="2 of 62 rows are blank and were left out"):
        found = hc.choose(planted.classifier(), tokenizer, whole, **options)
    expected = hc.choose(planted.classifier(), tokenizer, table, **options)
    assert found.heads == expected.heads
    np.testing.assert_array_equal(found.held_out["score"].values, expected.held_out["score"].values)
    assert found.held_out.attrs["blank_rows"] == {"count": 2, "of": 62, "rows": [30, 31]}


def test_a_training(tmp_path: Path) -> None:
    toy.save_checkpoint(tmp_path / "model")
    pairs = toy.pairs(16)
    blank = pd.DataFrame({"sentence1": ["", None], "sentence2": [None, " "], "label": [0, 1]})
    toy.save_splits(tmp_path / "data", pd.concat([pairs, blank], ignore_index=True))
    with pytest.warns(BlankRows, match="rows"):
        hc.finetune(tmp_path / "model", "mrpc", tmp_path / "data", tmp_path / "runs", settings=toy.SHORT)
    result = json.loads((tmp_path / "runs" / "mrpc" / "pretrained" / "seed-0" / "result.json").read_text())
    assert result["blank_rows"]["train"] == {"count": 2, "of": 18, "rows": [16, 17]}


@pytest.mark.parametrize(
    "verb", ["sweep --task sst2", "importance --task sst2", "measure --only entropy", "patterns", "compare"]
)
def test_the_command_line_says_it_in_one_line(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted.save(tmp_path / "model")
    table = planted.texts(20)
    table.loc[[3, 7], "sentence"] = [" ", None]
    table.to_csv(tmp_path / "texts.csv", index=False)
    name, *more = verb.split()
    models = [str(tmp_path / "model")] * (2 if name == "compare" else 1)
    command = [name, *models, *more, "--data", str(tmp_path / "texts.csv"), "--device", "cpu"]
    capsys.readouterr()
    assert main(command) == 0
    said = f"headcount: {tmp_path / 'texts.csv'}: 2 of 20 rows are blank and were left out (rows 4, 8)\n"
    assert capsys.readouterr().err == said, "once, and nothing else"
    table.assign(sentence="").to_csv(tmp_path / "texts.csv", index=False)
    assert main(command) == 2
    said = f"headcount: {tmp_path / 'texts.csv'}: all 20 rows are blank, with nothing to look at or to predict"
    assert capsys.readouterr().err.startswith(said)


def test_python_warns(tokenizer: Any) -> None:
    table = planted.texts(10)
    table.loc[4, "sentence"] = ""
    with pytest.warns(BlankRows, match="^the table: 1 of 10 rows is blank and was left out .row 4.$"):
        hc.sweep(planted.classifier(), tokenizer, table, task="sst2", by="layer", how="uniform")
    with pytest.raises(DataProblem, match="all 10 rows are blank"):
        hc.sweep(planted.classifier(), tokenizer, table.assign(sentence=None), task="sst2", by="layer", how="uniform")
