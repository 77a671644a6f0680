"""What Headcount finds on this machine: versions, extras, devices, attention kernels, threads and memory."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec

import torch
from packaging.requirements import Requirement

import headcount
from headcount.trace.memory import free_memory

SHOWN = ("torch", "transformers", "numpy", "zarr", "xarray")
"""Packages whose versions matter most."""
NOT_FOR_USERS = ("dev", "docs")
KERNELS = {
    "eager": "",
    "sdpa": "",
    "flex_attention": "torch.nn.attention.flex_attention",
    "flash_attention_2": "flash_attn",
}
"""Implementations of attention in transformers, and the module that each needs."""


@dataclass(frozen=True)
class Extra:
    """An extra of the package, the distributions it consists of, and those that are not installed."""

    name: str
    packages: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def command(self) -> str:
        """How to install it; empty if it is installed."""
        return f"pip install 'headcount[{self.name}]'" if self.missing else ""


@dataclass(frozen=True)
class Environment:
    """What was found."""

    versions: Mapping[str, str]
    unsupported: tuple[str, ...]
    """Packages of a version that Headcount does not support, with what it needs."""
    extras: tuple[Extra, ...]
    devices: tuple[str, ...]
    kernels: tuple[str, ...]
    cpu: str
    threads: int
    free_bytes: int | None


def read_environment() -> Environment:
    """Look at this machine."""
    needed = _requirements()
    return Environment(
        {"headcount": headcount.__version__, "python": platform.python_version(), **_versions(SHOWN)},
        unsupported_versions(needed),
        find_extras(needed),
        _devices(),
        tuple(name for name, module in KERNELS.items() if not module or _is_there(module)),
        torch.backends.cpu.get_cpu_capability(),
        torch.get_num_threads(),
        free_memory(),
    )


def _requirements() -> list[Requirement]:
    """What the installed package says that it needs; nothing where it runs from its sources alone."""
    try:
        return [Requirement(text) for text in requires("headcount") or ()]
    except PackageNotFoundError:
        return []


def _versions(names: Iterable[str]) -> dict[str, str]:
    return {name: _installed(name) or "not installed" for name in names}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def unsupported_versions(needed: Iterable[Requirement]) -> tuple[str, ...]:
    """The required packages that are not installed, or in a version that is not supported.

    >>> unsupported_versions([Requirement("torch>=99"), Requirement("numpy")])[0].endswith("needs torch>=99")
    True
    """
    found = []
    for requirement in needed:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        installed = _installed(requirement.name)
        if installed is None or not requirement.specifier.contains(installed, prereleases=True):
            has = "is not installed" if installed is None else f"has version {installed}"
            found.append(f"{requirement.name} {has}; headcount needs {requirement}")
    return tuple(found)


def find_extras(needed: Iterable[Requirement]) -> tuple[Extra, ...]:
    """The extras with the packages that they need, and which of these are missing.

    >>> find_extras([Requirement('no-such-package; extra == "live"')])[0].command
    "pip install 'headcount[live]'"
    """
    packages: dict[str, list[str]] = {}
    for requirement in needed:
        match = re.search(r"""extra == ['"]([^'"]+)['"]""", str(requirement.marker or ""))
        if match and match[1] not in NOT_FOR_USERS:
            packages.setdefault(match[1], []).append(requirement.name)
    return tuple(
        Extra(name, tuple(listed), tuple(each for each in listed if _installed(each) is None))
        for name, listed in sorted(packages.items())
    )


def _devices() -> tuple[str, ...]:
    """The devices that torch can use, GPUs with their names and memory."""
    found = ["cpu"]
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(number)
            found.append(f"cuda:{number} ({properties.name}, {properties.total_memory / 2**30:.0f} GB)")
    if torch.backends.mps.is_available():
        found.append("mps")
    return tuple(found)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
