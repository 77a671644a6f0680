"""The contract tests with the oldest and the newest supported torch and transformers: `make test-matrix`.

Each pair gets an environment of its own in `.matrix`, which later runs use again. `--torch` names another torch for all
pairs, such as the build for CPUs that a machine without a GPU should get; `--index` an index that has one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.release.environments import ROOT, install, make_environment, oldest

TOOLS = ("pytest", "pytest-xdist", "hypothesis", "sentencepiece", "sacrebleu", "nltk")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--torch", nargs="*", default=[], help="instead of the oldest and the newest, such as torch==2.13.0"
    )
    parser.add_argument("--transformers", nargs="*", default=[], help="instead of the oldest and the newest")
    parser.add_argument("--index", help="a further index for torch")
    parser.add_argument("--folder", type=Path, default=ROOT / ".matrix")
    parser.add_argument("tests", nargs="*", default=["tests/contracts"])
    options, more = parser.parse_known_args()
    torches = options.torch or [oldest("torch"), "torch"]
    families = options.transformers or [oldest("transformers"), "transformers"]
    pairs = [(torch, family) for torch in torches for family in families]
    if len(torches) == len(families) == 2:
        pairs = [pairs[0], pairs[-1]]  # oldest with oldest, newest with newest
    outcomes = []
    for torch, family in pairs:
        code, found = run(torch, family, options, more)
        outcomes.append((found, "passed" if code == 0 else f"failed ({code})"))
    for found, outcome in outcomes:
        print(f"{outcome:>10}  {found}")
    return int(any(outcome != "passed" for _, outcome in outcomes))


def run(torch: str, family: str, options: argparse.Namespace, more: list[str]) -> tuple[int, str]:
    """Run the tests with this torch and these transformers; the exit code of pytest, and the versions."""
    name = "".join(letter if letter.isalnum() or letter in ".=" else "-" for letter in f"{torch},{family}")
    python = make_environment(Path(sys.executable), options.folder / name)
    index = ["--extra-index-url", options.index] if options.index else []
    install(python, *index, "--upgrade", torch)
    install(python, "--editable", str(ROOT), torch, family, *TOOLS)
    say = (
        "import torch, transformers as t, sys; print('python %s, torch %s, transformers %s' % (sys.version.split()[0], "
    )
    say += "torch.__version__, t.__version__))"
    found = subprocess.run([str(python), "-c", say], capture_output=True, text=True, check=True).stdout.strip()
    print(f"== {found}", flush=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", *options.tests, *more], cwd=ROOT, env=environment, check=False
    )
    return done.returncode, found


if __name__ == "__main__":
    sys.exit(main())
