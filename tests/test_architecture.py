"""The table of rooms in docs/architecture.md is true: who may import whom, a docstring and a test for each module."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import headcount

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headcount"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
UNTESTED = {
    "models/families/plan.py",
    "models/families/regular.py",
    "models/families/albert.py",
    "models/families/without_interface.py",
    "models/families/first_position.py",
}
"""Pure tables, held to their promises by tests/contracts."""
COMPUTE = (
    "core",
    "data",
    "models",
    "trace",
    "ablation",
    "training",
    "patterns",
    "measures",
    "attention_maps",
    "choosing",
    "pruning",
    "costs",
)
ABSENT_ON_A_GPU_BOX = ("zarr", "datasets", "cyclopts")


def rooms() -> dict[str, set[str]]:
    """Room -> the rooms it may import, from the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|.*\| ([^|]*) \|$", text, flags=re.MULTILINE)
    return {room: set() if allowed == "nothing" else set(allowed.split(", ")) for room, allowed in table}


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms that a module imports, inside functions too; imports for type checkers alone do not count."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checked = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {id(inner) for node in checked for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("headcount.")}
    return found


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_room_imports_only_what_the_table_allows(path: Path) -> None:
    if path.parent == SOURCE and path.name == "__init__.py":
        return
    room = room_of(path)
    table = rooms()
    assert room in table, f"{room} is not in the table of docs/architecture.md"
    assert imports(path) <= table[room] | {room}


def test_the_table_has_no_room_that_does_not_exist() -> None:
    existing = {room_of(path) for path in MODULES} - {"__init__"}
    assert set(rooms()) == existing


def test_the_table_has_no_loops() -> None:
    table = rooms()
    order = list(table)
    for room, allowed in table.items():
        assert allowed <= set(order[: order.index(room)]), f"{room} may import a room below it"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_every_module_says_what_it_answers(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=relative)
def test_every_module_has_a_test(path: Path) -> None:
    place = path.relative_to(SOURCE)
    assert relative(path) in UNTESTED or (ROOT / "tests" / place.parent / f"test_{place.name}").is_file()


def test_public_names_are_what_they_were_after_every_import() -> None:
    before = {name: getattr(headcount, name) for name in headcount.__all__}
    for module in pkgutil.walk_packages(headcount.__path__, "headcount."):
        importlib.import_module(module.name)
    assert {name: getattr(headcount, name) for name in headcount.__all__} == before


def test_compute_rooms_import_on_a_gpu_box() -> None:
    """Where zarr, datasets and cyclopts are not installed, the compute rooms but the store and the hub still import."""
    names = [
        ".".join(("headcount", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in MODULES
        if room_of(path) in COMPUTE
        and relative(path) not in ("core/store.py", "core/group.py", "core/checked_store.py", "data/hub.py")
        and path.stem != "__init__"
    ]
    code = (
        f"import sys, importlib\nfor name in {ABSENT_ON_A_GPU_BOX!r}: sys.modules[name] = None\n"
        f"for name in {names!r}: importlib.import_module(name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_repository_speaks_of_the_project_alone() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".json", ".js", ""} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="ignore")
            for word in ("/work" + "/", "/ro" + "ot/", "pypi" + ".org"):
                assert word not in text, f"{name} names {word}"
