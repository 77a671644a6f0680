"""A model on originals and twins: one that knows only a cue, parity with counting, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binomtest

import headcount as hc
from headcount.errors import BlankRows, DataProblem, HeadcountError, InvalidOption
from headcount.statistical_cues.adversarial_scores import compare_pairs
from headcount.story.cues import twin_sentences
from tests import planted
from tests.statistical_cues.cue_model import CHOICES, arguments, follows_good, negations


@pytest.fixture(scope="module")
def model() -> Any:
    return follows_good()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("words"))


def twins(table: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return hc.adversarial(table, choices=CHOICES, negations=negations(table), **options)


def scores(model: Any, tokenizer: Any, data: Any, **options: Any) -> xr.Dataset:
    return hc.adversarial_scores(model, tokenizer, data, choices=CHOICES, text=["claim"], **options)


@pytest.mark.parametrize(("misleading", "expected"), [(0, (1, 0, 0.5)), (10, (0.75, 0.25, 0.5))])
def test_a_model_that_knows_only_the_cue(
    model: Any, tokenizer: Any, misleading: int, expected: tuple[float, float, float]
) -> None:
    """What it gets right among the originals it gets wrong among the twins."""
    found = scores(model, tokenizer, twins(arguments(40, misleading)))
    assert tuple(found["accuracy"].values) == expected
    assert float(found["change"]) == expected[1] - expected[0]
    assert float(found["change_high"]) < 0
    assert (float(found["both_right"]), float(found["same_choice"]), int(found["pairs"])) == (0, 1, 40)
    assert found.attrs["mirrored"]
    said = " ".join(twin_sentences(found))
    assert "never get both right, and get 50.0 % of all examples" in said
    assert said.endswith("not shown to be more than that.")


def test_files_and_columns(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    """The same numbers from a file that `adversarial` writes, with swapped copies, and from another's column."""
    table = arguments(40, 10)
    expected = scores(model, tokenizer, twins(table))
    made = twins(table, swap=True, output=tmp_path / "twins.csv")
    xr.testing.assert_equal(scores(model, tokenizer, tmp_path / "twins.csv"), expected)
    ready = made[:80].assign(adversarial=(made["twin"][:80] == "negated").astype(str)).drop(columns="twin")
    xr.testing.assert_equal(scores(model, tokenizer, ready.sample(frac=1, random_state=1)), expected)
    turned = ready.rename(columns={"adversarial": "turned"})
    xr.testing.assert_equal(scores(model, tokenizer, turned, twin_column="turned"), expected)


def test_pairs_are_dropped_whole(model: Any, tokenizer: Any) -> None:
    table = twins(arguments(20))
    table.loc[3, ["claim", *CHOICES]] = " "
    table.loc[23, CHOICES] = " "
    with pytest.warns(BlankRows):
        found = scores(model, tokenizer, table)
    assert int(found["pairs"]) == 19
    assert found["accuracy"].values.tolist() == [1, 0, 0.5]


def test_by_counting() -> None:
    generator = np.random.default_rng(0)
    labels = np.stack([first := generator.integers(2, size=90), 1 - first], 1)
    predicted = np.where(generator.random((90, 2)) < [0.8, 0.6], labels, 1 - labels)
    found = xr.Dataset(compare_pairs(predicted, labels))
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    same = 0
    for pair, truth in zip(predicted.tolist(), labels.tolist(), strict=True):
        cells[pair[0] == truth[0], pair[1] == truth[1]] += 1
        same += pair[0] == pair[1]
    both, lost, won, _ = cells.values()
    assert found["accuracy"].values == pytest.approx(
        [(both + lost) / 90, (both + won) / 90, (2 * both + lost + won) / 180]
    )
    assert float(found["change"]) == pytest.approx((won - lost) / 90)
    assert float(found["p"]) == pytest.approx(binomtest(lost, lost + won).pvalue)
    assert float(found["both_right"]) == both / 90
    assert float(found["same_choice"]) == same / 90 == pytest.approx((lost + won) / 90)
    for name in ("change", "both_right", "same_choice"):
        assert float(found[f"{name}_low"]) < float(found[name]) < float(found[f"{name}_high"])
    assert (found["accuracy_low"] < found["accuracy"]).all()
    assert (found["accuracy"] < found["accuracy_high"]).all()
    assert "], more than that." in twin_sentences(found.assign_attrs(mirrored=True))[-1]
    assert len(twin_sentences(found.assign_attrs(mirrored=False))) == 3


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        ({"text": []}, InvalidOption, "a model needs the context of the choices"),
        ({"text": ["reason"]}, DataProblem, "no column reason; the table has claim"),
        ({"choices": ["first", "third"]}, DataProblem, "no column third"),
        ({"label": "stars"}, DataProblem, "no label column 'stars'"),
        ({"twin_column": "kind"}, DataProblem, "no column 'kind' that says which rows are twins"),
        ({"max_length": 0}, InvalidOption, "max_length=0"),
        ({"data": arguments(8)}, DataProblem, "name one with twin_column="),
        ({"data": "nowhere.csv"}, DataProblem, "no file nowhere.csv"),
        ({"model": planted.classifier()}, HeadcountError, "cannot do multiple-choice"),
    ],
)
def test_refused(
    model: Any, tokenizer: Any, change: dict[str, Any], error: type[HeadcountError], expected: str
) -> None:
    good: dict[str, Any] = {"model": model, "tokenizer": tokenizer, "data": twins(arguments(8))}
    with pytest.raises(error, match=expected) as caught:
        hc.adversarial_scores(**good | {"choices": CHOICES, "text": ["claim"]} | change)
    assert "\n" not in str(caught.value)
