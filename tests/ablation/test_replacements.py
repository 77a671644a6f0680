"""The table of replacements is the dispatch: what is entered in it works everywhere, and the contracts run over it."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from headcount.ablation.replacements import REPLACEMENTS, check_how
from headcount.cli.sweep import sweep as sweep_verb
from headcount.errors import InvalidOption


def test_the_names_of_the_replacements() -> None:
    assert list(REPLACEMENTS) == ["zero", "uniform", "mean"]
    assert check_how("mean") == "mean"
    with pytest.raises(InvalidOption, match="got how='shuffle'"):
        check_how("shuffle")


def test_the_help_names_all_of_them() -> None:
    help_line = get_type_hints(sweep_verb, include_extras=True)["how"].__metadata__[0].help
    assert all(name in help_line for name in REPLACEMENTS)
