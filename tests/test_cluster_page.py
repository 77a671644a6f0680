"""The commands of docs/cluster.md have the options that they name, and its scripts and manifest can be read."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from headcount.cli.main import app

PAGE = (Path(__file__).parent.parent / "docs" / "cluster.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ *(headcount .*?)(?:  +#.*)?$", re.sub(r" \\\n +", " ", PAGE), flags=re.MULTILINE)
COMMANDS += re.findall(r" -- (headcount .*)$", re.sub(r" \\\n +", " ", PAGE), flags=re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) >= 9
    assert all("--engine ray" in command or "--shard" in command for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_understood(command: str) -> None:
    given = command.replace("$((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE))", "32")
    app.parse_args(shlex.split(given.replace("$SLURM_ARRAY_TASK_ID", "3"))[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("script", blocks("bash"), ids=["cluster", "array"])
def test_every_script_is_bash(script: str) -> None:
    said = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


def test_the_manifest_has_the_versions_of_its_image() -> None:
    (text,), (image,) = blocks("yaml"), blocks("dockerfile")
    cluster = yaml.safe_load(text)["spec"]
    assert f"rayproject/ray:{cluster['rayVersion']}-" in image
    (gpus,) = cluster["workerGroupSpecs"]
    (worker,) = gpus["template"]["spec"]["containers"]
    workers = gpus["replicas"] * int(worker["resources"]["limits"]["nvidia.com/gpu"])
    assert any(f"--workers {workers} " in command for command in COMMANDS), "as many as the cluster has GPUs"


def test_the_python_compiles() -> None:
    (block,) = blocks("python")
    compile(block, "docs/cluster.md", "exec")


def test_links_lead_to_headings() -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", PAGE, flags=re.MULTILINE)
    }
    for anchor in re.findall(r"\]\(#(.*?)\)", PAGE):
        assert anchor in headings
