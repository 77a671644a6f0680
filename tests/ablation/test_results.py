"""A study holds what memory would hold, and goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.errors import StudyProblem
from tests import planted
from tests.ablation.test_sweep import TEXTS, sweep
from tests.ablation.test_sweep import tokenizer as tokenizer


def test_a_study_holds_the_same_and_goes_on(tokenizer: Any, tmp_path: Path) -> None:
    model, data, out = planted.classifier(), TEXTS.head(40), tmp_path / "study"
    plain = sweep(model, tokenizer, data, how="zero")
    stored = sweep(model, tokenizer, data, how="zero", out=out)
    for name in plain.data_vars:
        if plain[name].dtype.kind == "f":
            np.testing.assert_allclose(plain[name], stored[name], err_msg=str(name))
    tree = hc.open_study(out)
    np.testing.assert_allclose(tree["sweep/head-zero"]["score"], plain["score"])
    assert tree["sweep/head-zero"].attrs["complete"]
    assert list(stored["text"].values) == list(data["sentence"])
    sweep(model, tokenizer, data, by="layer", how="zero", out=out)
    assert set(hc.open_study(out)["sweep"].children) == {"head-zero", "layer-zero"}
    with pytest.raises(StudyProblem, match="other options .*seed: 0 -> 1"):
        sweep(model, tokenizer, data, how="zero", out=out, seed=1)
    sweep(model, tokenizer, data, how="zero", out=out, seed=1, name="again", texts=False)
    assert "text" not in hc.open_study(out)["sweep/head-zero@again"]


def test_a_folder_that_is_no_study(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StudyProblem, match="is not a study"):
        sweep(planted.classifier(), tokenizer, TEXTS.head(4), out=tmp_path)
    with pytest.raises(StudyProblem, match="is a file"):
        sweep(planted.classifier(), tokenizer, TEXTS.head(4), out=tmp_path / "file")
