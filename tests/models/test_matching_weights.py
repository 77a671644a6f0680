"""A checkpoint and its config must fit; only a head may be missing or left over, and that is said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

import headcount as hc
from headcount.errors import ModelUnavailable
from headcount.models.load import load_model
from headcount.models.matching_weights import NEW_WEIGHTS, UNUSED_WEIGHTS, matching_notes, new_head
from tests.contracts.zoo import CASES, tiny
from tests.models.test_load import save_with_tokenizer

LAYERS = {
    "gpt2": "n_layer",
    "t5": "num_layers",
    "distilbert": "n_layers",
    **dict.fromkeys(("bart", "mbart", "marian"), "encoder_layers"),
}


def configure(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def reweigh(folder: Path, without: str = "", more: dict[str, torch.Tensor] | None = None) -> Path:
    """The folder with some tensors taken out of its weights, and others put in."""
    path = folder / "model.safetensors"
    kept = {key: tensor for key, tensor in load_file(path).items() if not without or without not in key}
    save_file(kept | (more or {}), path, metadata={"format": "pt"})
    return folder


def saved(place: Path, name: str = "bert", head: str = "AutoModelForSequenceClassification") -> Path:
    tiny(name, "eager", head).save_pretrained(place)
    return place


def refused(folder: Path, **options: Any) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        load_model(folder, **options)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_family_as_it_was_saved(case: Any, tmp_path: Path) -> None:
    model = load_model(saved(tmp_path, case.name, "AutoModel"))
    assert matching_notes(model) == []
    assert getattr(model, NEW_WEIGHTS) == getattr(model, UNUSED_WEIGHTS) == []


# ALBERT's layers share their weights: any number of them fits.
@pytest.mark.parametrize("case", [case for case in CASES if case.name != "albert"], ids=lambda case: case.name)
def test_more_and_fewer_layers_than_the_checkpoint(case: Any, tmp_path: Path) -> None:
    """The words and the number of the layer that is missing or left over, for every family."""
    saved(tmp_path, case.name, "AutoModel")
    more = {"layer_types": None} if case.name in ("modernbert", "qwen2", "qwen3") else {}
    key = LAYERS.get(case.name, "num_hidden_layers")
    said = refused(configure(tmp_path, **{key: 4}, **more))
    assert "missing from the weights" in said
    assert ".3." in said
    said = refused(configure(tmp_path, **{key: 2}, **more))
    assert "without a place in the model" in said
    assert ".2." in said


def test_one_tensor_is_missing(tmp_path: Path) -> None:
    reweigh(saved(tmp_path), without="layer.1.attention.self.query.weight")
    said = refused(tmp_path)
    assert "1 tensor (bert.encoder.layer.1.attention.self.query.weight) is missing from the weights" in said
    assert refused(tmp_path, head="classification") == said, "a new head allows a new head only"


def test_the_first_few_and_how_many(tmp_path: Path) -> None:
    said = refused(reweigh(saved(tmp_path), without="layer.2."))
    assert "16 tensors (bert.encoder.layer.2.attention.output.LayerNorm.bias, " in said
    assert said.count("bert.encoder") == 3


def test_tensors_of_another_shape(tmp_path: Path) -> None:
    said = refused(configure(saved(tmp_path), intermediate_size=8))
    assert "9 tensors (bert.encoder.layer.0.intermediate.dense.bias, " in said
    assert "the first [40] in the weights and [8] in the model" in said
    assert "above" not in said
    assert refused(tmp_path, head="classification", ignore_mismatched_sizes=True) == said


def test_a_head_of_another_shape_can_be_asked_for(tmp_path: Path) -> None:
    labels = {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}}
    assert "classifier.bias" in refused(configure(saved(tmp_path), **labels))
    model = load_model(tmp_path, ignore_mismatched_sizes=True)
    assert getattr(model, NEW_WEIGHTS) == ["classifier.bias", "classifier.weight"]


def test_a_missing_head_is_said_once(tmp_path: Path) -> None:
    """In one line; who uses the head refuses it in other words."""
    reweigh(save_with_tokenizer(tmp_path), without="classifier")
    with pytest.warns(UserWarning, match=r"^the checkpoint has no classifier \(2 tensors\): these weights are random"):
        model, _ = hc.load(tmp_path)
    assert new_head(model) == ["classifier.bias", "classifier.weight"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hc.load(tmp_path, head="classification")


def test_a_pooler_that_nothing_reads(tmp_path: Path) -> None:
    model = load_model(reweigh(saved(tmp_path / "bare", head="AutoModel"), without="pooler"))
    assert new_head(model) == []
    assert (
        matching_notes(model, uses_head=True)
        == matching_notes(model)
        == ["the checkpoint has no pooler (2 tensors): these weights are random, and are not used here"]
    )
    model = load_model(reweigh(saved(tmp_path / "classifier"), without="pooler"))
    assert new_head(model) == ["bert.pooler.dense.bias", "bert.pooler.dense.weight"], "a classifier reads it"
    assert matching_notes(model, uses_head=True) == []


@pytest.mark.parametrize(
    ("kind", "head"),
    [("BertForPreTraining", "classification"), ("BertForPreTraining", None), ("BertForMaskedLM", None)],
)
def test_heads_that_are_left_over(kind: str, head: str | None, tmp_path: Path) -> None:
    """An ordinary pre-trained checkpoint as a classifier, and as the bare model."""
    getattr(tf, kind)(tiny("bert").config).save_pretrained(tmp_path)
    if head is None:
        configure(tmp_path, architectures=["BertModel"])
    model = load_model(tmp_path, head=head)
    assert all(name.startswith("cls.") for name in getattr(model, UNUSED_WEIGHTS))
    left_over = matching_notes(model)[-1]
    assert left_over.startswith(f"{type(model).__name__} has no cls (")
    assert left_over.endswith("these weights are left out")


def test_what_old_checkpoints_carry_along(tmp_path: Path) -> None:
    positions = {"bert.embeddings.position_ids": torch.arange(64)[None]}
    model = load_model(reweigh(saved(tmp_path), more=positions))
    assert matching_notes(model) == []


def test_weights_that_are_tied_are_not_missing(tmp_path: Path) -> None:
    heads = {"bert": "MaskedLM", "gpt2": "CausalLM", "t5": "Seq2SeqLM", "marian": "Seq2SeqLM"}
    for name, head in heads.items():
        model = load_model(saved(tmp_path / name, name, f"AutoModelFor{head}"))
        assert getattr(model, NEW_WEIGHTS) == []
        assert matching_notes(model) == []


def test_adapters_in_the_layers_are_not_ignored(tmp_path: Path) -> None:
    more = {"bert.encoder.layer.0.attention.self.query.lora_A.weight": torch.ones(2, 32)}
    assert "lora_A.weight) is in the weights without a place" in refused(reweigh(saved(tmp_path), more=more))


def test_a_shard_that_is_missing(tmp_path: Path) -> None:
    tiny("bert").save_pretrained(tmp_path, max_shard_size="20KB")
    gone = sorted(tmp_path.glob("model-*.safetensors"))[1]
    gone.unlink()
    assert gone.name in refused(tmp_path)
