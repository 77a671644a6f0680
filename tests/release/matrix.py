"""The contract tests with the oldest and the newest supported torch and transformers: `make test-matrix`.

Each pair gets an environment of its own in `.matrix`, which later runs use again. `--torch` names another torch for all
pairs, such as the build for CPUs that a machine without a GPU should get; `--index` an index that has one.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path

from tests.release.environments import ROOT, install, make_environment, oldest

TOOLS = ("pytest", "pytest-xdist", "hypothesis", "sentencepiece", "sacrebleu", "nltk")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", nargs="*", default=[], help="instead of oldest and newest, such as torch==2.13.0")
    parser.add_argument("--transformers", nargs="*", default=[], help="instead of oldest and newest")
    parser.add_argument("--index", help="a further index for torch")
    parser.add_argument("--folder", type=Path, default=ROOT / ".matrix")
    parser.add_argument("--tests", default="tests/contracts", help="what pytest is given, options included")
    options = parser.parse_args()
    outcomes = []
    for torch, family in find_pairs(options.torch, options.transformers):
        code, found = run(torch, family, options)
        outcomes.append((found, "passed" if code == 0 else f"failed ({code})"))
    for found, outcome in outcomes:
        print(f"{outcome:>10}  {found}")
    return int(any(outcome != "passed" for _, outcome in outcomes))


def find_pairs(torches: list[str], families: list[str]) -> list[tuple[str, str]]:
    """The oldest torch with the oldest transformers and the newest with the newest, or these with each other.

    >>> find_pairs([], [])[1], find_pairs(["torch==2.13.0"], [])
    (('torch', 'transformers'), [('torch==2.13.0', 'transformers==5.17.*'), ('torch==2.13.0', 'transformers')])
    """
    ends = [oldest("transformers"), "transformers"]
    if not torches and not families:
        return list(zip([oldest("torch"), "torch"], ends, strict=True))
    return list(product(torches or [oldest("torch"), "torch"], families or ends))


def run(torch: str, family: str, options: argparse.Namespace) -> tuple[int, str]:
    """Run the tests with this torch and these transformers; the exit code of pytest, and the versions."""
    name = "".join(letter if letter.isalnum() or letter in ".=" else "-" for letter in f"{torch},{family}")
    python = make_environment(Path(sys.executable), options.folder / name)
    index = ["--extra-index-url", options.index] if options.index else []
    install(python, *index, "--upgrade", torch)
    # With the extra that the contract of the live server needs.
    install(python, "--editable", f"{ROOT}[live]", "--upgrade", family, torch, *TOOLS)
    say = (
        "import platform, torch, transformers; print('python', platform.python_version(), 'torch', torch.__version__, "
    )
    say += "'transformers', transformers.__version__)"
    found = subprocess.run([str(python), "-c", say], capture_output=True, text=True, check=True).stdout.strip()
    print(f"== {found}", flush=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
    words = [str(python), "-m", "pytest", "-q", *shlex.split(options.tests)]
    return subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode, found


if __name__ == "__main__":
    sys.exit(main())
