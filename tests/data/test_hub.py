"""The hub's loading code on local data in its format, and its error offline."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.data.hub import read_hub
from headcount.errors import DataProblem


def test_a_local_copy_loads(tmp_path: Path) -> None:
    pd.DataFrame({"sentence": ["a", "b"], "label": [0, 1]}).to_csv(tmp_path / "validation.csv", index=False)
    assert list(read_hub(str(tmp_path), None, "validation")["sentence"]) == ["a", "b"]


def test_offline_says_what_to_do() -> None:
    with pytest.raises(DataProblem, match="data="):
        read_hub("no-such/data-set-of-headcount", "mrpc", "validation")
