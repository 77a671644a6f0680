"""Which folder a model's name refers to, and whether it can hold a model: checked before anything is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headcount.data.kinds.sentence_files import transformer_folder
from headcount.errors import ModelUnavailable
from headcount.models.loading_errors import first_line
from headcount.zoo.bundled import find_model

WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin")


def find_folder(name: str, weights: bool = True) -> str:
    """The folder or hub name of a model; `bundled:qnli` and the folder of a `finetune` run are resolved.

    A folder must have a config.json and, with `weights`, weights; anything else must look like a hub name.
    """
    path = find_model(name)
    folder = Path(path)
    if not path.strip() or not folder.is_dir():
        if folder.exists() or path.startswith((".", "/", "~")) or path.count("/") > 1 or not path.strip():
            raise ModelUnavailable(f"got {name!r} for a model; expected a folder with config.json or a hub name")
        return path
    if is_run(folder):
        folder = folder / "model"
    folder = transformer_folder(folder) or folder
    config = folder / "config.json"
    if not config.is_file():
        raise ModelUnavailable(f"the folder {name!r} has no config.json; expected what save_pretrained writes")
    try:
        _check_numbers(config, json.loads(config.read_text(encoding="utf-8")))
    except (ValueError, OSError) as error:
        raise ModelUnavailable(f"{config} cannot be read as JSON ({first_line(error)}); restore the file") from error
    if weights and not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
        raise ModelUnavailable(f"the folder {name!r} has a config.json but no weights; expected model.safetensors")
    return str(folder)


def is_run(folder: Path) -> bool:
    """Whether the folder is that of a `finetune` run, whose model is in its subfolder `model`."""
    return not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file()


def folder_notes(name: str) -> list[str]:
    """A note where a name was resolved to another folder."""
    folder = Path(name)
    return [f"{name} is the folder of a run; its model is {folder / 'model'}"] if is_run(folder) else []


def _check_numbers(path: Path, config: Any) -> None:
    """An error where a number of heads is below 1: transformers would fail with an obscure message, or not at all."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if key.endswith(("heads", "_head")) and isinstance(value, int) and not isinstance(value, bool) and value < 1:
            raise ModelUnavailable(f"{path} says {key}: {value}; expected at least 1, as when the model was saved")
