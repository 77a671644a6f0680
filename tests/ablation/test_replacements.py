"""The table of replacements is what the contract tests run over."""

from __future__ import annotations

import pytest

from headcount.ablation.replacements import REPLACEMENTS, check_how
from headcount.errors import InvalidOption


def test_the_names_of_the_replacements() -> None:
    assert list(REPLACEMENTS) == ["zero", "uniform", "mean"]
    assert check_how("mean") == "mean"
    with pytest.raises(InvalidOption, match="got how='shuffle'"):
        check_how("shuffle")
