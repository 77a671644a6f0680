"""Is a notebook's text, code and stored output on its page, without being run?"""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from docs_site.notebooks import page


def test_a_notebook_becomes_a_page(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbconvert")
    v4 = nbformat.v4
    pixel = base64.b64encode(b"a picture").decode()
    outputs = [v4.new_output("stream", text="12 heads\n"), v4.new_output("display_data", {"image/png": pixel})]
    cells = [v4.new_markdown_cell("# A title"), v4.new_code_cell("raise SystemExit", outputs=outputs)]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "01-first.ipynb")
    text, pictures = page(tmp_path / "01-first.ipynb")
    assert text.lstrip().startswith("# A title\n")
    assert "```python\nraise SystemExit\n```" in text
    assert "    12 heads" in text
    ((name, content),) = pictures.items()
    assert content == b"a picture"
    assert name.startswith("01-first_files/")
    assert f"]({name})" in text
