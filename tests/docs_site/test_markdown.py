"""Does Markdown that GitHub shows as it is meant keep its meaning on the site?"""

from __future__ import annotations

import doctest

import pytest
from docs_site.markdown import adapted, fenced, listed, title

from docs_site import markdown


def test_a_list_after_a_paragraph_gets_an_empty_line() -> None:
    text = "Two heads:\n- L0H1,\n  the first\n- L2H3\n\nText.\n1. one\n2. two\n"
    assert adapted(text) == "Two heads:\n\n- L0H1,\n  the first\n- L2H3\n\nText.\n\n1. one\n2. two\n"


@pytest.mark.parametrize(
    "text", ["```text\nheads\n- L0H1\n```\n", "- one\n- two\n", "a - b\nc\n", "| a |\n|---|\n| - |\n"]
)
def test_everything_else_stays(text: str) -> None:
    assert adapted(text) == text


def test_doctests_get_a_fence_and_prose_does_not() -> None:
    assert fenced("Text.\n\n>>> 1\n1\n\nMore.") == "Text.\n\n```pycon\n>>> 1\n1\n```\n\nMore."


def test_parameters_become_a_list() -> None:
    text = "One.\n\nOf `a`. `a`: first\nline (b). `b`: `a`: no. `c`: none.\n\n    `a`: code."
    expected = "One.\n\nOf `a`.\n\n- `a`: first\n  line (b).\n- `b`: `a`: no. `c`: none.\n\n    `a`: code."
    assert listed(text, {"a", "b"}) == expected
    assert listed("One. `a`: two.", ()) == "One. `a`: two."


def test_a_page_needs_a_title() -> None:
    with pytest.raises(ValueError, match="without a title"):
        title("## Heads\n")


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(markdown) == (0, 4)
