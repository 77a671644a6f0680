"""Which device each part of a model goes to (`device_map=`), checked before transformers reads it."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from headcount.errors import InvalidOption, MissingPackage, listed, short
from headcount.models.device import find_device

AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")
"""Maps that accelerate makes, from the memory of each device."""
DISK = "disk"
OFFLOAD_LOGGER = "accelerate.big_modeling"
DeviceMap = str | int | torch.device | Mapping[str, str | int | torch.device]


def read_device_map(text: str) -> DeviceMap:
    """The map that the command line names: one that accelerate makes, or a JSON file from parts to devices."""
    if text in AUTOMATIC:
        return text
    expected = f'expected {", ".join(AUTOMATIC)} or a JSON file such as {{"model.layers.0": "cuda:0", ...}}'
    path = Path(text)
    if path.suffix != ".json":
        raise InvalidOption(f"got device_map={text!r}; {expected}")
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise InvalidOption(f"got device_map={text!r}, which cannot be read ({reason}); {expected}") from error
    if not isinstance(parsed, dict):
        raise InvalidOption(f"got device_map={text!r}, which holds {short(parsed)}; {expected}")
    return parsed


def check_device_map(device_map: DeviceMap) -> None:
    """An error where the map is no map, or names a device that is not here."""
    if find_spec("accelerate") is None:
        raise MissingPackage("device_map= needs accelerate; install it with: pip install accelerate")
    if isinstance(device_map, str) and device_map in AUTOMATIC:
        return
    if isinstance(device_map, Mapping):
        if not device_map:
            raise InvalidOption("got an empty device_map=; expected a device for each part of the model")
        devices = {part: device for part, device in device_map.items() if device != DISK}
    else:
        devices = {"": device_map}
    for part, device in devices.items():
        of = f" for {part!r}" if part else ""
        if isinstance(device, bool) or not isinstance(device, str | int | torch.device):
            raise InvalidOption(f"got {short(device)}{of} in device_map=; expected cpu, disk, cuda:0 or the like")
        name = f"cuda:{device}" if isinstance(device, int) else str(device)
        try:
            find_device(name)
        except InvalidOption as error:
            known = f"{', '.join(AUTOMATIC)}, " if not of else ""
            expected = f"expected {known}cpu, disk, or a GPU that torch finds, such as cuda:0"
            raise InvalidOption(f"got the device {name!r}{of} in device_map=, which is not here; {expected}") from error


def runs_on_cpu(device_map: DeviceMap) -> bool:
    """Whether a model with this map computes on the CPU; weights on the CPU or disk go to a GPU if the map has one."""
    if isinstance(device_map, str) and device_map in AUTOMATIC:
        return find_device("auto") == "cpu"
    devices = device_map.values() if isinstance(device_map, Mapping) else [device_map]
    return all(str(device) in ("cpu", DISK) for device in devices)


@contextmanager
def dispatching(options: dict[str, Any]) -> Iterator[Any]:
    """Give `from_pretrained` a folder for weights that go to the disk, and its complaints about a map in one line.

    Yields a function to call with the loaded model: the folder is kept for as long as the model lives.
    """
    if options.get("device_map") is None:
        yield lambda model: None
        return
    own = None if options.get("offload_folder") else tempfile.mkdtemp(prefix="headcount-offload-")
    options["offload_folder"] = options.get("offload_folder") or own
    kept = False

    def keep(model: Any) -> None:
        nonlocal kept
        _check_parts(options["device_map"], model)
        if own is not None and any(Path(own).iterdir()):
            weakref.finalize(model, shutil.rmtree, own, ignore_errors=True)
            kept = True

    logger = logging.getLogger(OFFLOAD_LOGGER)
    level = logger.level
    logger.setLevel(logging.ERROR)  # that weights are offloaded is what was asked for
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The following device_map keys do not match")  # see _check_parts
            yield keep
    except ValueError as error:
        problem = _problem(str(error))
        if problem is None:
            raise
        raise InvalidOption(problem) from error
    finally:
        logger.setLevel(level)
        if own is not None and not kept:
            shutil.rmtree(own, ignore_errors=True)


def _check_parts(device_map: DeviceMap, model: Any) -> None:
    """An error where a map names what the model does not have; accelerate takes single tensors for unknown, too."""
    if isinstance(device_map, Mapping):
        tensors = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
        known = {name for name, _ in (*model.named_modules(remove_duplicate=False), *tensors)}
        unknown = [part for part in device_map if part not in known]
        if unknown:
            raise InvalidOption(
                f"device_map= names {listed(unknown)}, which {type(model).__name__} does not have; "
                "expected names of its modules"
            )


def _problem(message: str) -> str | None:
    """What accelerate says about the parts that a map leaves out or splits; None if it is about anything else."""
    missing = re.search(r"does not give any device for the following parameters: (.*)", message)
    if missing:
        first, *others = missing[1].split(", ")
        more = f" and {len(others)} more" if others else ""
        return f"device_map= has no device for {first}{more}; name all parts of the model"
    if "is on the meta device, we need a `value`" in message:
        return "device_map= gives a part of an offloaded module another device; give the whole module one device"
    return None
