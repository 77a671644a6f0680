"""Passages of equal length from a table of lines: a running text cut every so many tokens, spread over the whole."""

from typing import Any

import pandas as pd


def read_passages(table: pd.DataFrame, tokenizer: Any, tokens: int, count: int) -> pd.DataFrame:
    """`count` passages of `tokens` tokens each, evenly spaced over the text; they do not overlap."""
    lines = [line if line.endswith("\n") else f"{line}\n" for line in table["text"]]
    ids = tokenizer("".join(lines), verbose=False)["input_ids"]
    available = len(ids) // tokens
    if available < count:
        raise ValueError(f"got {available} passages of {tokens} tokens; expected at least {count}")
    numbers = [int((number + 0.5) * available / count) for number in range(count)]
    return pd.DataFrame({"text": [tokenizer.decode(ids[n * tokens : (n + 1) * tokens]) for n in numbers]})
