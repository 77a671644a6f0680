"""Load a model and its tokenizer from a folder or the hub, as plain transformers objects."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import huggingface_hub
import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoProcessor, AutoTokenizer, PreTrainedModel

from headcount.data.kinds.catalogue import find_kind
from headcount.data.kinds.sentence_files import makes_vectors
from headcount.errors import HeadcountError, HeadcountWarning, ModelUnavailable
from headcount.models.checkpoint import concrete_class, record_of, shrunk_class
from headcount.models.device_map import DeviceMap, check_device_map, dispatching
from headcount.models.find_folder import find_folder, folder_notes
from headcount.models.finite_weights import check_weights
from headcount.models.loading_errors import LOADING, reason_of
from headcount.models.matching_weights import check_matching, matching_notes
from headcount.models.progress_bars import no_progress_bar
from headcount.models.sentence_files import find_sentence_files, keep_sentence_files

CONFIG, RECORD = "config.json", "record of removed heads (config.json, headcount)"
"""What the weights must fit, as errors name it."""
TOKENIZERS = ("tokenizer*", "vocab*", "*.model", "*.spm", "preprocessor_config.json", "processor_config.json")


def load(
    name_or_path: str | Path,
    *,
    tokenizer: str | Path | None = None,
    trust_remote_code: bool = False,
    head: str | None = None,
    device_map: DeviceMap | None = None,
    **options: Any,
) -> tuple[PreTrainedModel, Any]:
    """The model, in evaluation mode, of the class that its config names, and its tokenizer.

    A folder, a name on the hub, or a model that comes with the package: `bundled:qnli`, `bundled:pretrained`.
    `options` go to `from_pretrained` (`dtype=`, `attn_implementation=`, `revision=`, ...). No code from the
    folder or the hub runs unless `trust_remote_code=True`. A vision model comes with its image processor.
    `head` puts a task's head on the model (`classification`, `masked-lm`, ...), new where the checkpoint has none;
    `similarity` gives the model without a head. A folder that sentence-transformers wrote for vectors gives its model
    without a head, that of a cross-encoder its model with one, and `save` writes the library's other files again.

    `device_map` spreads a large model over several devices (accelerate): `"auto"`, `"balanced"`, `"sequential"`, or a
    dict from parts of the model to devices, `cpu` or `disk`; from there, weights come to the GPU when they are needed.
    `ablated`, `gated`, `observe`, `sweep`, `measure` and `importance` work as on the whole model. Pruning, training,
    saving and exporting need the model whole. `max_memory=` and `offload_folder=` go to `from_pretrained`.

    Weights that are NaN, infinite, missing, left over or of another shape are an error; only a head may be missing or
    left over, with a warning.
    """
    if device_map is not None:
        options["device_map"] = device_map
    model = load_model(name_or_path, trust_remote_code=trust_remote_code, head=head, **options)
    loaded_tokenizer = load_tokenizer(tokenizer or name_or_path, trust_remote_code=trust_remote_code)
    for note in loading_notes(name_or_path, model if head is None else None):
        warnings.warn(note, HeadcountWarning, stacklevel=2)
    return model, loaded_tokenizer


def loading_notes(name_or_path: str | Path, model: PreTrainedModel | None, uses_head: bool = False) -> list[str]:
    """Notes for the user: which folder was loaded, which weights are new, which were left out.

    `model` is None where another head was requested: that it is new, and the old one left out, needs no note.
    """
    return [*folder_notes(str(name_or_path)), *([] if model is None else matching_notes(model, uses_head))]


def load_model(
    name_or_path: str | Path,
    *,
    trust_remote_code: bool = False,
    head: str | None = None,
    changes: Mapping[str, Any] | None = None,
    ignore_mismatched_sizes: bool = False,
    **options: Any,
) -> PreTrainedModel:
    """The model alone; see `load`.

    `changes`: entries of the config to change. `ignore_mismatched_sizes`: replace a head of another shape by a new one.
    """
    if options.get("device_map") is not None:
        check_device_map(options["device_map"])
    name = find_folder(str(name_or_path))
    pruned: Any = None
    try:
        options.setdefault("local_files_only", _no_connection(name))
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code, **_where(options))
        for key, value in (changes or {}).items():
            setattr(config, key, value)
        files = find_sentence_files(name, options)
        whole = getattr(transformers, find_kind(head).auto_class) if head else None
        # What sentence-transformers calls in such a folder is the model without its head, whatever the config names.
        whole = whole or (AutoModel if makes_vectors(files) else _model_class(config, trust_remote_code))
        is_auto = whole.__name__.startswith("Auto")
        model_class = whole
        pruned = getattr(config, "headcount", None) or getattr(config, "pruned_heads", None)
        if pruned:
            whole = concrete_class(whole, config) if is_auto else whole
            record = record_of(config, whole)
            assert record is not None
            model_class = shrunk_class(whole, record)
        elif is_auto:
            options["trust_remote_code"] = trust_remote_code
        # A head that the checkpoint lacks is drawn the same every time, or the same command would find another model in
        # its study. `check_matching` reports weights of another shape by name.
        with (
            dispatching(options) as keep_offloaded,
            no_progress_bar(),
            torch.random.fork_rng(devices=[]),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", "Detected pickle protocol")  # an error of ours follows
            torch.manual_seed(0)
            model, report = model_class.from_pretrained(
                name, config=config, output_loading_info=True, ignore_mismatched_sizes=True, **options
            )
            keep_offloaded(model)
        check_matching(model, report, RECORD if pruned else CONFIG, reshaped_head=ignore_mismatched_sizes)
    except HeadcountError as error:
        raise ModelUnavailable(f"cannot load {name!r}: {error}") from error
    except LOADING as error:
        first = f"its weights and its {RECORD} disagree: " if pruned else ""
        raise ModelUnavailable(f"cannot load {name!r}: {first}{reason_of(name, error)}") from error
    if pruned:
        model.__class__ = whole  # its modules have their shapes by now, and pickles and copies know this class
    check_weights(model)
    keep_sentence_files(model, files)
    loaded: PreTrainedModel = model.eval()
    return loaded


def load_config(name_or_path: str | Path, *, trust_remote_code: bool = False) -> Any:
    """The config alone: weights may be missing."""
    name = find_folder(str(name_or_path), weights=False)
    try:
        return AutoConfig.from_pretrained(
            name, trust_remote_code=trust_remote_code, local_files_only=_no_connection(name)
        )
    except LOADING as error:
        raise ModelUnavailable(f"cannot load {name!r}: {reason_of(name, error)}") from error


def load_tokenizer(name_or_path: str | Path, *, trust_remote_code: bool = False) -> Any:
    """The tokenizer, or the image processor of a vision model."""
    name = find_folder(str(name_or_path), weights=False)
    folder = Path(name)
    if folder.is_dir() and not any(path for pattern in TOKENIZERS for path in folder.glob(pattern)):
        # transformers would build a tokenizer with an empty vocabulary and say nothing.
        raise ModelUnavailable(f"no tokenizer in the folder {name!r}; {_GIVE_ONE}")
    reason: Exception | None = None
    for auto_class in (AutoTokenizer, AutoProcessor):
        try:
            return auto_class.from_pretrained(
                name, trust_remote_code=trust_remote_code, local_files_only=_no_connection(name)
            )
        except LOADING as error:
            reason = reason or error
    assert reason is not None  # both failed
    raise ModelUnavailable(f"no tokenizer in {name!r} ({reason_of(name, reason)}); {_GIVE_ONE}") from reason


_GIVE_ONE = "give one with tokenizer=, a folder or a hub name"


def _where(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `from_pretrained` that say where the files are, for the config as for the weights."""
    return {
        key: options[key]
        for key in ("revision", "cache_dir", "token", "subfolder", "local_files_only")
        if key in options
    }


def _no_connection(name: str) -> bool:
    """Whether the hub cannot be reached: then only the cache is used, at once and without retries."""
    if Path(name).is_dir() or getproxies():
        return Path(name).is_dir()
    host = urlsplit(huggingface_hub.constants.ENDPOINT).hostname
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return True
    return False


def _model_class(config: Any, trust_remote_code: bool) -> Any:
    """The class that the config names, or AutoModel where it names none."""
    names = getattr(config, "architectures", None) or []
    if trust_remote_code and getattr(config, "auto_map", None) and getattr(config, "headcount", None) is None:
        return AutoModel
    return getattr(transformers, names[0], AutoModel) if names else AutoModel
