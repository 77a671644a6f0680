"""Tags of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers.modeling_outputs import TokenClassifierOutput

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.outputs import NOT_FINITE
from headcount.data.kinds.token_classification import TokenClassification
from headcount.data.kinds.tokens import IGNORED
from headcount.data.tasks import find_task
from tests import planted


def test_tags_move_to_the_front() -> None:
    logits = torch.eye(5)[torch.tensor([[4, 1, 2, 3]])]
    labels = torch.tensor([[IGNORED, 0, IGNORED, 0]])
    kind = TokenClassification()
    kept = kind.reduce(TokenClassifierOutput(logits=logits), labels, {"predictions": (3,)})
    assert kept["predictions"].tolist() == [[1, 3, -1]]
    assert kind.outputs({"predictions": np.array([[1, 3, -1]])}) == {"predictions": [[1, 3]]}
    logits[0, 1, 0] = torch.nan
    kept = kind.reduce(TokenClassifierOutput(logits=logits), labels, {"predictions": (3,)})
    assert kept["predictions"].tolist() == [[NOT_FINITE, 3, -1]]


def test_a_tag_stands_at_the_first_piece_and_what_is_cut_off_is_not_scored(tmp_path: Path) -> None:
    table = pd.DataFrame({"tokens": [["so", "good"], ["the"] * 9], "tags": [[0, 1], [1] * 9]})
    examples = read_examples(table, find_task("token-classification"), {0: "LABEL_0", 1: "LABEL_1"})
    made = encode(examples, planted.tokenizer(tmp_path), 6)
    assert made.cut == 1
    assert made.rows[0]["labels"] == [IGNORED, 0, 1, IGNORED]
    kind = TokenClassification()
    assert kind.scored_labels(examples.labels, made.rows) == [[0, 1], [1] * 4]
    assert kind.output_shapes(None, made.rows) == {"predictions": (4,)}
