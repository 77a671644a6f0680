"""Fresh environments for a check: interpreters that are here, and what is installed into them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
QUIET = ("--quiet", "--disable-pip-version-check")


def find_interpreters(versions: Iterable[str] = VERSIONS) -> dict[str, Path]:
    """By version, an interpreter on the path or among those of pyenv; those that are not here are left out."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for version in versions:
        own = sys.executable if version == f"{sys.version_info.major}.{sys.version_info.minor}" else None
        places = [own, shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}*/bin/python{version}"))]
        for place in places:
            if place is not None and _has_venv(Path(place)):
                found[version] = Path(place)
                break
    return found


def _has_venv(python: Path) -> bool:
    done = subprocess.run([str(python), "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return done.returncode == 0


def make_environment(python: Path, folder: Path) -> Path:
    """An empty environment, and its interpreter; one that is there already is used again."""
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    return inside


def install(python: Path, *words: str) -> None:
    """`pip install` with these words."""
    subprocess.run([str(python), "-m", "pip", "install", *QUIET, *words], check=True)


def pinned(name: str) -> str:
    """What constraints.txt pins a package to, such as `torch==2.13.0`.

    >>> pinned("torch").startswith("torch==")
    True
    """
    (found,) = re.findall(rf"^({name}==\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), flags=re.MULTILINE)
    return str(found)


def oldest(name: str) -> str:
    """The oldest version of a package that pyproject.toml allows, as pip takes it: `torch==2.11.*`.

    >>> oldest("transformers").startswith("transformers==5.")
    True
    """
    (found,) = re.findall(rf'"{name}>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    return f"{name}=={found}.*"
