"""Where a number comes from: fingerprints, options, seed, versions, machine."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

INHERITED = ("model", "model_class", "device", "versions")
PACKAGES = ("headcount", "torch", "transformers", "numpy")
_command: ContextVar[str] = ContextVar("command", default="")


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a result come from.

    `identity`: the fingerprints of the model (or of several) and of the data, the seed and the dtype, which must be
    equal for the result to be resumed. `attributes`: the names of the models and the device, for the reader.
    """

    identity: Mapping[str, Any]
    attributes: Mapping[str, Any]


def origin_of(attributes: Mapping[str, Any]) -> Origin:
    """The origin of what is computed from another result alone: that of the result with these attributes."""
    return Origin(attributes["identity"], {key: attributes[key] for key in INHERITED if key in attributes})


def current_command() -> str:
    """What is being run: the command line as typed, or the Python function that writes a study; "" where neither."""
    return _command.get()


@contextmanager
def command(text: str) -> Iterator[None]:
    """Everything inside is the work of this command; one that is named already stays."""
    token = _command.set(_command.get() or text)
    try:
        yield
    finally:
        _command.reset(token)


def fingerprint(parts: Iterable[Any]) -> str:
    """A short name for the content of some values: the same content, the same name."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=_plain).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Arrays in full: their text leaves out the middle."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def missing(attributes: Mapping[str, Any]) -> list[str]:
    """What a result's attributes do not say of where its numbers come from: [] where all is said.

    `identity` holds what must be equal to resume: fingerprints of the model (or of several) and of the data, the seed
    and the options; `versions` and `device` stand beside it.
    """
    identity = attributes.get("identity", {})
    said = {
        "model": "model" in identity or "models" in identity,
        "data": "data" in identity,
        "seed": "seed" in identity,
        "versions": bool(attributes.get("versions")),
        "device": bool(attributes.get("device")),
    }
    return [name for name, there in said.items() if not there]


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """`name: old -> new` for each entry that differs."""
    return [
        f"{name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name)
    ]
