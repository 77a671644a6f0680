"""Names that mean another folder, and configs with numbers that no model has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.errors import ModelUnavailable
from headcount.models.find_folder import find_folder, folder_notes
from headcount.models.load import load_model
from tests.contracts.zoo import tiny
from tests.models.test_load import save_with_tokenizer


def test_the_folder_of_a_run_means_its_model(tmp_path: Path) -> None:
    run = tmp_path / "mrpc" / "pretrained" / "seed-0"
    save_with_tokenizer(run / "model")
    (run / "result.json").write_text("{}")
    assert find_folder(str(run)) == str(run / "model")
    assert folder_notes(str(run)) == [f"{run} is the folder of a run; its model is {run / 'model'}"]
    with pytest.warns(UserWarning, match="is the folder of a run; its model is"):
        model, tokenizer = hc.load(run)
    assert model.config._name_or_path == str(run / "model")
    assert len(tokenizer("a b")["input_ids"]) == 4


def test_a_model_with_a_folder_called_model_is_meant_itself(tmp_path: Path) -> None:
    save_with_tokenizer(tmp_path)
    save_with_tokenizer(tmp_path / "model")
    assert find_folder(str(tmp_path)) == str(tmp_path)
    assert folder_notes(str(tmp_path)) == []


def test_bundled_models_and_names_on_the_hub() -> None:
    assert find_folder("bundled:qnli") == hc.bundled("qnli")
    assert find_folder("google-bert/bert-base-uncased") == "google-bert/bert-base-uncased"
    assert folder_notes("bundled:qnli") == []


@pytest.mark.parametrize(
    ("family", "key"),
    [
        ("bert", "num_attention_heads"),
        ("gpt2", "n_head"),
        ("distilbert", "n_heads"),
        ("t5", "num_heads"),
        ("llama", "num_key_value_heads"),
        ("bart", "decoder_attention_heads"),
    ],
)
@pytest.mark.parametrize("value", [0, -1, -4])
def test_no_heads_or_less(tmp_path: Path, family: str, key: str, value: int) -> None:
    """Minus four heads of minus eight are 32 as well: transformers would load it."""
    tiny(family).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert key in config
    (tmp_path / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(ModelUnavailable, match=f"config.json says {key}: {value}; expected at least 1"):
        load_model(tmp_path)
