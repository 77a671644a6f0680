"""Live models that are quick to make, and requests to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel, ViTConfig, ViTForImageClassification

import headcount as hc
from headcount.live_server.asked import Asked, read_asked
from headcount.live_server.live_model import LiveModel
from tests import planted
from tests.measures import tiny

EXAMPLES = [("the good so",), ("it is bad up",), ("a down good",)]


def planted_live(folder: Path, **options: Any) -> LiveModel:
    """The planted classifier in float64: L0H0 carries the label, L0H1 misleads."""
    return LiveModel(planted.classifier().double(), planted.tokenizer(folder), EXAMPLES, **options)


def decoder() -> LiveModel:
    return LiveModel(*tiny.causal(), [("the dog chased a cat",), ("a mouse ran",)])


def masked() -> LiveModel:
    return LiveModel(*tiny.masked())


def translator() -> LiveModel:
    return LiveModel(*tiny.translator(), [("the dog", "a cat"), ("the mouse ran", "a dog")])


def ask(live: LiveModel, *texts: str, **fields: Any) -> Asked:
    return read_asked({"texts": list(texts), **fields}, live.anatomy.layout)


def sentences(folder: Path) -> LiveModel:
    """A model of vectors in float64, from a folder as sentence-transformers writes it."""
    tokenizer = planted.tokenizer(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    names = [("", "Transformer"), ("1_Pooling", "Pooling")]
    listed = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{name}"}
        for at, (path, name) in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    model, words = hc.load(folder)
    return LiveModel(model.double(), words)


def vision(folder: Path) -> LiveModel:
    """A ViT of nine patches with random weights, in float64; the folder is where it was loaded from."""
    torch.manual_seed(0)
    names = {0: "cat", 1: "dog", 2: "ship"}
    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=40,
        image_size=12,
        patch_size=4,
        initializer_range=0.4,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    ViTForImageClassification(config).save_pretrained(folder)
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": 12, "width": 12}}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    model, images = hc.load(folder)
    return LiveModel(model.double(), images)
