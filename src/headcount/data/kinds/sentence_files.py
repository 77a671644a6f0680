"""The files with which sentence-transformers says how a model's folder turns texts into vectors, or scores pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.errors import ModelUnavailable

MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"
FILES = "headcount_sentence_files"
"""Attribute of a loaded model: these files by their path in the folder, as `SentenceFiles`."""

SentenceFiles = Mapping[str, bytes]


def read_sentence_files(folder: Path) -> SentenceFiles:
    """All files of a folder that sentence-transformers wrote, but not those of the model; empty for other folders.

    The model's own subfolder, which older versions made (`0_Transformer`), is named by its parent's files.
    """
    root = next((path for path in (folder, folder.parent) if transformer_folder(path) == folder), None)
    if root is None:
        return {}
    modules = read_modules((root / MODULES).read_bytes())
    paths = [root / MODULES, root / SETTINGS, *folder.glob("sentence_*_config.json")]
    for module in modules[1:]:
        own = root / module["path"]
        paths += sorted(path for path in own.rglob("*") if path.is_file()) if module["path"] else []
    # A saved model lies beside the other files, so that its module has no folder of its own.
    files = {str((path if path.parent != folder else root / path.name).relative_to(root)): path for path in paths}
    found = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    found[MODULES] = json.dumps([{**modules[0], "path": ""}, *modules[1:]], indent=2).encode()
    return found


def files_of(model: Any) -> SentenceFiles:
    """Those that were kept when the model was loaded, or are in the folder that its config names."""
    files: SentenceFiles | None = getattr(model, FILES, None)
    if files is None:
        files = read_sentence_files(Path(str(getattr(model.config, "_name_or_path", "") or "no folder")))
    return files


def transformer_folder(folder: Path) -> Path | None:
    """Where the model is in a folder that sentence-transformers wrote; None if it is no such folder.

    Folders of its cross-encoders have these files too since version 6.
    """
    file = folder / MODULES
    if not file.is_file():
        return None
    modules = read_modules(file.read_bytes())
    if [module_name(module) for module in modules[:1]] != ["Transformer"]:
        return None
    return folder / modules[0]["path"] if modules[0]["path"] else folder


def read_modules(text: bytes) -> list[dict[str, Any]]:
    """The modules of a folder in their order, with `path` and `type`."""
    modules = read_json(MODULES, text)
    if not isinstance(modules, list) or not all(
        isinstance(each, dict) and {"path", "type"} <= {*each} for each in modules
    ):
        raise ModelUnavailable(f"{MODULES} does not list modules with path and type; restore the file")
    return modules


def read_json(name: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ModelUnavailable(f"{name} cannot be read as JSON; restore the file") from error


def module_name(module: Mapping[str, Any]) -> str:
    """The class of a module, such as Pooling."""
    return str(module["type"]).rpartition(".")[2]


def makes_vectors(files: SentenceFiles) -> bool:
    """Whether these files say how vectors are pooled: not those of a cross-encoder."""
    return bool(files) and any(module_name(module) == "Pooling" for module in read_modules(files[MODULES]))
