"""Is the script that ships with the package what its sources give, bundled with the pinned tools?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from headcount.core.claims import LEVEL

PAGE = Path(str(files("headcount.reporting"))) / "page"
SCRIPTS = ("page.js", "live.js")
"""Of the report, and of the live page."""


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the packages that they bundle."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no node or no npm on the path")
    folder = tmp_path_factory.mktemp("page") / "page"
    shutil.copytree(PAGE, folder, ignore=shutil.ignore_patterns("built", "@biomejs"), symlinks=True)
    if (PAGE / "node_modules").is_dir():
        return folder
    for options in (("--offline",), ()):
        if run("npm", "ci", "--omit=dev", "--no-audit", "--no-fund", *options, cwd=folder).returncode == 0:
            return folder
    pytest.skip("the packages are neither in node_modules nor to be had: run npm ci in src/headcount/reporting/page")


def test_the_shipped_scripts_are_what_the_sources_give(sources: Path, tmp_path: Path) -> None:
    made = run("npm", "run", "build", "--", str(tmp_path), cwd=sources)
    assert made.returncode == 0, made.stderr
    for name in SCRIPTS:
        shipped, built = (PAGE / "built" / name).read_bytes(), (tmp_path / name).read_bytes()
        assert len(built) > 10_000
        assert built == shipped, "run npm run build in src/headcount/reporting/page"


def test_a_change_of_the_sources_changes_the_script(sources: Path, tmp_path: Path) -> None:
    """So that the comparison above compares something."""
    before = (sources / "main.js").read_text(encoding="utf-8")
    (sources / "main.js").write_text(before + '\ndocument.title = "changed";\n', encoding="utf-8")
    made = run("npm", "run", "build", "--", str(tmp_path), cwd=sources)
    (sources / "main.js").write_text(before, encoding="utf-8")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "page.js").read_bytes() != (PAGE / "built" / "page.js").read_bytes()


def test_every_tool_is_pinned_as_it_was_installed() -> None:
    package = json.loads((PAGE / "package.json").read_text(encoding="utf-8"))
    wanted = {**package["dependencies"], **package["devDependencies"]}
    locked = json.loads((PAGE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert wanted == {name: locked[f"node_modules/{name}"]["version"] for name in wanted}
    assert all("integrity" in one for name, one in locked.items() if name)


def test_the_script_can_stand_in_a_page() -> None:
    """It is written between two tags: neither may occur in it, and it must not ask for anything."""
    script = (PAGE / "built" / "page.js").read_text(encoding="utf-8").lower()
    for part in ("</script", "<!--", "import(", "fetch(", "xmlhttprequest", "eval(", "new function("):
        assert part not in script, part
    assert "</style" not in (PAGE / "page.css").read_text(encoding="utf-8").lower()
    assert "url(" not in (PAGE / "page.css").read_text(encoding="utf-8").lower()


def test_the_live_page_asks_its_own_server_alone() -> None:
    """Its script is a file of its own, which names no other place and runs no text."""
    script = (PAGE / "built" / "live.js").read_text(encoding="utf-8")
    for part in ("eval(", "new Function(", "document.write(", "XMLHttpRequest", "WebSocket", "import("):
        assert part not in script, part
    own = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("live/*.js"))
    assert "innerHTML" not in own
    assert "insertAdjacentHTML" not in own
    assert not set(re.findall(r"https?://[\w.]+", script.partition("*/")[2])) - {"http://www.w3.org"}
    for sheet in ("page.css", "live.css"):
        assert "url(" not in (PAGE / sheet).read_text(encoding="utf-8").lower()


def test_significant_means_the_same_on_the_page() -> None:
    source = (PAGE / "format.js").read_text(encoding="utf-8")
    assert f"export const LEVEL = {LEVEL};" in source
    built = "".join(path.read_text(encoding="utf-8") for path in (*PAGE.glob("*.js"), *PAGE.glob("live/*.js")))
    assert "< 0.05" not in built, "one home for the level"
