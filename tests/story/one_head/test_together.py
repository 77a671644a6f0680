"""Sentences on a head together with others name the partners that were planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.core.heads import Head
from headcount.story.one_head.together import carrier_facts, circuit_facts, pair_facts, path_facts, schema_facts
from tests import planted, planted_pairs
from tests.choosing import planted_pair


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def spelled(name: str) -> tuple[str, str]:
    return name, f"encoder.{name}"


def test_pairs(tokenizer: Any) -> None:
    swept = hc.sweep(planted_pairs.backups(), tokenizer, planted.texts(), task="sst2", by=hc.Pairs("all"))
    (fact,) = pair_facts("pair-uniform", swept, spelled("L1H1"))
    assert fact.sentence.startswith(
        "It interacts significantly in accuracy with 1 head (q < 0.05, 3 pairs with it were run): L0H0, redundant (-0.5"
    )
    (fact,) = pair_facts("pair-uniform", swept, spelled("L0H1"))
    assert fact.sentence == "It interacts significantly with no head in accuracy (q < 0.05, 3 pairs with it were run)."
    assert pair_facts("pair-uniform", swept, spelled("L7H7")) == []


def test_circuits(tokenizer: Any) -> None:
    found = hc.circuit(planted_pair.classifier(), tokenizer, planted_pair.texts(), task="sst2", how="zero", randoms=2)
    (inside,) = circuit_facts("task", found, Head("encoder", 0, 0))
    assert inside.sentence.startswith("It is one of the 2 of 4 heads of the circuit; when it alone leaves, +0.")
    assert ": significant (q = " in inside.sentence
    (outside,) = circuit_facts("task", found, Head("encoder", 0, 1))
    assert outside.sentence == "It is not in the circuit, which has 2 of 4 heads."
    unclear = found.assign(minimality_q=found["minimality_q"] * 0 + 1)
    assert (
        "not shown to be needed by itself (q = 1)" in circuit_facts("task", unclear, Head("encoder", 0, 0))[0].sentence
    )


def test_paths(tokenizer: Any) -> None:
    walked = hc.paths(
        planted_pair.classifier(), tokenizer, planted_pair.texts(40), "L0, L1", task="sst2", metric="loss"
    )
    (fact,) = path_facts("head", walked, spelled("L0H0"))
    tested = int(np.isfinite(walked["q"].values).sum())
    assert fact.sentence.startswith(
        f"0 of {tested // 2} paths through later heads change loss significantly (q < 0.05)"
    )
    clear = walked.assign(q=walked["q"] * 0, delta=xr.where(walked["delta"].notnull(), 0.5, walked["delta"]))
    (fact,) = path_facts("head", clear, spelled("L0H0"))
    assert f"{tested // 2} of {tested // 2} paths" in fact.sentence
    assert "of L1H0 +0.500" in fact.sentence
    (fact,) = path_facts("head", clear, spelled("L1H1"))
    assert "paths to it from earlier heads" in fact.sentence
    assert "of L1H1 from L0H" in fact.sentence


def carried() -> xr.Dataset:
    return xr.Dataset(
        {
            "top_head": ("rank", np.array(["L1H0", "L0H1"], dtype=object)),
            "single": ("rank", np.array([2.0, 0.1])),
            "single_q": ("rank", np.array([0.001, 0.6])),
        },
        attrs={"measure": "induction"},
    )


def test_carriers() -> None:
    (first,) = carrier_facts("induction", carried(), spelled("L1H0"))
    assert first.sentence == (
        "It ranks 1 of the 2 heads that score highest in induction; without it alone, the loss changes by +2.000 nats: "
        "significant (q = 0.001)."
    )
    assert "not significant (q = 0.6)" in carrier_facts("induction", carried(), spelled("L0H1"))[0].sentence
    assert carrier_facts("induction", carried(), spelled("L0H0")) == []


def test_any_result_with_schemas(tokenizer: Any) -> None:
    from tests.ablation.test_shares import PAIRS

    estimated = hc.attribution(planted.classifier(), tokenizer, PAIRS, task="sst2")
    values = np.abs(estimated["attribution"].values)
    place = np.unravel_index(int(np.nanargmax(values)), values.shape)
    fact = schema_facts("patching", "attribution", estimated, Head("encoder", int(place[1]), int(place[2])))[0]
    assert ", the largest of 4 heads by size" in fact.sentence
    assert abs(float(fact.numbers["value"])) == pytest.approx(np.nanmax(values))  # type: ignore[arg-type]
