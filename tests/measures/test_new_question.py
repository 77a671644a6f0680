"""A question is added as docs/architecture.md says, in one file and one line: terminal, page and figure speak of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from rich.console import Console

import headcount as hc
from headcount.cli.measure import explain, measure_lines
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Question, Schemas, Seen, Setting, Values, share_of_attention
from headcount.reporting.document import describe
from headcount.reporting.figure import choose_drawing
from headcount.reporting.view import read_view
from headcount.story.changes import changed_rows
from tests.measures.planted import ROLES, SENTENCES, planted_attention

TITLE, MOST, ROLE = "Attention to the last token", "looks most at the last token", "last token"


class Last(Question):
    """Mean attention to the last token of a text: where an encoder has its final [SEP]."""

    name = "last"
    summary = "attention to the last token of a text"
    paper = "Clark 2019, Fig 2"
    schemas: ClassVar[Schemas] = {"attention": share_of_attention("the last token", role=ROLE, rank=0)}

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": ()}

    def see(self, seen: Seen) -> Values:
        real = seen.keys.real
        last = torch.zeros_like(real).scatter_(1, real.sum(-1, keepdim=True).long() - 1, 1.0)
        return {"attention": seen.mean(seen.view.mass_on(last[:, None] > 0))}


def naive(model: Any, tokenizer: Any, texts: list[str]) -> np.ndarray:
    """[text, layer, head]: the last column of each map, mean over its rows."""
    maps = [hc.observe(model, tokenizer(text, return_tensors="pt")).maps["encoder"][:, :, 0] for text in texts]
    return np.stack([one[..., -1].mean(-1).numpy() for one in maps])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, xr.DataTree]:
    """Measured and compared with the new question in the catalogue, and nothing else changed."""
    path = tmp_path_factory.mktemp("new") / "study"
    model, tokenizer = planted_attention()
    other, _ = planted_attention()
    with torch.no_grad():
        other.bert.encoder.layer[0].attention.self.query.weight.mul_(0.1)
    data = pd.DataFrame({"text": SENTENCES})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MEASURES, "last", Last())
        table = io.StringIO()
        Console(file=table, width=200).print(explain())
        assert Last.summary in table.getvalue()
        measured = hc.measure(model, tokenizer, data, only=("position", "special", "last"), out=path)
        compared = hc.compare(other, model, tokenizer, data, out=path)
    rows = {row[0]: row for row in changed_rows({name: node.to_dataset() for name, node in compared.children.items()})}
    assert rows["last: attention"][3].startswith(ROLES["separator"])
    return path, measured


def test_it_is_the_naive_formula(study: tuple[Path, xr.DataTree]) -> None:
    expected = naive(*planted_attention(), SENTENCES)
    found = study[1]["last"].to_dataset().sortby("example")
    np.testing.assert_allclose(found["values_attention"].values[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(found["attention"].values[0], expected.mean(0), atol=1e-5)


def test_the_terminal_names_the_planted_head(study: tuple[Path, xr.DataTree]) -> None:
    shown = io.StringIO()
    Console(file=shown, width=200).print(measure_lines(study[1])[0])
    (line,) = [line for line in shown.getvalue().splitlines() if MOST in line]
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    value = float(study[1]["last"]["attention"].max())
    assert cells[:2] == [MOST, ROLES["separator"]]
    assert cells[2].startswith(f"{value:.3f} [")


def test_the_page_shows_it(study: tuple[Path, xr.DataTree]) -> None:
    page, _ = describe(read_view(study[0]), str(study[0]))
    metrics = {metric["id"]: metric for metric in page["colourings"]}
    last = metrics["measures/last:attention"]
    assert (last["title"], last["kind"]) == (TITLE, "sequential")
    assert (last["unit"], last["group"]) == ("share of attention", "What it looks at")
    assert set(last) >= {"low", "high", "says"}
    changed = metrics["compare/last:attention"]
    assert (changed["title"], changed["kind"]) == (f"Change: {TITLE}", "diverging")
    (sentence,) = [line for section in page["findings"] for line in section["sentences"] if MOST in line]
    assert sentence.startswith(f"{ROLES['separator']} {MOST}: ")
    roles = metrics["roles"]
    heads = [head[3] for head in page["heads"]]
    assert roles["names"][roles["values"][heads.index(ROLES["separator"])]] == ROLE


def test_a_figure_draws_it(study: tuple[Path, xr.DataTree]) -> None:
    assert choose_drawing(read_view(study[0]), "last.attention")


def test_the_array_carries_its_meaning(study: tuple[Path, xr.DataTree]) -> None:
    array = hc.open_study(study[0])["measures/last"]["attention"]
    assert array.attrs["long_name"] == TITLE
    assert array.attrs["paper"] == Last.paper


def test_a_question_without_an_answer_is_none() -> None:
    class Mute(Question):
        name, summary, paper = "mute", "nothing", "none"

        def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
            return {}

    with pytest.raises(TypeError, match="see"):
        Mute()  # type: ignore[abstract]


def test_every_question_answers() -> None:
    for question in MEASURES.values():
        assert type(question).see is not Question.see
        assert question.schemas
