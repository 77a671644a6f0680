"""Is everything in docs/ on the site?"""

from __future__ import annotations

from pathlib import Path

from docs_site.pages import DOCS, write


def test_the_pages_and_what_they_show_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "gone.md").write_text("of the build before")
    write({"how-to/new.md": "# New\n"}, {"tutorials/01_files/a.png": b"a"}, folder)
    written = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    beside = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.png")}
    assert written >= {"how-to/new.md", "tutorials/01_files/a.png", "site.css", *beside}
    assert not {name for name in written if name.endswith((".md", ".ipynb"))} - {"how-to/new.md"}
