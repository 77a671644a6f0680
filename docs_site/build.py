"""`python -m docs_site.build` (`make docs`): the documentation site in `site/`, without a network.

A link that leads nowhere ends the build, and so does a page that would load anything from elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs_site.navigation import as_toml, menu
from docs_site.pages import ROOT, all_pages, write

STAGE = ROOT / "build" / "docs"
SITE = ROOT / "site"
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^"' >]+"""
    r"""|<link\b[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon)[^>]*href=["']?(?:https?:)?//[^"' >]+"""
)


def build() -> int:
    """Write the pages, build the site, and check what it loads; the exit code."""
    pages, pictures = all_pages()
    write(pages, pictures, STAGE / "pages")
    settings = (ROOT / "docs_site" / "settings.toml").read_text(encoding="utf-8")
    added = f'[project]\ndocs_dir = "pages"\nsite_dir = "site"\nnav = {as_toml(menu(pages))}\n'
    config = STAGE / "zensical.toml"
    config.write_text(settings.replace("[project]\n", added, 1), encoding="utf-8")
    shutil.rmtree(STAGE / "site", ignore_errors=True)
    program = Path(sys.executable).parent / "zensical"
    command = [str(program), "build", "--strict", "--clean", "--config-file", str(config)]
    # The root is on the path for docs_site.docstrings, which mkdocstrings imports.
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    if done.returncode:
        return done.returncode
    if foreign := [found for page in sorted((STAGE / "site").rglob("*.html")) for found in loaded(page)]:
        print("\n".join(["the site would load files from elsewhere:", *foreign]), file=sys.stderr)
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(STAGE / "site", SITE)
    print(f"{len(pages)} pages: {SITE / 'index.html'}")
    return 0


def loaded(page: Path) -> list[str]:
    """What a page loads from other hosts, each with the page's name."""
    return [f"{page}: {found}" for found in foreign(page.read_text("utf-8"))]


def foreign(html: str) -> list[str]:
    """
    >>> foreign('<script src="https://cdn.example/x.js"></script><a href="https://example.org">')
    ['<script src="https://cdn.example/x.js']
    """
    return LOADED.findall(html)


if __name__ == "__main__":
    sys.exit(build())
