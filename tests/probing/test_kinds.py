"""Kinds of annotations by name: each takes its own options, and none of another's."""

from __future__ import annotations

import pytest

from headcount.errors import InvalidOption
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.kinds import KINDS, find_kind


def test_a_kind_with_its_options() -> None:
    assert find_kind("dependencies", {"relations": ["obj"], "words": None}) == DependencyTrees(["obj"], "written")


def test_an_unknown_kind_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(InvalidOption, match=f"got kind='trees'; expected one of {', '.join(KINDS)}"):
        find_kind("trees", {})


def test_an_option_that_the_kind_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidOption, match="got colour=, which has no effect here"):
        find_kind("dependencies", {"colour": "red"})
    find_kind("dependencies", {"colour": None})
