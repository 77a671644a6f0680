"""The longest input is the least of what config, tokenizer and user say."""

from __future__ import annotations

from pathlib import Path

import transformers as tf

from headcount.models.longest import longest_input, longest_positions
from tests import planted


def test_the_shortest_limit_counts(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)  # it says 64
    bert = tf.BertModel(tf.BertConfig(vocab_size=9, hidden_size=8, num_attention_heads=2, num_hidden_layers=1))
    config = tf.RobertaConfig(
        vocab_size=9, hidden_size=8, num_attention_heads=2, num_hidden_layers=1, max_position_embeddings=50
    )
    assert longest_input(bert, tokenizer) == 64
    assert longest_input(tf.RobertaModel(config), tokenizer) == 48
    assert longest_input(bert, tokenizer, 20) == 20


def test_a_model_without_a_table_of_positions_has_no_limit() -> None:
    config = tf.T5Config(vocab_size=9, d_model=8, d_kv=4, num_heads=2, d_ff=8, num_layers=1)
    assert longest_positions(tf.T5EncoderModel(config)) is None


def test_without_a_record_the_table_of_positions_says_where_it_begins() -> None:
    config = tf.Data2VecTextConfig(
        vocab_size=9, hidden_size=8, num_attention_heads=2, num_hidden_layers=1, max_position_embeddings=50
    )
    assert config.pad_token_id == 1
    assert longest_positions(tf.Data2VecTextModel(config)) == 48
