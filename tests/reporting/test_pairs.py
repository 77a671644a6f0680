"""What the page is told of pairs: rows of heads by their numbers, the strongest first, and a figure of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.core.claims import KINDS
from headcount.reporting.pairs import PARTS, find_pairs
from headcount.reporting.view import read_view
from tests import planted, planted_pairs
from tests.pruning import jobs

ROW = {name: 3 + at for at, name in enumerate(PARTS)}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    model, tokenizer = planted_pairs.backups(), planted.tokenizer(folder / "tokenizer")
    hc.sweep(model, tokenizer, planted.texts(), task="sst2", by=hc.Pairs("L0H0, L1"), out=folder / "study")
    return folder / "study"


def test_the_rows_are_the_results(study: Path) -> None:
    view = read_view(study)
    (told,) = find_pairs(view)
    result = hc.open_study(study)["sweep/pair-zero"].to_dataset()
    names = [view.layout.spell(head) for head in view.layout]
    assert names == ["L0H0", "L0H1", "L1H0", "L1H1"], "all heads of the model, though three were run"
    accuracy, loss = told["tables"]
    assert (accuracy["title"], loss["title"]) == ("accuracy", "the loss")
    first, second, kind, *numbers = accuracy["rows"][0]
    assert (names[first], names[second], KINDS[kind]) == ("L0H0", "L1H1", "redundant")
    row = result.sel(head_pair="L0H0 + L1H1")
    for name, number in zip(PARTS, numbers, strict=True):
        assert number == pytest.approx(float(row[name]), rel=1e-3), name
    assert loss["rows"][0][ROW["interaction"]] == pytest.approx(float(row["loss_interaction"]), rel=1e-3)
    sizes = [abs(each[ROW["interaction"]]) for each in accuracy["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    assert told["alone"]["values"] == [0, None, 0, 0]


def test_the_findings_hold_the_sentences(study: Path) -> None:
    from tests.reporting.said import all_sentences

    said = all_sentences(read_view(study))
    assert "without two heads (pair-zero):" in said[0]
    assert any("1 redundant" in sentence for sentence in said)


def test_pairs_of_several_stacks(tmp_path: Path) -> None:
    model, data, task = jobs.make("marian")
    tokenizer = planted.tokenizer(tmp_path / "tokenizer")
    among = "encoder.L0H1, cross.L1H0, decoder.L1H2"
    hc.sweep(model, tokenizer, data, task=task, by=hc.Pairs(among), metric="loss", out=tmp_path / "study")
    view = read_view(tmp_path / "study")
    (told,) = find_pairs(view)
    names = [view.layout.spell(head) for head in view.layout]
    found: set[Any] = {(names[row[0]], names[row[1]]) for row in told["tables"][0]["rows"]}
    assert ("encoder.L0H1", "decoder.L1H2") in found
    assert len(found) == 3
    assert len(told["tables"]) == 1, "the loss is the metric"
    assert np.isfinite([row[3] for row in told["tables"][0]["rows"]]).all()
