"""The table of rooms in docs/architecture.md is true: who may import whom, a docstring and a test for each module.

No module and no folder imports itself by a detour; only `models/` knows architectures; only `trace/` touches a forward
pass.
"""

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
from tests.source_code import (
    MODULES,
    ROOT,
    SOURCE,
    dotted,
    find_cycle,
    imported,
    known_architectures,
    relative,
    touches_forward,
)

UNTESTED = {
    "models/families/plan.py",
    "models/families/regular.py",
    "models/families/albert.py",
    "models/families/without_interface.py",
    "models/families/first_position.py",
}
"""Pure tables, held to their promises by tests/contracts."""
TOUCHING = {
    "models/shrink.py",  # hooks of a pruned model, saved with it: they run where Headcount is not installed
}
"""Modules outside `trace/` that register hooks. None may be added."""
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
    "probing",
    "statistical_cues",
    "choosing",
    "pruning",
    "costs",
    "story",
)
NEEDS_ZARR_OR_DATASETS = {
    "core/arrays.py",
    "core/checked_store.py",
    "core/group.py",
    "core/read_study.py",
    "core/store.py",
    "data/hub.py",
}
ABSENT_ON_A_GPU_BOX = ("zarr", "datasets", "cyclopts")


def rooms() -> dict[str, set[str]]:
    """Room -> the rooms it may import, from the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|.*\| ([^|]*) \|$", text, flags=re.MULTILINE)
    return {room: set() if allowed == "nothing" else set(allowed.split(", ")) for room, allowed in table}


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


IMPORTS = {dotted(path): imported(path.read_text("utf-8")) for path in MODULES if path != SOURCE / "__init__.py"}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_room_imports_only_what_the_table_allows(path: Path) -> None:
    if path.parent == SOURCE and path.name == "__init__.py":
        return
    room = room_of(path)
    table = rooms()
    assert room in table, f"{room} is not in the table of docs/architecture.md"
    assert {name.split(".")[1] for name in IMPORTS[dotted(path)]} <= table[room] | {room}


def test_the_table_has_no_room_that_does_not_exist() -> None:
    existing = {room_of(path) for path in MODULES} - {"__init__"}
    assert set(rooms()) == existing


def test_the_table_has_no_loops() -> None:
    table = rooms()
    order = list(table)
    for room, allowed in table.items():
        assert allowed <= set(order[: order.index(room)]), f"{room} may import a room below it"


def test_no_module_imports_itself_by_a_detour() -> None:
    assert find_cycle(IMPORTS) == []


def test_no_folder_imports_itself_by_a_detour() -> None:
    """Sub-folders too: what a folder's files import may not lead back to that folder."""
    folders: dict[str, set[str]] = {}
    for module, names in IMPORTS.items():
        for name in names:
            if folder_of(name) != folder_of(module):
                folders.setdefault(folder_of(module), set()).add(folder_of(name))
    assert find_cycle(folders) == []


def folder_of(module: str) -> str:
    """Of `headcount.core.heads` `headcount.core`; a module beside the rooms stands for itself."""
    folder = module if SOURCE.joinpath(*module.split(".")[1:]).is_dir() else module.rpartition(".")[0]
    return module if folder == "headcount" else folder


def test_only_models_knows_architectures() -> None:
    """No other room mentions a model type, a suffix of a class name or Conv1D."""
    others = [path for path in MODULES if room_of(path) != "models"]
    assert {relative(path): said for path in others if (said := known_architectures(path.read_text("utf-8")))} == {}


def test_only_trace_touches_a_forward_pass() -> None:
    """No other room registers hooks or replaces a forward."""
    others = [path for path in MODULES if room_of(path) != "trace" and relative(path) not in TOUCHING]
    assert {relative(path): done for path in others if (done := touches_forward(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import headcount as hc\n\ndef f():\n    return hc.sweep", {"headcount.ablation.sweep"}),
        ("import headcount\nprint(headcount.__version__)", set()),
        ("from headcount import load", {"headcount.models.load"}),
        ("def f():\n    from headcount.core import heads", {"headcount.core.heads"}),
        ("import importlib\nimportlib.import_module('headcount.trace.gates')", {"headcount.trace.gates"}),
        ("import headcount.core.heads as known", {"headcount.core.heads"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import headcount.core.heads", set()),
    ],
)
def test_every_way_to_import_is_seen(source: str, modules: set[str]) -> None:
    assert imported(source) == modules


def test_every_breach_is_seen() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
    assert known_architectures('if kind == "bert" or name.endswith("ForCausalLM"): pass') == {"bert", "ForCausalLM"}
    assert known_architectures("from transformers.pytorch_utils import Conv1D\nx = config.model_type") == {
        "Conv1D",
        "model_type",
    }
    assert known_architectures('"""bert"""\nkind = "AutoModelForCausalLM"') == set()
    assert touches_forward("layer.register_forward_pre_hook(f)") == {"register_forward_pre_hook"}
    assert touches_forward("layer.forward = f\nlayer.forward(x)") == {"forward ="}
    assert touches_forward("setattr(layer, 'forward', f)") == {"setattr forward"}


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
        if room_of(path) in COMPUTE and relative(path) not in NEEDS_ZARR_OR_DATASETS and path.stem != "__init__"
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
