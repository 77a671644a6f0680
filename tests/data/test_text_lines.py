"""Lines end where a file says so; what cannot be read is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.data.text_lines import read_lines
from headcount.errors import DataProblem


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_text("\ufeffa\u2028b\nc\n", encoding="utf-8")
    assert read_lines(path, "words") == ["a\u2028b", "c", ""]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b" \n", "some.conll is empty; expected words; check the file"),
        (b"a\xe9b", "some.conll is not UTF-8 at byte 1; save it as UTF-8"),
        (None, "there is no file .*some.conll; expected words; check the path"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "some.conll"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataProblem, match=expected):
        read_lines(path, "words")
