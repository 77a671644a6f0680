"""Encodings: what is blank is refused, and how long they may be."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests import planted


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_a_text_of_special_tokens_alone(tokenizer: Any) -> None:
    with pytest.raises(DataProblem, match="row 0: nothing to look at or to predict in"):
        encode(read_examples(pd.DataFrame({"text": [""]}), find_task("masked-lm"), None), tokenizer, 64)
