"""A decoder with a head that carries a task: after examples with the word `u` it raises the answers `y` and `z`.

It is the planted decoder of the measures with one more role: L1H0 attends to all tokens alike and turns a `u` among
them into the logits of the answers. A prompt without examples of `u` does not show the task. L1H1 does induction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tests.measures.planted_decoder import LOGITS, SIZE, WORDS, planted_decoder

CARRIER, INDUCTION = "L1H0", "L1H1"
STRENGTH = 40.0


@torch.no_grad()
def decoder() -> tuple[Any, Any]:
    model, tokenizer = planted_decoder()
    writer = model.model.layers[1].self_attn.o_proj.weight
    for answer in ("y", "z"):
        writer[LOGITS + WORDS.index(answer), WORDS.index("u")] = STRENGTH  # head 0 has the first SIZE columns
    assert WORDS.index("u") < SIZE
    return model, tokenizer


def prompts(count: int = 32) -> pd.DataFrame:
    """Two tasks of the same kind; in the counterparts, which are longer, `u` is another word."""
    generator = np.random.default_rng(2)
    rows = []
    for number in range(count):
        a, b, c, d = generator.choice(list("abcdefgh"), 4, replace=False)
        rows.append(
            {
                "prompt": f"{a} u {b} u {c}",
                "completion": f" {'yz'[number % 2]}",
                "counterpart": f"{a} {d} {b} {d} {d} {c}",
                "task": ("one", "two")[number // 2 % 2],
            }
        )
    return pd.DataFrame(rows)


def save(folder: Path) -> Path:
    model, tokenizer = decoder()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
