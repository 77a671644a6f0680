"""Parts of the input: which columns each has, what is refused, and the tables that remain."""

from __future__ import annotations

import pytest

from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption
from headcount.training.parts import Part, find_parts, restrict, shared_name
from headcount.training.splits import Splits
from tests.training import toy

PRESENT = ("claim", "reason", "warrant0", "warrant1", "label")
WARRANTS = ("warrant0", "warrant1")


def test_the_inputs_of_the_paper() -> None:
    """Without `text`, the context is what the inputs name, in the order in which they do."""
    parts = find_parts(["warrant", "reason,warrant", "warrant, claim", "all"], PRESENT, None, WARRANTS)
    assert parts == [
        Part("warrant", (), WARRANTS),
        Part("reason,warrant", ("reason",), WARRANTS),
        Part("claim,warrant", ("claim",), WARRANTS),
        Part("all", ("reason", "claim"), WARRANTS),
    ]
    (whole,) = find_parts(["all"], PRESENT, ["claim", "reason"], WARRANTS)
    assert whole.columns == ("claim", "reason"), "text= says which, and in which order"
    assert find_parts(["choices"], PRESENT, ["claim"], WARRANTS) == [Part("warrant", (), WARRANTS)]


def test_choices_without_a_shared_name() -> None:
    assert shared_name(["first", "second"]) == ""
    present = ("context", "first", "second")
    assert find_parts(["choices", "all"], present, ["context"], ["first", "second"])[0].name == "choices"
    with_column = (*PRESENT, "warrant")
    parts = find_parts(["warrant,choices", "choices"], with_column, None, WARRANTS)
    assert parts == [Part("all", ("warrant",), WARRANTS), Part("choices", (), WARRANTS)], "a column by that name"


def test_the_texts_of_a_pair() -> None:
    parts = find_parts(["sentence2", "all"], ["sentence1", "sentence2"], ["sentence1", "sentence2"])
    assert parts == [Part("sentence2", ("sentence2",)), Part("all", ("sentence1", "sentence2"))]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([], "without an input"),
        (["warrant", "warrant"], "got 'warrant' and 'warrant' in inputs=, which are the same; expected each once$"),
        (["reason,warrant", "choices,reason"], "'reason,warrant' and 'choices,reason'"),
        (["claim,reason,warrant", "all"], "are the same; expected each once; if there are more columns, name them"),
        (["claim,claim,warrant"], "got claim twice"),
        (["claim"], "got 'claim' in inputs=, without the choices; .* write 'claim,warrant'"),
        (["warrant0"], "'warrant0' in inputs=, one of the choices; write warrant"),
        (["warrant,"], "expected columns separated by commas"),
        (["warrant,backing"], "got 'backing' in inputs=; expected some of claim, reason, warrant, all"),
    ],
)
def test_refused(inputs: list[str], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        find_parts(inputs, PRESENT, ["claim", "reason"], WARRANTS)


def test_columns_that_the_data_lacks() -> None:
    with pytest.raises(DataProblem, match="no column 'backing' for the inputs; the data has claim, reason, warrant0"):
        find_parts(["warrant,backing"], PRESENT, None, WARRANTS)
    with pytest.raises(DataProblem, match="no column 'warrant2'"):
        find_parts(["warrant"], PRESENT, None, [*WARRANTS, "warrant2"])


def test_restricted_tables_hold_nothing_else() -> None:
    table = toy.choices(4)
    splits = Splits(find_task("multiple-choice", text=WARRANTS), table, table, ())
    alone = restrict(splits, Part("warrant", (), WARRANTS))
    assert list(alone.train.columns) == ["warrant0", "warrant1", "label"]
    assert read_examples(alone.train, alone.task, None).texts[0] == tuple(table.loc[0, list(WARRANTS)])
    both = restrict(splits, Part("all", ("claim", "reason"), WARRANTS))
    first = table.iloc[0]
    expected = (f"{first.claim}. {first.reason}", first.warrant0, first.warrant1)
    assert read_examples(both.train, both.task, None).texts[0] == expected
    assert alone.fingerprint != both.fingerprint, "each part is other data"


def test_a_cell_of_a_context_that_is_no_text() -> None:
    table = toy.choices(4).astype({"claim": object})
    table.loc[2, "claim"] = 7.5
    splits = Splits(find_task("multiple-choice", text=WARRANTS), table, table, ())
    both = restrict(splits, Part("all", ("claim", "reason"), WARRANTS))
    with pytest.raises(DataProblem, match=r"row 2, column 'claim, reason': got 7.5; expected a string"):
        read_examples(both.train, both.task, None)
