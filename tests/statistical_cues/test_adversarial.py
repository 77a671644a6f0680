"""Adversarial twins: the other label for the negated claim, all cues at exactly chance, and what a map may lack."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.errors import DataProblem, HeadcountWarning, InvalidOption
from headcount.statistical_cues.adversarial import check_balance
from tests.statistical_cues.planted import choices

BOTH = ["first", "second"]


def negations(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"original": table["claim"], "negated": "no " + table["claim"]})


def test_every_cue_is_at_chance() -> None:
    table = choices()
    twins = hc.adversarial(table, choices=BOTH, negations=negations(table))
    assert (len(twins), twins["twin"].tolist()) == (400, ["original"] * 200 + ["negated"] * 200)
    assert (twins["claim"][200:].values == ("no " + table["claim"]).values).all()
    assert (twins["label"][200:].values == 1 - table["label"].values).all()
    assert (twins["first"][200:].values == table["first"].values).all()
    assert (twins.attrs["off_chance"], twins.attrs["largest"], twins.attrs["first"]) == (0, 0, 0.5)
    assert (hc.cues(twins, choices=BOTH, least=1, classifier=False)["productivity"] == 0.5).all()


def test_swapped_choices_keep_their_cues() -> None:
    table = choices(200, 80, 60)
    twins = hc.adversarial(table, choices=BOTH, swap=True)
    assert twins["twin"].tolist() == ["original"] * 200 + ["swapped"] * 200
    assert (twins["first"][200:].values == table["second"].values).all()
    assert float(hc.cues(twins, choices=BOTH, classifier=False).sel(cue="not")["productivity"]) == 0.75
    assert twins.attrs["first"] == 0.5
    assert twins.attrs["off_chance"] > 0


def test_both() -> None:
    table = choices(40, 20, 15)
    twins = hc.adversarial(table, choices=BOTH, negations=negations(table), swap=True)
    assert twins["twin"].value_counts().to_dict() == dict.fromkeys(
        ("original", "negated", "swapped", "negated and swapped"), 40
    )
    assert twins.attrs["off_chance"] == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.text("ab "), st.text("ab c"), st.integers(0, 1)), min_size=1, max_size=12))
def test_any_texts_are_balanced(rows: list[tuple[str, str, int]]) -> None:
    table = pd.DataFrame(rows, columns=["first", "second", "label"])
    twins = pd.concat([table, table.assign(label=1 - table["label"])], ignore_index=True)
    assert check_balance(twins, BOTH, "label")["off_chance"] == 0


def test_a_map_that_misses_claims() -> None:
    table = choices(40, 20, 15)
    with pytest.raises(DataProblem, match=r"no negation of 2 of 40 claims \(of 2 of 40 rows\): claim "):
        hc.adversarial(table, choices=BOTH, negations=negations(table).iloc[2:])


def test_a_claim_that_is_its_own_negation() -> None:
    table = choices(40, 20, 15)
    same = negations(table)
    same.loc[0, "negated"] = same.loc[0, "original"]
    with pytest.warns(HeadcountWarning, match=r"1 claims \(1 rows\) are their own negation"):
        hc.adversarial(table, choices=BOTH, negations=same)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_what_is_written_can_be_read(tmp_path: Path, suffix: str) -> None:
    table = choices(40, 20, 15)
    file = tmp_path / f"twins.{suffix}"
    twins = hc.adversarial(table, choices=BOTH, negations=negations(table), output=file)
    found = hc.cues(str(file), choices=BOTH, least=2, classifier=False)
    assert found.attrs["examples"] == len(twins) == 80
    assert (found["productivity"] == 0.5).all()


def test_twins_of_twins_are_refused() -> None:
    table = choices(40, 20, 15)
    twins = hc.adversarial(table, choices=BOTH, swap=True)
    with pytest.raises(DataProblem, match="'twin' already"):
        hc.adversarial(twins, choices=BOTH, swap=True)
    with pytest.raises(InvalidOption, match="neither negations= nor swap=True"):
        hc.adversarial(table, choices=BOTH)
