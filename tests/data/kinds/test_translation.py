"""Source and target."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch

from headcount.data.batches import collate
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.translation import Translation
from headcount.data.tasks import find_task
from tests import planted
from tests.contracts.zoo import tiny

TABLE = pd.DataFrame({"source": ["it is good", "so"], "target": ["bad", "the good a is"]})


def test_the_target_is_the_label_and_the_decoder_reads_it(tmp_path: Path) -> None:
    tokenizer, kind = planted.tokenizer(tmp_path), Translation()
    examples = read_examples(TABLE, find_task("translation"), None)
    assert examples.texts == [("it is good",), ("so",)]
    assert examples.labels == ["bad", "the good a is"]
    rows = encode(examples, tokenizer, 64).rows
    assert [row["labels"] for row in rows] == tokenizer(list(examples.labels))["input_ids"]
    model, batch = tiny("bart", head="AutoModelForSeq2SeqLM"), collate(rows, tokenizer.pad_token_id)
    inputs = kind.inputs(model, batch)
    assert "decoder_input_ids" not in kind.prompt(model, batch)
    with torch.no_grad():
        expected = model(**kind.prompt(model, batch), labels=batch["labels"]).logits
        torch.testing.assert_close(model(**inputs).logits, expected)


def test_queries_of_the_decoder_are_target_tokens(tmp_path: Path) -> None:
    tokenizer, kind = planted.tokenizer(tmp_path), Translation()
    batch = collate(encode(read_examples(TABLE, find_task("translation"), None), tokenizer, 64).rows, 0)
    assert kind.query_mask(batch, "encoder").sum(1).tolist() == [5, 3]
    assert kind.query_mask(batch, "decoder").sum(1).tolist() == [3, 6]
    assert kind.query_mask(batch, "cross").sum(1).tolist() == [3, 6]
