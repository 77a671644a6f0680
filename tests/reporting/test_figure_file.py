"""Files for papers: TrueType fonts, text as text, the same bytes twice, the resolution that was asked for."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from headcount.errors import HeadcountWarning, InvalidOption
from headcount.reporting.figure_file import as_bytes, check_dpi, check_figure, file_name, write_figure


def figure(title: str = "a title") -> Figure:
    made = Figure(figsize=(2, 1))
    made.subplots().imshow([[0, 1], [2, 3]])
    made.suptitle(title)
    return made


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_the_same_bytes_twice(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = as_bytes(figure(), suffix)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # another time
    assert as_bytes(figure(), suffix) == first
    assert not re.search(rb"CreationDate|dc:date", first)


def test_text_stays_text() -> None:
    assert b">a title</text>" in as_bytes(figure(), ".svg")


def test_fonts_are_truetype() -> None:
    content = as_bytes(figure(), ".pdf")
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content


@pytest.mark.parametrize("dpi", [100, 300])
def test_the_resolution(tmp_path: Path, dpi: int) -> None:
    write_figure(figure(), tmp_path / "fig.png", dpi)
    assert imread(tmp_path / "fig.png").shape[:2] == (dpi, 2 * dpi)


@pytest.mark.parametrize("dpi", [0, -1, 29, 1201, 300.0, "300"])
def test_resolutions_that_are_none(dpi: int) -> None:
    with pytest.raises(InvalidOption, match="expected a whole number of 30 to 1200"):
        check_dpi(dpi)


def test_other_formats(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"ends in \.svg, \.pdf, \.png"):
        check_figure(tmp_path / "fig.jpg", 300)


def test_characters_that_no_font_has_are_one_warning() -> None:
    private = "\ue000\ue001"
    with pytest.warns(HeadcountWarning, match=f"has 2 of the characters of the tokens, such as {private[0]}") as caught:
        as_bytes(figure(private), ".png")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert private.encode() in as_bytes(figure(private), ".svg")


def test_names_of_files() -> None:
    assert file_name("google/bert", "special.sep", "") == "google-bert-special.sep.pdf"
    assert file_name("", "map", "cross.L1H2", "text-1") == "map-cross.L1H2-text-1.pdf"
    assert file_name("../a b", "links@words.x") == "a-b-links@words.x.pdf"
