"""A model and its tokenizer from a folder or the hub, as plain transformers objects, or one clear line why not."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import huggingface_hub
import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoProcessor, AutoTokenizer, PreTrainedModel

from headcount.errors import HeadcountError, ModelUnavailable
from headcount.models.checkpoint import record_of, shrunk_class
from headcount.models.quiet import no_progress_bar
from headcount.zoo.bundled import find_model

TASK_CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "multiple-choice": "AutoModelForMultipleChoice",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "translation": "AutoModelForSeq2SeqLM",
}
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin")
TOKENIZERS = ("tokenizer*", "vocab*", "*.model", "*.spm", "preprocessor_config.json", "processor_config.json")
NEW_WEIGHTS = "headcount_new_weights"
"""Attribute of a loaded model: the names of the weights that its checkpoint did not have."""


def load(
    name_or_path: str | Path,
    *,
    tokenizer: str | Path | None = None,
    trust_remote_code: bool = False,
    head: str | None = None,
    **options: Any,
) -> tuple[PreTrainedModel, Any]:
    """The model, in evaluation mode, of the class that its config names, and its tokenizer.

    A folder, a name on the hub, or a model that comes with the package: `bundled:qnli`, `bundled:pretrained`.
    `options` go to `from_pretrained` (`dtype=`, `attn_implementation=`, `revision=`, ...). No code from the
    folder or the hub runs unless `trust_remote_code=True`. A vision model comes with its image processor.
    `head` puts a task's head on the model (`classification`, `masked-lm`, ...), new where the checkpoint has none.
    """
    model = load_model(name_or_path, trust_remote_code=trust_remote_code, head=head, **options)
    return model, load_tokenizer(tokenizer or name_or_path, trust_remote_code=trust_remote_code)


def load_model(
    name_or_path: str | Path, *, trust_remote_code: bool = False, head: str | None = None,
    changes: Mapping[str, Any] | None = None, **options: Any,
) -> PreTrainedModel:  # fmt: skip
    """The model alone; see `load`. `changes` are entries of its config that are to be others."""
    name = find_model(str(name_or_path))
    _check_folder(name)
    pruned: Any = None
    try:
        options.setdefault("local_files_only", _no_connection(name))
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code, **_where(options))
        for key, value in (changes or {}).items():
            setattr(config, key, value)
        kind = getattr(transformers, TASK_CLASSES[head]) if head else _model_class(config, trust_remote_code)
        if kind.__name__.startswith("Auto"):
            options["trust_remote_code"] = trust_remote_code
        concrete = kind
        pruned = getattr(config, "headcount", None) or getattr(config, "pruned_heads", None)
        if pruned:
            concrete = _concrete(kind, config)
            record = record_of(config, concrete)
            assert record is not None
            options.pop("trust_remote_code", None)
            kind = shrunk_class(concrete, record)
        # Weights that a checkpoint lacks, such as a pooler's, are drawn: alike every time, or the same command would
        # find another model in its study.
        with no_progress_bar(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model, report = kind.from_pretrained(name, config=config, output_loading_info=True, **options)
    except HeadcountError as error:
        raise ModelUnavailable(f"cannot load {name!r}: {error}") from error
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        if pruned:
            raise ModelUnavailable(
                f"cannot load {name!r}: its weights and its record of removed heads (config.json, headcount) disagree "
                f"({_reason(name, error)})"
            ) from error
        raise ModelUnavailable(f"cannot load {name!r}: {_reason(name, error)}") from error
    new = {*report["missing_keys"], *(name for name, *_ in report.get("mismatched_keys", ()))}
    if pruned:
        model.__class__ = concrete  # its modules hold what was cut; pickles and copies know the class
    setattr(model, NEW_WEIGHTS, sorted(new))
    loaded: PreTrainedModel = model.eval()
    return loaded


def load_tokenizer(name_or_path: str | Path, *, trust_remote_code: bool = False) -> Any:
    """The tokenizer, or the image processor of a vision model."""
    name = find_model(str(name_or_path))
    _check_folder(name, weights=False)
    folder = Path(name)
    if folder.is_dir() and not any(path for pattern in TOKENIZERS for path in folder.glob(pattern)):
        # transformers would build a tokenizer with an empty vocabulary and say nothing.
        raise ModelUnavailable(f"no tokenizer in the folder {name!r}; give one with tokenizer=, a folder or a hub name")
    reason: Exception | None = None
    for kind in (AutoTokenizer, AutoProcessor):
        try:
            return kind.from_pretrained(
                name, trust_remote_code=trust_remote_code, local_files_only=_no_connection(name)
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
            reason = reason or error
    assert reason is not None  # no kind succeeded
    raise ModelUnavailable(
        f"no tokenizer in {name!r} ({_reason(name, reason)}); give one with tokenizer=, a folder or a hub name"
    ) from reason


def _check_folder(name: str, weights: bool = True) -> None:
    """A local folder must be whole; what is not a folder must look like the name of a model on the hub."""
    folder = Path(name)
    if not name.strip() or not folder.is_dir():
        if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1 or not name.strip():
            raise ModelUnavailable(f"got {name!r} for a model; expected a folder with config.json or a hub name")
        return
    config = folder / "config.json"
    if not config.is_file():
        raise ModelUnavailable(f"the folder {name!r} has no config.json; expected what save_pretrained writes")
    try:
        json.loads(config.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ModelUnavailable(f"{config} cannot be read as JSON ({_first_line(error)}); restore the file") from error
    if weights and not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
        raise ModelUnavailable(f"the folder {name!r} has a config.json but no weights; expected model.safetensors")


def _where(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say where the files are: they hold for the config as for the weights."""
    return {
        key: options[key]
        for key in ("revision", "cache_dir", "token", "subfolder", "local_files_only")
        if key in options
    }


def _no_connection(name: str) -> bool:
    """Whether the hub's name cannot even be looked up: then only the cache is asked, at once and without retries."""
    if Path(name).is_dir() or getproxies():
        return Path(name).is_dir()
    host = urlsplit(huggingface_hub.constants.ENDPOINT).hostname
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return True
    return False


def _model_class(config: Any, trust_remote_code: bool) -> Any:
    """The class that the config names; the bare model of its type where it names none."""
    names = getattr(config, "architectures", None) or []
    if trust_remote_code and getattr(config, "auto_map", None) and getattr(config, "headcount", None) is None:
        return AutoModel
    return getattr(transformers, names[0], AutoModel) if names else AutoModel


def _concrete(kind: Any, config: Any) -> Any:
    """The model class that an Auto class gives for a config."""
    if not kind.__name__.startswith("Auto"):
        return kind
    found = kind._model_mapping[type(config)]
    return found[0] if isinstance(found, tuple) else found


def _reason(name: str, error: Exception) -> str:
    if not Path(name).is_dir() and isinstance(error, OSError):
        return (
            "there is no such folder here, and the Hugging Face hub did not give it "
            "(no connection, offline mode, or no such name); check the name or give a folder"
        )
    return _first_line(error)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
