"""Does the recipe write tasks as lm-evaluation-harness reads them, and give the same scores ablated and pruned?"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers as tf
import yaml
from recipes.lm_evaluation.evaluate import main, read_texts
from recipes.lm_evaluation.local_tasks import write_choices, write_texts

import headcount as hc
from tests.training import toy


def test_tasks_on_disk(tmp_path: Path) -> None:
    table = pd.DataFrame({"prompt": ["a", "b"], "completion": [" x", " y"], "wrong": [" y", " x"], "more": [1, 2]})
    settings = yaml.safe_load(write_choices(tmp_path, "letters", table).read_text("utf-8"))
    assert (settings["task"], settings["doc_to_target"], settings["target_delimiter"]) == ("letters", 0, "")
    examples = Path(settings["dataset_kwargs"]["data_files"]["test"])
    assert examples.is_absolute()
    rows = [json.loads(line) for line in examples.read_text("utf-8").splitlines()]
    assert rows[1] == {"prompt": "b", "answers": [" y", " x"]}, "the first answer is the right one"
    settings = yaml.safe_load(write_texts(tmp_path, "texts", ["one", "two"]).read_text("utf-8"))
    assert settings["output_type"] == "loglikelihood_rolling"
    assert Path(settings["dataset_kwargs"]["data_files"]["test"]) != examples


def test_texts(tmp_path: Path) -> None:
    assert len(read_texts(None)) == 200
    pd.DataFrame({"text": ["one", " ", "two"]}).to_parquet(tmp_path / "texts.parquet")
    assert read_texts(tmp_path / "texts.parquet") == ["one", "two"]


@pytest.mark.filterwarnings("ignore")
def test_from_a_model_to_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    (tmp_path / "model").mkdir()
    tokenizer = toy.save_tokenizer(tmp_path / "model")
    tokenizer.eos_token = "[SEP]"  # the harness begins texts with it
    tokenizer.save_pretrained(tmp_path / "model")
    config = tf.LlamaConfig(
        vocab_size=60, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0
    )
    torch.manual_seed(0)
    tf.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    questions = pd.DataFrame({"prompt": ["a cat", "it is"], "completion": [" me", " who"], "wrong": [" who", " me"]})
    monkeypatch.setattr(hc.Synthetic, "read", lambda *_: questions)
    options = ["--heads", "L0H1", "--tasks", "names", "--randoms", "1", "--out", str(tmp_path / "out")]
    table = main([str(tmp_path / "model"), *options])
    scores = table.set_index("model")["score"]
    assert list(scores.index) == ["whole", "ablated", "random 0", "pruned"]
    assert scores["ablated"] == scores["pruned"]
