"""Save pruned models and read their records: a folder that also loads where Headcount is not installed."""

from __future__ import annotations

import errno
import inspect
import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import transformers
from safetensors import SafetensorError
from transformers import PreTrainedModel

from headcount.core.heads import Head, spell_ranges
from headcount.core.units import UnitLayout
from headcount.errors import ModelUnavailable
from headcount.models import shrink
from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.families.plan import StackPlan
from headcount.models.families.registry import recorded_family
from headcount.models.finite_weights import check_weights
from headcount.models.output_folder import check_output_folder, whole_folder
from headcount.models.plain_weights import check_plain
from headcount.models.progress_bars import no_progress_bar
from headcount.models.sentence_files import library_class, write_sentence_files
from headcount.models.surgery import FORMAT, WITH_UNITS, Record, kept_by_v4, make_record, removed_heads, removed_units

MODELLING = "modeling_pruned.py"
CARD = "README.md"
AUTO_CLASSES = (
    "AutoModel",
    "AutoModelForSequenceClassification",
    "AutoModelForTokenClassification",
    "AutoModelForMultipleChoice",
    "AutoModelForSeq2SeqLM",
    "AutoModelForMaskedLM",
    "AutoModelForCausalLM",
    "AutoModelForQuestionAnswering",
    "AutoModelForImageClassification",
    "AutoModelForPreTraining",
    "AutoModelForNextSentencePrediction",
)
"""The first that fits is the one that the card names: BART is also entered as a masked language model."""


