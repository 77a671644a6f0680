"""Is what a page would load from elsewhere noticed? With the extra `docs`, is a broken link?"""

from __future__ import annotations

import doctest

import pytest
from docs_site.build import foreign

from docs_site import build


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/a.js"></script>',
        "<script defer src=//cdn.example/a.js></script>",
        '<img alt="" src="http://example.org/a.png">',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<link rel=preconnect href="https://fonts.example">',
        '<iframe src="https://example.org">',
    ],
)
def test_what_would_be_loaded(html: str) -> None:
    assert len(foreign(html)) == 1


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.org/a.js">',
        '<script src="assets/a.js"></script>',
        '<link rel="canonical" href="https://example.org/page">',
        '<img src="data:image/png;base64,AA//AA">',
        '<link rel="icon" href="../images/icon.png">',
    ],
)
def test_what_would_not(html: str) -> None:
    assert foreign(html) == []


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(build) == (0, 1)
