"""Does the recipe ask every form of a model the same, and say what is refused?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers as tf
from recipes.model_forms.study import main

from tests.training import toy


@pytest.mark.filterwarnings("ignore")  # of quantisation
def test_a_row_for_each_form(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    toy.save_tokenizer(tmp_path / "model")
    config = tf.LlamaConfig(
        vocab_size=60, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0
    )
    torch.manual_seed(0)
    tf.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    pairs = toy.pairs(6)
    pd.DataFrame({"prompt": pairs["sentence1"], "completion": " " + pairs["sentence2"]}).to_csv(
        tmp_path / "data.csv", index=False
    )
    options = ["--data", str(tmp_path / "data.csv"), "--heads", "3", "--out", str(tmp_path / "out")]
    table = main([str(tmp_path / "model"), "--forms", "plain", "dynamic_int8", *options]).set_index("form")
    assert table.loc["plain", ["largest_difference", "entropy_difference", "cut", "save"]].tolist() == [
        0,
        0,
        *["works"] * 2,
    ]
    assert table.loc["dynamic_int8", "largest_difference"] > 0
    assert "cut the heads before the model is quantised" in table.loc["dynamic_int8", "cut"]
    assert table.loc["dynamic_int8", "save"].startswith("refused: ")
    assert len(pd.read_csv(tmp_path / "out" / "forms.csv")) == 2
