"""Figures as files: text that stays text, fonts that journals accept, and the same bytes for the same study."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.errors import HeadcountWarning, InvalidOption
from headcount.reporting.document import check_output, replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")
DPI = 300
"""What journals ask for."""
DPI_RANGE = (30, 1200)
SETTINGS = {
    "pdf.fonttype": 42,  # TrueType: Type 3 fonts are refused by many journals, and cannot be edited
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "headcount",  # ids that do not change
}
METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
GLYPH = re.compile(r"Glyph (\d+) .* missing from")


def check_figure(file: Path, dpi: int) -> None:
    """Raise if the file has another format or cannot be written, or if the resolution is none."""
    if file.suffix.lower() not in FORMATS:
        raise InvalidOption(f"got {file.name!r}; expected a name that ends in {', '.join(FORMATS)}")
    check_output(file, f"heads{file.suffix.lower()}")
    check_dpi(dpi)


def check_dpi(dpi: int) -> None:
    low, high = DPI_RANGE
    if not isinstance(dpi, int) or not low <= dpi <= high:
        raise InvalidOption(f"got dpi={dpi!r}; expected a whole number of {low} to {high} dots per inch, such as {DPI}")


def write_figure(figure: Figure, file: Path, dpi: int = DPI) -> None:
    """Write a figure; an earlier file is replaced once the new one is complete."""
    replace_file(file, as_bytes(figure, file.suffix.lower(), dpi))


def as_bytes(figure: Figure, suffix: str, dpi: int = DPI) -> bytes:
    """A figure in the format of a suffix. Characters that no font here has are mentioned in one warning."""
    from matplotlib import rc_context

    content, missing = io.BytesIO(), set()
    with rc_context(SETTINGS), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(content, format=suffix[1:], dpi=dpi, metadata=METADATA[suffix])
    for warning in caught:
        glyph = GLYPH.match(str(warning.message))
        if glyph is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        else:
            missing.add(chr(int(glyph[1])))
    if missing and suffix != ".svg":  # its reader has other fonts
        some = ", ".join(sorted(missing)[:5])
        warnings.warn(
            f"no font here has {len(missing)} of the characters of the tokens, such as {some}; they are drawn as boxes "
            "(a font such as Noto Sans has them; an svg keeps the characters)",
            HeadcountWarning,
            stacklevel=2,
        )
    return content.getvalue()


def file_name(*parts: str, suffix: str = ".pdf") -> str:
    """A name for a file, from its parts.

    >>> file_name("bundled:qnli", "map", "L3H7")
    'qnli-map-L3H7.pdf'
    """
    words = [re.sub(r"[^\w.@-]+", "-", part.removeprefix("bundled:")).strip("-.") for part in parts]
    return "-".join(word for word in words if word) + suffix
