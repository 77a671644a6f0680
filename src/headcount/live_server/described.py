"""What a page must know of the model before anything is typed: heads, texts, classes, replacements, limits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from transformers import PreTrainedModel

import headcount
from headcount.ablation.replacements import REPLACEMENTS
from headcount.data.kinds.typed import MASK
from headcount.live_server.example_images import example_images
from headcount.live_server.example_texts import first_texts
from headcount.live_server.live_model import LiveModel
from headcount.models.fingerprint import device_label, model_name

SHOWN = 24
"""Examples that are offered."""
BUNDLED = {
    "bundled:qnli": {"task": "qnli", "data": "bundled:pairs"},
    "bundled:pretrained": {"task": "masked-lm", "data": "bundled:sentences"},
}
"""What a bundled model is scored on."""


def shown_name(model: PreTrainedModel) -> str:
    """The model's name without the folders around its own."""
    name = model_name(model)
    return PurePath(name).name if PurePath(name).is_absolute() else name


def describe_model(live: LiveModel, has_study: bool = False, data: dict[str, str] | None = None) -> dict[str, Any]:
    """Plain data; `stacks` and `heads` have the form of a study's page. `data`: the task and data of a sweep."""
    layout, kind, name = live.anatomy.layout, live.kind, shown_name(live.model)
    classes = getattr(live.model.config, "id2label", None) or {}
    return {
        "version": headcount.__version__,
        "model": name,
        "class": type(live.model).__name__,
        "device": device_label(live.model),
        "dtype": str(live.model.dtype).removeprefix("torch."),
        "kind": kind.name,
        "texts": list(kind.text_titles),
        "texts_needed": kind.texts_needed,
        "most_texts": live.most_texts,
        "classes": [str(classes[number]) for number in sorted(classes)] if kind.named_classes else [],
        "probabilities": kind.has_probabilities,
        "mask": MASK if kind.no_question else None,
        "writes": kind.writes,
        "stacks": [
            {"stack": stack, "layers": [list(heads) for heads in layers], "width": layout.width(stack)}
            for stack, layers in layout.stacks.items()
            if layers
        ],
        "heads": [[head.stack, head.layer, head.head, layout.spell(head)] for head in layout],
        "replacements": [{"how": how, "missing": live.why_not(how)} for how in REPLACEMENTS],
        "mask_token": live.tokenizer.mask_token if kind.no_question else None,
        "examples": [list(texts) for texts in _examples(live)],
        "several_rows": kind.several_rows,
        "images": live.images,
        "patches": None if live.patches is None else asdict(live.patches),
        "example_names": list(example_images()) if live.images else None,
        "data": data or BUNDLED.get(name, {"task": kind.name, "data": "DATA"}),
        "limits": {**asdict(live.limits), "tokens": live.longest},
        "study": has_study,
    }


def _examples(live: LiveModel) -> list[tuple[str, ...]]:
    """Texts to start from, as they would be typed."""
    if live.images:
        return [(image,) for image in example_images().values()]
    if not live.examples:
        return first_texts(live.kind, SHOWN)
    return [live.kind.as_typed(texts) for texts in live.examples[:SHOWN]]
