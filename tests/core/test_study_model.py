"""One study, one model: what is refused, what may stand beside it, and what the refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.core.study_model import StudyModels, admit, models_of, models_of_results
from headcount.errors import StudyProblem

A = {"aaaaaaaaaaaa": {"name": "bert-a", "dtype": "float32", "class": "BertModel"}}
B = {"bbbbbbbbbbbb": {"name": "bert-b", "dtype": "float32", "class": "BertModel"}}
C = {"cccccccccccc": {"name": "bert-c", "dtype": "float32", "class": "BertModel"}}


def after(*results: tuple[str, dict[str, dict[str, str]]]) -> StudyModels:
    known: StudyModels = {}
    for name, models in results:
        known = admit("study", known, name, models)
    return known


def test_the_first_result_says_whose_study_it_is() -> None:
    known = after(("sweep/head-zero", A), ("measures/spread", A))
    assert known["model"] == {"fingerprint": "aaaaaaaaaaaa", **A["aaaaaaaaaaaa"]}
    assert after(("sweep/head-zero@x", A))["model"]["fingerprint"] == "aaaaaaaaaaaa"
    with pytest.raises(StudyProblem) as caught:
        admit("runs/mrpc", known, "measures/entropy", B)
    assert str(caught.value) == (
        "runs/mrpc is a study of the model bert-a [aaaaaaaa], this result is of bert-b [bbbbbbbb]; give another study "
        "folder"
    )
    with pytest.raises(StudyProblem):
        admit("study", known, "measures/entropy@other", B)


def test_a_result_of_several_must_speak_of_the_studys_own() -> None:
    known = after(("sweep/head-zero", A), ("compare/cosine", A | B))
    assert set(known["beside"]) == {"bbbbbbbbbbbb"}
    with pytest.raises(StudyProblem, match=r"is a study of the model bert-a .* is of bert-b \[bbbbbbbb\] and bert-c"):
        admit("study", known, "compare/cosine@x", B | C)


def test_a_model_beside_needs_a_name_of_its_own() -> None:
    known = after(("sweep/head-zero", A), ("compare/cosine", A | B))
    for name in ("measures/links@before", "maps/pair-0"):
        assert admit("study", known, name, B) == known
    with pytest.raises(StudyProblem, match="give it a name of its own with name="):
        admit("study", known, "measures/links", B)


def test_a_comparison_alone_leaves_open_which_of_the_two() -> None:
    known = after(("compare/cosine", A | B))
    assert known["model"] is None
    with pytest.raises(StudyProblem, match="bert-a .* and bert-b"):
        admit("study", known, "sweep/head-zero", C)
    named = admit("study", known, "pruning/importance@step-1", A)
    assert named["model"] is None
    own = admit("study", named, "sweep/head-zero", B)
    assert own["model"]["fingerprint"] == "bbbbbbbbbbbb"
    assert set(own["beside"]) == {"aaaaaaaaaaaa"}


def test_the_same_name_with_another_dtype_is_said() -> None:
    half = {"dddddddddddd": {"name": "bert-a", "dtype": "bfloat16", "class": "BertModel"}}
    with pytest.raises(StudyProblem, match=r"the same name, but dtype float32 -> bfloat16"):
        admit("study", after(("sweep/head-zero", A)), "measures/spread", half)
    other = {"dddddddddddd": A["aaaaaaaaaaaa"]}
    with pytest.raises(StudyProblem, match="the same name, but other weights"):
        admit("study", after(("sweep/head-zero", A)), "measures/spread", other)


@pytest.mark.parametrize(
    ("identity", "attributes", "expected"),
    [
        ({"model": "x", "dtype": "float32"}, {"model": "m"}, {"x": "m"}),
        ({"model": "x", "other": "y"}, {"model": "m", "other_model": "n"}, {"x": "m", "y": "n"}),
        ({"model": "x", "other": "x"}, {"model": "m", "other_model": "n"}, {"x": "m"}),
        ({"models": {"whole": "x", "half": "y"}}, {}, {"x": "whole", "y": "half"}),
        ({"models": ["x", "y"]}, {"model": "m"}, {"x": "m", "y": "m"}),
        ({"seed": 1}, {"model": "m"}, {}),
    ],
)
def test_the_models_of_a_result(identity: Any, attributes: Any, expected: dict[str, str]) -> None:
    assert {mark: one["name"] for mark, one in models_of(identity, attributes).items()} == expected


def test_a_study_of_an_earlier_version() -> None:
    """The model of its first result; what else it has is known."""

    def said(mark: str) -> dict[str, Any]:
        return {"identity": {"model": mark}, "model": f"bert-{mark}"}

    known = models_of_results({"sweep/x@b": said("b"), "sweep/head-zero": said("a"), "measures/spread": said("a")})
    assert known["model"]["fingerprint"] == "a"
    assert set(known["beside"]) == {"b"}
    assert models_of_results({"cost/models": {}}) == {"model": None, "beside": {}}
