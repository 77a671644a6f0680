"""All pages of the site: the Markdown of docs/, the tutorials, the reference, and what lies beside README.md."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs_site.markdown import adapted
from docs_site.notebooks import page
from docs_site.reference import command_line_pages, python_pages

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def all_pages() -> tuple[dict[str, str], dict[str, bytes]]:
    """The Markdown of each page by its file name, and the pictures that notebooks contain."""
    pages = {file.relative_to(DOCS).as_posix(): adapted(file.read_text("utf-8")) for file in sorted(DOCS.rglob("*.md"))}
    pages |= {name: adapted((ROOT / file).read_text("utf-8")) for file, name in BESIDE.items()}
    pages |= {f"reference/python/{name}": text for name, text in python_pages().items()}
    pages |= {f"reference/command-line/{name}": text for name, text in command_line_pages().items()}
    pictures: dict[str, bytes] = {}
    for notebook in sorted(DOCS.rglob("*.ipynb")):
        folder = notebook.parent.relative_to(DOCS)
        text, outputs = page(notebook)
        pages[(folder / f"{notebook.stem}.md").as_posix()] = adapted(text).replace(".ipynb)", ".md)")
        pictures |= {(folder / name).as_posix(): content for name, content in outputs.items()}
    return pages, pictures


def write(pages: dict[str, str], pictures: dict[str, bytes], folder: Path) -> None:
    """The pages in an empty folder, with all files of docs/ that are neither Markdown nor notebooks."""
    shutil.rmtree(folder, ignore_errors=True)
    skipped = shutil.ignore_patterns("*.md", "*.ipynb", ".ipynb_checkpoints")
    shutil.copytree(DOCS, folder, ignore=skipped)
    shutil.copytree(ROOT / "docs_site" / "theme", folder, dirs_exist_ok=True)
    for name, content in {**{name: text.encode() for name, text in pages.items()}, **pictures}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
