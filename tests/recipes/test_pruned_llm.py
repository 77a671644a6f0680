"""Does the recipe for language models give all its tables, on passages that do not overlap?"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recipes.pruned_llm.passages import read_passages
from recipes.pruned_llm.study import main
from recipes.pruned_llm.survivors import survivors

import headcount as hc
from headcount.core.heads import Head
from tests import planted
from tests.pruning import planted_groups as groups

SMALL = "--tokens 16 --choosing 6 --scored 8 --shares 25 50 --randoms 1 --prompt 8 --new-tokens 2 --repeats 1"
REPEATED = "--repeated 6 --at-least 0.08"
TRAINED = "--recovered 50 --train 8 --steps 2 --batch 2"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = groups.save(tmp_path_factory.mktemp("recipe"))
    for seed, name in enumerate(("first", "second")):
        groups.texts(60, seed).to_parquet(folder / f"{name}.parquet")
    return folder


def test_passages(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    texts = groups.texts(60)
    passages = read_passages(texts, tokenizer, 16, 5)
    together = " ".join(texts["text"])
    starts = [together.find(text) for text in passages["text"]]
    assert starts[0] > 0
    ends = [start + len(text) for start, text in zip(starts, passages["text"], strict=True)]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    assert all(len(tokenizer(text, add_special_tokens=False)["input_ids"]) == 16 for text in passages["text"])
    with pytest.raises(ValueError, match="expected at least 500"):
        read_passages(texts, tokenizer, 16, 500)


def test_all_tables(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    data = ["--order-on", str(place / "first.parquet"), "--score-on", str(place / "second.parquet")]
    main([str(place / "llama"), *data, "--out", str(tmp_path), *SMALL.split(), *TRAINED.split(), *REPEATED.split()])
    curve, cost, recovery = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("curve", "cost", "recovery"))
    assert set(curve["by"]) == {"head", "group"}
    assert set(curve["order"]) == {"importance", "importance, normed", "random 0"}
    removed = curve.groupby("by")["removed"].unique().map(sorted)
    assert (removed["head"], removed["group"]) == ([3, 6], [4, 6]), "whole groups of two"
    assert (curve["low"] <= curve["delta"] + 1e-9).all()
    assert list(cost["model"]) == ["whole", "head 25 %", "head 50 %", "group 25 %", "group 50 %"]
    sizes = cost.set_index("model")
    assert sizes.loc["group 50 %", "cache_bytes"] * 2 == sizes.loc["whole", "cache_bytes"]
    assert list(recovery["model"]) == [
        *("whole", "whole, recovered", "head 50 %", "head 50 %, recovered", "group 50 %", "group 50 %, recovered"),
    ]
    assert recovery.set_index("model").loc["whole, recovered", "from_whole_recovered"] == 0
    assert hc.read_anatomy(hc.load(tmp_path / "group-50")[0]).layout.count == 6
    left = pd.read_csv(tmp_path / "survivors.csv")
    assert list(left["share"]) == [25, 50, 25, 50]
    np.testing.assert_allclose(left["by_chance"], left["special"] * [9 / 12, 6 / 12, 8 / 12, 6 / 12])
    assert all(
        row["special"] - row["left"] == len(str(row["removed"]).split()) for row in left.dropna().to_dict("records")
    )


def test_survivors() -> None:
    """Four of twelve heads are special; six go, one special head among them: 3 of 4 left where 2 would be by chance."""
    heads = [Head("decoder", layer, head) for layer in range(3) for head in range(4)]
    special = {head: str(head) for head in heads[:4]}
    found = survivors(special, [("head", 50, heads[3:9])], 12).iloc[0]
    assert (found["left"], found["by_chance"], found["removed"]) == (3, 2.0, "decoder.L0H3")
    ways = [set(kept) for kept in itertools.combinations(heads, 6)]
    as_many = np.mean([len(kept & set(special)) >= 3 for kept in ways])
    as_few = np.mean([len(kept & set(special)) <= 3 for kept in ways])
    np.testing.assert_allclose([found["p_as_many"], found["p_as_few"]], [as_many, as_few])
