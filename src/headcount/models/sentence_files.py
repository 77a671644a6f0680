"""sentence-transformers' files of a model: read from its folder or the hub, kept with it, written with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import huggingface_hub
from transformers import PreTrainedModel
from transformers.utils import cached_file

from headcount.data.kinds.sentence_files import (
    FILES,
    MODULES,
    SETTINGS,
    SentenceFiles,
    makes_vectors,
    read_sentence_files,
)
from headcount.errors import CannotWrite

PATTERNS = (MODULES, SETTINGS, "sentence_*_config.json", "*/sentence_*_config.json", "[0-9]*_*/*")
"""What is fetched of a model on the hub, beside the model itself."""
QUIETLY: dict[str, Any] = {
    "_raise_exceptions_for_missing_entries": False,
    "_raise_exceptions_for_connection_errors": False,
}
PLACES = ("revision", "cache_dir", "token", "local_files_only")


def find_sentence_files(name: str, options: Mapping[str, Any]) -> SentenceFiles:
    """The files of a folder or a model on the hub; empty where sentence-transformers did not write it.

    `options`: those of `from_pretrained` that say where files are.
    """
    if Path(name).is_dir():
        return read_sentence_files(Path(name))
    places = {key: options[key] for key in PLACES if options.get(key) is not None}
    if cached_file(name, MODULES, **QUIETLY, **places) is None:
        return {}
    return read_sentence_files(Path(huggingface_hub.snapshot_download(name, allow_patterns=[*PATTERNS], **places)))


def keep_sentence_files(model: PreTrainedModel, files: SentenceFiles) -> None:
    """Remember the files of a model; copies of the model have them too.

    They are those of a model without a head if they say how vectors are pooled, otherwise of one with a head.
    """
    if files and (model.base_model is model) == makes_vectors(files):
        setattr(model, FILES, dict(files))


def write_sentence_files(model: PreTrainedModel, folder: Path) -> None:
    """Write the files beside a saved model, so that sentence-transformers loads it, if it has any."""
    files: SentenceFiles = getattr(model, FILES, {})
    for name, content in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise CannotWrite(f"got {name!r} in {MODULES}, which lies outside of the folder; restore the file")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def library_class(model: PreTrainedModel) -> str | None:
    """The class of sentence-transformers that loads the saved model; None without its files."""
    files: SentenceFiles = getattr(model, FILES, {})
    if not files:
        return None
    return "SentenceTransformer" if makes_vectors(files) else "CrossEncoder"
