"""Do the recipes about fewer heads run from trained models to tables of curves, recoveries, gates and dynamics?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from recipes.fewer_heads import classify, translate
from recipes.seven_tasks import train

from tests.recipes import test_seven_tasks as seven
from tests.recipes import test_translation as pairs

place, data = seven.place, pairs.data
__all__ = ["data", "place"]


@pytest.mark.slow
def test_classifiers(place: Path, tmp_path: Path) -> None:
    trees = seven.treebank(40, 8)
    trees["heads"] = [[*range(2, len(words) + 1), 0] for words in trees["tokens"]]
    trees.to_parquet(tmp_path / "validation.parquet")
    shared = ["--data", place / "data", "--out"]
    seven.run(
        train,
        place / "model",
        *shared,
        tmp_path / "trained",
        "--seeds",
        2,
        "--epochs",
        1,
        "--precision",
        "float32",
        "--jobs",
        1,
        1,
        "--tasks",
        "sst2",
        "--inits",
        "pretrained",
        "--device",
        "cpu",
    )
    seven.run(
        classify,
        *shared,
        tmp_path / "out",
        "--trained",
        tmp_path / "trained",
        "--treebank",
        tmp_path,
        "--tasks",
        "sst2",
        "--steps",
        2,
        "--randoms",
        1,
        "--recover",
        1,
        "--gate-steps",
        1,
        "--device",
        "cpu",
    )
    tables = {path.stem.removeprefix("sst2-"): pd.read_csv(path) for path in (tmp_path / "out").glob("*.csv")}
    assert set(tables) == {"seeds", "orders", "curve", "differences", "quality", "recovery", "gates", "roles"}
    heads = seven.HEADS * seven.LAYERS
    assert len(tables["seeds"]) == 2 * heads
    assert len(tables["roles"]) == heads == len(tables["orders"])
    for order in tables["orders"].columns.drop("task"):
        assert tables["orders"][order].nunique() == heads
    assert set(tables["curve"]["removed"]) == {3, 6}
    kept = tables["recovery"].groupby("what")["kept"].first()
    assert dict(kept) == {"half of all heads": 3, "all but one in every layer": seven.LAYERS}
    assert {"rare.gain", "position.positional", "links.gain[verb to subject]"} <= set(tables["roles"])


def test_translators(data: Path, tmp_path: Path) -> None:
    pairs.run(data, tmp_path / "model", "--limit", 8, "--epochs", 1, "--layers", 2)
    run = tmp_path / "model" / "runs" / "translation" / "random" / "seed-0"
    pairs.pairs().assign(note="more").pipe(lambda rows: pd.concat([rows, rows[:8]])).to_parquet(tmp_path / "t.parquet")
    seven.run(
        translate,
        run / "model",
        "--data",
        tmp_path / "t.parquet",
        "--text",
        "de",
        "en",
        "--out",
        tmp_path / "out",
        "--checkpoints",
        run,
        "--steps",
        2,
        "--randoms",
        1,
        "--new-tokens",
        4,
        "--gate-steps",
        1,
        "--device",
        "cpu",
    )
    out = tmp_path / "out"
    curve = pd.read_csv(out / "curve.csv").set_index(["order", "share"])
    for order, heads in {"importance": 48, "ablation": 48, "encoder": 16, "decoder": 16, "cross": 16}.items():
        assert list(curve.loc[order, "removed"]) == [heads // 2, heads]
        assert curve.loc[order, "score"].notna().all()
    found = pd.read_csv(out / "differences.csv").set_index(["first", "second", "share"])
    for first, second in (("importance", "ablation"), ("encoder", "cross")):
        row = found.loc[(first, second, 0.5)]
        assert row["difference"] == pytest.approx(curve.loc[(first, 0.5), "score"] - curve.loc[(second, 0.5), "score"])
        assert row["low"] <= row["difference"] <= row["high"]
    assert len(pd.read_csv(out / "head-choosing.csv")) == 48 == len(pd.read_csv(out / "all-but-one-scoring.csv"))
    found = pd.read_csv(out / "dynamics.csv")
    assert found["agreement"].iloc[-1] == pytest.approx(1)
    assert (out / "gates.csv").is_file()
    assert (out / "roles.csv").is_file()
    assert set(pd.read_csv(out / "dynamics-importance.csv")["stack"]) == {"encoder", "decoder", "cross"}
