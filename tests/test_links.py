"""Every relative link and anchor of documents and notebooks leads somewhere, and so does every file that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

import headcount

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb"), *ROOT.glob("recipes/**/*.md")]
)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
NAMED = re.compile(r"`((?:docs|recipes|benchmarks|tests|src)/[\w./-]+)`")


def text_of(path: Path) -> str:
    """Without code, in which brackets are no links."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while (each := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(each)
    return found


def broken(path: Path) -> list[str]:
    text = text_of(path)
    found = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        file, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = path.parent / file if file else path
        if not target.exists():
            found.append(f"{link}: no such file")
        elif anchor and target.suffix in {".md", ".ipynb"} and anchor not in anchors(text_of(target)):
            found.append(f"{link}: no such heading")
    return found + [f"{name}: no such file" for name in NAMED.findall(text) if not (ROOT / name).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    assert broken(path) == []


def test_documents_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md"} <= {path.name for path in DOCUMENTS}
    assert any(LINK.search(text_of(path)) for path in DOCUMENTS)


def test_what_leads_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A `title`, two\n\n## Two\n\n## Two\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#a-title-two) [b](other.md#two-1) ![c](no.png) [d](other.md#three) [e](#here)\n\n# Here\n\n"
        "[f](https://example.org/no) `[g](nowhere.md)` `docs/no.md` `docs/concepts.md`\n\n```\n[h](nowhere.md)\n```\n"
    )
    assert broken(page) == ["no.png: no such file", "other.md#three: no such heading", "docs/no.md: no such file"]


def test_the_citation_names_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == headcount.__version__


def test_a_report_of_a_bug_asks_for_the_doctor() -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8"))
    (field,) = [field for field in form["body"] if field.get("id") == "doctor"]
    assert "headcount doctor" in field["attributes"]["label"]
    assert field["validations"]["required"]
