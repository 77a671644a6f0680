"""Recipes and benchmarks are run by hand: here it is seen that the names which they import are still there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = [
    path.relative_to(ROOT)
    for folder in ("benchmarks", "recipes")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name != "__init__.py"
]


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_a_script_imports(path: Path) -> None:
    importlib.import_module(".".join(path.with_suffix("").parts))
