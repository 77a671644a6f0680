"""Tables of a study in every format."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted
from tests.measures.tiny import translator


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study"
    tokenizer = planted.tokenizer(path.parent / "tokenizer")
    for by in ("head", "layer"):
        hc.sweep(planted.classifier(), tokenizer, planted.texts(20), task="sst2", how="zero", by=by, out=path)
    return path


def test_every_format(study: Path, tmp_path: Path) -> None:
    for to, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet), ("json", pd.read_json)):
        assert main(["table", str(study), "--to", to, "-o", str(tmp_path / f"t.{to}")]) == 0
        table = read(tmp_path / f"t.{to}")
        assert len(table) == 6
        assert set(table["result"]) == {"sweep/head-zero", "sweep/layer-zero"}


def test_one_result(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(study), "--group", "sweep/layer-zero"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    assert main(["table", str(study), "--group", "sweep/none"]) == 2
    assert main(["table", str(study / "none")]) == 2
    assert main(["table", str(study), "--to", "parquet"]) == 2
    assert main(["table", str(study), "-o", str(study / "no" / "folder.csv")]) == 2


def test_one_row_for_each_head_that_is_there(tmp_path: Path) -> None:
    """An encoder of 3 layers of 4 heads, a decoder of 2 layers of 2; cross attention has no positions."""
    model, words = translator()
    data = pd.DataFrame({"source": ["The dog saw a cat."], "target": ["She slept."]})
    hc.measure(model, words, data, only="entropy,position", out=tmp_path / "study")
    assert main(["table", str(tmp_path / "study"), "-o", str(tmp_path / "heads.csv")]) == 0
    table = pd.read_csv(tmp_path / "heads.csv")
    assert table["stack"].value_counts().to_dict() == {"encoder": 12, "decoder": 4, "cross": 4}
    assert not table[["stack", "layer", "head"]].duplicated().any()
    assert table["entropy.entropy"].notna().all()
    cross = table["stack"] == "cross"
    assert table.loc[cross, "position.attention[0]"].isna().all()
    assert table.loc[~cross, "position.attention[0]"].notna().all()