@takes_compiled
def save(model: PreTrainedModel, tokenizer: Any, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write the model, pruned or whole, and its tokenizer (or None) to a folder; `headcount.load` gives them back.

    A pruned model's folder also holds one small file of code, so that it loads where Headcount is not installed:
    `AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)`. The folder is written under
    another name and moved at the end: killed at any moment, it is absent or complete. A folder that is not empty is
    refused without `overwrite`, and with it unless Headcount wrote it; files that it did not write are kept. Weights
    that are NaN or infinite are an error.
    """
    check_whole(model, "save it")
    check_plain(model, "save it")
    check_weights(model)
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    path = check_output_folder(folder, overwrite)
    with whole_folder(path, overwrite) as new:
        if shutil.disk_usage(path.parent).free < size:
            raise OSError(errno.ENOSPC, f"the model needs {size / 1e6:.0f} MB")
        try:
            _write(model, tokenizer, new)
        except SafetensorError as error:
            raise OSError(str(error)) from error
    return path


def _write(model: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    record = getattr(model.config, "headcount", None)
    plain = None if record is None else plain_numbers(record, model.config)
    with no_progress_bar():
        model.save_pretrained(folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)
    write_sentence_files(model, folder)
    if record is None:
        return
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    classes = auto_classes(type(model), model.config)
    if plain is not None:
        # The size of a head stays, whether the config names it or not.
        whole = {name: getattr(model.config, name, None) for name in plain}
        config["headcount"]["plain"] = whole | {name: plain[name] for name in ("head_dim",) if name in plain}
        config |= plain
    else:
        config["auto_map"] = {name: f"{Path(MODELLING).stem}.{cls.__name__}" for name, cls in classes.items()}
        (folder / MODELLING).write_text(_modelling_file(set(classes.values())), encoding="utf-8")
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (folder / CARD).write_text(_card(model, record, next(iter(classes), "AutoModel"), plain), encoding="utf-8")


def auto_classes(model_class: type, config: Any) -> dict[str, type]:
    """By the name of each Auto class, the model class that it gives for this config; the saved model's own first."""
    classes: dict[str, type] = {}
    for name in AUTO_CLASSES:
        auto_class = getattr(transformers, name)
        if type(config) in auto_class._model_mapping:
            classes[name] = concrete_class(auto_class, config)
    if model_class not in classes.values():
        classes["AutoModel"] = model_class
    return dict(sorted(classes.items(), key=lambda item: item[1] is not model_class))


def concrete_class(auto_class: Any, config: Any) -> Any:
    """The model class that an Auto class gives for a config."""
    choice = auto_class._model_mapping[type(config)]
    return choice[0] if isinstance(choice, tuple) else choice


def _modelling_file(classes: set[type]) -> str:
    """The code that shrinks a model before its weights are loaded, and each of the classes with it."""
    lines = [inspect.getsource(shrink).rstrip(), "", "", "import transformers  # noqa: E402", "", ""]
    for name in sorted(cls.__name__ for cls in classes):
        # The name stays, and the class says that it is transformers' own: by both, transformers looks up how weights
        # are to be renamed.
        lines += [
            f"class {name}(transformers.{name}):",
            "    @classmethod",
            "    def is_custom_code(cls):",
            "        return False  # weights have the names of transformers' own class",
            "",
            "    def __init__(self, config, *args, **kwargs):",
            "        super().__init__(config, *args, **kwargs)",
            "        shrink(self, config.headcount)",
            "",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def plain_numbers(record: Record, config: Any) -> dict[str, int] | None:
    """Entries of a plain config that express the cut; None where layers keep different numbers, or no config can.

    The configs of Llama and its like and of ViT can: they have the size of a head beside the number of heads. Those of
    BERT and most others cannot: the size of a head is the width divided by the number of heads.
    """
    family = recorded_family(config)
    units = _plain_units(record, family.unit_counts)
    if units is None:
        return None
    if units and not any(layers for layers in removed_heads(record).values()):
        return units
    if not family.head_counts or len(record["stacks"]) != 1:
        return None
    kept, heads = record["stacks"][0]["kept"], record["stacks"][0]["heads"]
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    readers = [
        [sum(head * kv_heads // heads == group for head in layer) for group in range(kv_heads)] for layer in kept
    ]
    shapes = {tuple(sorted(count for count in layer if count)) for layer in readers}
    if len(shapes) != 1 or len(set(next(iter(shapes)))) != 1:
        return None
    (shape,) = shapes
    if family.width_multiple and config.hidden_size % sum(shape):
        return None
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return dict(zip(family.head_counts, (sum(shape), len(shape)), strict=False)) | {"head_dim": size} | units


def _plain_units(record: Record, names: tuple[str, ...]) -> dict[str, int] | None:
    """The config's entries for the units that are left; None where layers keep different numbers of them."""
    with_units = [stack for stack in record["stacks"] if "kept_units" in stack]
    if not with_units:
        return {}
    numbers: dict[str, int] = {}
    for name, stack in zip(names, [stack for stack in record["stacks"] if stack["stack"] != "cross"], strict=False):
        if "kept_units" in stack:
            counts = {len(shrink.read_ranges(units)) for units in stack["kept_units"]}
            if len(counts) > 1 or 0 in counts:
                return None
            numbers[name] = counts.pop()
    return numbers if len(numbers) == len(with_units) else None


def _card(model: PreTrainedModel, record: Record, auto: str, plain: dict[str, int] | None) -> str:
    layout = read_anatomy(model).layout
    removed = [
        layout.spell(Head(stack, layer, head))
        for stack, layers in removed_heads(record).items()
        for layer, heads in layers.items()
        for head in heads
    ]
    total = layout.count + len(removed)
    anatomy = read_anatomy(model)
    what, gone = f"{layout.count} of {total} attention heads", ", ".join(removed)
    if removed_units(record):
        units = sum(stack.get("units", 0) * len(stack.get("kept_units", ())) for stack in record["stacks"])
        what += f" and {anatomy.units.count:,} of {units:,} feed-forward units"
        gone = ", ".join(filter(None, (gone, spell_removed(record, anatomy.units))))
    how = (
        f"`transformers.{auto}.from_pretrained(folder)` loads it: all layers keep as many, and the config says so."
        if plain is not None
        else f"`transformers.{auto}.from_pretrained(folder, trust_remote_code=True)` loads it with the code in "
        f"`{MODELLING}`, which makes {type(model).__name__} smaller before its weights are read."
    )
    library = library_class(model)
    trust = "" if plain is not None else ", trust_remote_code=True"
    if library is not None:
        gives = "vectors of texts" if library == "SentenceTransformer" else "scores of pairs"
        how += f" `{library}(folder{trust})` gives its {gives}."
    elif auto == "AutoModel" and model.main_input_name == "input_ids":
        how += (
            f" sentence-transformers' `SentenceTransformer(folder{trust})` gives vectors of texts, by mean pooling "
            "where the folder does not say otherwise."
        )
    return (
        f"# {type(model).__name__} with {what}\n\n"
        f"{how}\n\n`headcount.load(folder)` loads it, and knows what is left by its original numbers.\n\n"
        f"Removed (layers and {'heads' if not removed_units(record) else 'heads (H) and units (U)'} counted from 0): "
        f"{gone}\n"
    )


def spell_removed(record: Record, layout: UnitLayout) -> str:
    """The names of the units that were removed."""
    return ", ".join(
        f"{layout.spell_layer(stack, layer)}{part}"
        for stack, layers in removed_units(record).items()
        for layer, units in layers.items()
        for part in filter(None, spell_ranges(tuple(units)).split(", "))
    )


def record_of(config: Any, model_class: Any) -> Record | None:
    """The config's record of removed heads: Headcount's own, or one made from that of transformers 4."""
    record: Record | None = getattr(config, "headcount", None)
    if record is not None:
        if not _is_record(record):
            raise ModelUnavailable(
                "its record of removed heads (config.json, headcount) is not understood; "
                "it was written by a newer version, or is damaged"
            )
        for name, number in record.pop("plain", {}).items():
            setattr(config, name, number)  # those of the original model, which is built first
        return record
    pruned = getattr(config, "pruned_heads", None)
    if not pruned:
        return None
    import torch

    with torch.device("meta"):
        anatomy = read_anatomy(model_class(config))
    return make_record(anatomy, kept_by_v4(anatomy, pruned))


def _is_record(record: Any) -> bool:
    """Whether the record has the form that `make_record` gives it."""
    names = {"stack", "heads", "kept", *(field.name for field in fields(StackPlan))} - {"feed_forward"}
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, WITH_UNITS):
        return False
    if not isinstance(record.get("stacks"), list):
        return False
    return all(
        isinstance(stack, dict)
        and names <= set(stack)
        and isinstance(stack["kept"], list)
        and all(
            isinstance(heads, list) and all(isinstance(head, int) and 0 <= head < stack["heads"] for head in heads)
            for heads in stack["kept"]
        )
        and _are_units(stack)
        for stack in record["stacks"]
    )


def _are_units(stack: Any) -> bool:
    """Whether the units that a stack's record keeps, where it has some, are numbers of units that it had."""
    if "kept_units" not in stack:
        return True
    try:
        kept = [shrink.read_ranges(units) for units in stack["kept_units"]]
        return len(kept) == len(stack["kept"]) and all(
            units == sorted(set(units)) and all(0 <= unit < stack["units"] for unit in units) for units in kept
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def shrunk_class(model_class: type, record: Record) -> type:
    """A subclass whose models are shrunk as soon as they are built, so that the weights of the pruned model fit."""

    def build(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        model_class.__init__(self, config, *args, **kwargs)  # type: ignore[misc]
        self.config.headcount = record
        shrink.shrink(self, record)

    return type(model_class.__name__, (model_class,), {"__init__": build, "__module__": model_class.__module__})
