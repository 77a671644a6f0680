"""Where results come from: fingerprints, options, seed, versions, device, command."""

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

INHERITED = ("model", "model_class", "device", "versions", "heads_per_key")
PACKAGES = ("headcount", "torch", "transformers", "numpy")
_command: ContextVar[str] = ContextVar("command", default="")


@dataclass(frozen=True)
class Origin:
    """Where a result comes from.

    `identity`: the fingerprints of the model (or of several) and of the data, the seed and the dtype, which must be
    equal for the result to be resumed. `attributes`: the names of the models and the device, for the reader.
    """

    identity: Mapping[str, Any]
    attributes: Mapping[str, Any]

    @property
    def provenance(self) -> dict[str, Any]:
        """The attributes with the versions: what a result of this origin says beside its identity."""
        return {"versions": versions(), **self.attributes}


def origin_of(attributes: Mapping[str, Any]) -> Origin:
    """The origin of a result, from its attributes: also that of what is computed from this result alone."""
    return Origin(attributes["identity"], {key: attributes[key] for key in INHERITED if key in attributes})


def current_command() -> str:
    """What is running: the command line as typed, or the Python function that writes a study; "" if neither."""
    return _command.get()


@contextmanager
def command(text: str) -> Iterator[None]:
    """Name the command that everything inside belongs to, unless an outer one has been named already."""
    token = _command.set(_command.get() or text)
    try:
        yield
    finally:
        _command.reset(token)


def fingerprint(parts: Iterable[Any]) -> str:
    """A short digest of some values: equal values have equal fingerprints."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=_plain).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Arrays in full: their text leaves out the middle."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """`name: old -> new` for each entry that differs."""
    return [
        f"{name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name)
    ]
