"""Is what would be released whole? `make release-check` builds wheel and sdist and installs the wheel elsewhere.

For every interpreter that is here: an empty environment, `pip install` of the wheel, and `headcount demo --quick` from
another folder, without a network; then the demo's study is read by `explain`, `table` and `report`. Where there is no
torch for an interpreter (`--without-torch 3.13`), everything but torch and what needs it is installed, and a study that
another interpreter has made is read.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.release.environments import ROOT, find_interpreters, install, make_environment, pinned
from tests.release.offline import REFUSING

LARGEST = 40 * 10**6
"""Bytes of a wheel."""
NEEDED = (
    "headcount/py.typed",
    "headcount/reporting/page/built/page.js",
    "headcount/zoo/data/qnli/model.safetensors",
    "headcount/zoo/data/pretrained/model.safetensors",
    "headcount/patterns/naming.json",
    "headcount/story/earlier.json",
)
NEEDS_TORCH = ("torch", "transformers", "accelerate")
DEMO = ("demo", "--quick", "--out", "demo-out")
READING = (
    (),
    ("--help",),
    ("explain", "L5H1", "demo-out"),
    ("table", "demo-out", "-o", "heads.csv"),
    ("report", "demo-out", "-o", "again.html"),
)
"""Commands that read a study, or none: they run without torch."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="*", help="versions; all that are here by default")
    parser.add_argument("--without-torch", nargs="*", default=[], help="versions for which torch cannot be had")
    parser.add_argument("--torch", default=pinned("torch"))
    options = parser.parse_args()
    interpreters = find_interpreters(options.python) if options.python else find_interpreters()
    for version in options.python or ():
        if version not in interpreters:
            parser.error(f"there is no Python {version} here")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        wheel, sdist = build(place / "dist")
        print(f"wheel {wheel.stat().st_size / 1e6:.1f} MB, sdist {sdist.stat().st_size / 1e6:.1f} MB", flush=True)
        check_files(wheel, sdist)
        # Those with torch first: the others read the study of their demo.
        for version, python in sorted(interpreters.items(), key=lambda pair: pair[0] in options.without_torch):
            whole = version not in options.without_torch
            inside = make_environment(python, place / f"python{version}")
            (install_wheel if whole else install_without_torch)(inside, wheel, options.torch)
            commands = (DEMO, *READING, ("doctor", "bundled:qnli")) if whole else READING
            run_commands(inside, place / "elsewhere", commands)
            print(
                f"Python {version}: {'demo --quick, doctor and ' if whole else 'without torch: '}explain, table and "
                f"report from another folder without a network",
                flush=True,
            )
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it, as the package index would be given them."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_files(wheel: Path, sdist: Path) -> None:
    """The wheel has what the package needs, nothing that it does not, and is not too large; the sdist has the tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/headcount").rglob("*.py")}
    missing = sorted((sources | set(NEEDED)) - names)
    assert not missing, f"the wheel lacks {missing}"
    odd = [name for name in names if re.search(r"node_modules|__pycache__|\.pyc$|^tests/|biome", name)]
    assert not odd, f"the wheel should not have {odd}"
    assert wheel.stat().st_size <= LARGEST, f"the wheel has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}"
    with tarfile.open(sdist) as packed:
        kept = {name.partition("/")[2] for name in packed.getnames()}
    for needed in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "tests/conftest.py"):
        assert needed in kept, f"the sdist lacks {needed}"


def install_wheel(python: Path, wheel: Path, torch: str) -> None:
    """The wheel and the newest of everything that it needs, but this torch."""
    install(python, torch)
    install(python, str(wheel))


def install_without_torch(python: Path, wheel: Path, torch: str) -> None:
    """The wheel, and what it needs but torch and the packages that import it."""
    install(python, "--no-deps", str(wheel))
    with zipfile.ZipFile(wheel) as packed:
        (about,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        needed = re.findall(r"^Requires-Dist: ([^;\n]+)$", packed.read(about).decode(), flags=re.MULTILINE)
    install(python, *(each for each in needed if not re.match("|".join(NEEDS_TORCH), each)))


def run_commands(python: Path, folder: Path, commands: tuple[tuple[str, ...], ...]) -> None:
    """Run commands of the installed program in a folder, without a network; any other exit code than 0 is an error."""
    folder.mkdir(exist_ok=True)
    refusing = folder / "refusing"
    refusing.mkdir(exist_ok=True)
    (refusing / "sitecustomize.py").write_text(REFUSING, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"PYTHONPATH": str(refusing), "HF_HOME": str(folder / "hub")}
    where = subprocess.run(
        [str(python), "-c", "import headcount; print(headcount.__file__)"],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert str(ROOT / "src") not in where, f"the package that was imported is that of the repository: {where}"
    for words in commands:
        done = subprocess.run(
            [str(python.parent / "headcount"), *words],
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"headcount {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.stdout or words[:1] == ("table",), f"headcount {' '.join(words)} says nothing"


if __name__ == "__main__":
    sys.exit(main())
