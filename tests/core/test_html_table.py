"""Tables of HTML: texts stay texts."""

from __future__ import annotations

from headcount.core.html_table import html_table


def test_texts_stay_texts() -> None:
    content = html_table([("<script>alert(1)</script>", "a & b")], "1 < 2")
    assert "<script" not in content
    assert "a &amp; b" in content
    assert "1 &lt; 2" in content
    assert content.count("<tr") == 1


def test_no_note_where_there_is_none() -> None:
    assert "<p" not in html_table([("a", "b")])
