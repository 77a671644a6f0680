"""Loading, and one clear line for each way in which it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import ModelUnavailable
from headcount.models.load import load_model, load_tokenizer
from headcount.models.matching_weights import NEW_WEIGHTS
from tests.contracts.zoo import tiny


def save_with_tokenizer(folder: Path, head: str = "AutoModelForSequenceClassification") -> Path:
    tiny("bert", head=head).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]))
    tf.BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def test_gives_plain_objects_of_the_class_that_the_config_names(tmp_path: Path) -> None:
    model, tokenizer = hc.load(save_with_tokenizer(tmp_path))
    assert type(model) is tf.BertForSequenceClassification
    assert not model.training
    assert len(tokenizer("a b")["input_ids"]) == 4
    assert getattr(model, NEW_WEIGHTS) == []


def test_options_go_to_from_pretrained(tmp_path: Path) -> None:
    model, _ = hc.load(save_with_tokenizer(tmp_path), dtype=torch.bfloat16, attn_implementation="eager")
    assert model.dtype == torch.bfloat16
    assert model.config._attn_implementation == "eager"


def test_new_weights_are_remembered(tmp_path: Path) -> None:
    tiny("bert").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert "classifier.weight" in getattr(load_model(tmp_path), NEW_WEIGHTS)


def test_a_vision_model_comes_with_its_processor(tmp_path: Path) -> None:
    tiny("vit").save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": "ViTImageProcessor"}))
    processor = pytest.importorskip("PIL") and hc.load(tmp_path)[1]
    assert "Image" in type(processor).__name__


def fails(path: str | Path, **options: object) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        hc.load(path, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_name_that_does_not_exist_offline() -> None:
    assert "hub did not give it" in fails("no-such-model-of-headcount")
    assert "expected a folder" in fails("./no-such-folder")
    assert "expected a folder" in fails("/no/such/folder")
    assert "expected a folder" in fails("")


def test_a_folder_that_is_not_whole(tmp_path: Path) -> None:
    assert "no config.json" in fails(tmp_path)
    (tmp_path / "config.json").write_text("{ not json")
    assert "cannot be read as JSON" in fails(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert "no weights" in fails(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    assert "cannot load" in fails(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no-such-type"}))
    assert "no-such-type" in fails(tmp_path)


def test_weights_of_another_shape(tmp_path: Path) -> None:
    save_with_tokenizer(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["hidden_size"] = 64
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert "cannot load" in fails(tmp_path)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    tiny("bert").save_pretrained(tmp_path / "model")
    assert "tokenizer=" in fails(tmp_path / "model")
    other = save_with_tokenizer(tmp_path / "other")
    assert hc.load(tmp_path / "model", tokenizer=other)[1] is not None


def test_a_folder_without_weights_has_a_tokenizer_but_no_model(tmp_path: Path) -> None:
    """What a training from random weights starts from."""
    save_with_tokenizer(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert len(load_tokenizer(tmp_path)("a b")["input_ids"]) == 4
    for call in (load_model, hc.load):
        with pytest.raises(ModelUnavailable, match="has a config.json but no weights"):
            call(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelUnavailable, match="no config.json"):
        load_tokenizer(tmp_path)


def test_no_foreign_code_runs(tmp_path: Path) -> None:
    """A folder that brings code is loaded without running it."""
    save_with_tokenizer(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "evil.Evil", "AutoConfig": "evil.EvilConfig"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text("raise SystemExit('foreign code ran')")
    assert type(hc.load(tmp_path)[0]) is tf.BertForSequenceClassification


def test_weights_that_a_checkpoint_lacks_are_drawn_alike_every_time(tmp_path: Path) -> None:
    bare = tf.BertModel(tf.BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, vocab_size=20))
    bare.save_pretrained(tmp_path)
    before = torch.random.get_rng_state()
    one, other = (load_model(tmp_path, head="classification") for _ in range(2))
    assert torch.equal(one.classifier.weight, other.classifier.weight)
    assert torch.equal(before, torch.random.get_rng_state())
