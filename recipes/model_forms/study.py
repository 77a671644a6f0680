"""What can be asked of a compiled or quantised language model, and are the effects of its heads those of the model?

    pip install torchao bitsandbytes
    python -m recipes.model_forms.study MODEL --out tables

For each form of the model: its loss, the effects of some heads on it (beside those in the plain model), what heads
look at, and what cutting heads and saving gives. A row for each form, in `OUT/forms.csv`; a form whose package is not
installed is left out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import AutoTokenizer

import headcount as hc
from headcount.data.tables import read_table
from headcount.errors import HeadcountError
from recipes.model_forms.forms import FORMS


class Questions:
    """The same questions for each form."""

    def __init__(self, tokenizer: Any, data: str, limit: int, heads: int, seed: int) -> None:
        self.tokenizer, self.data, self.limit, self.heads, self.seed = tokenizer, data, limit, heads, seed
        table = None if data.startswith("synthetic:") else read_table(data)
        self.texts = data if table is None else pd.DataFrame({"text": table["prompt"] + table["completion"]})
        self.effects: np.ndarray | None = None
        self.entropy: np.ndarray | None = None

    def ask(self, name: str, model: Any) -> dict[str, object]:
        layout = hc.read_anatomy(model).layout
        drawn = np.random.default_rng(self.seed).permutation(layout.count)[: self.heads]
        names = [layout.spell(head) for number, head in enumerate(layout) if number in set(drawn)]
        shared: dict[str, Any] = {"limit": self.limit, "seed": self.seed}
        start = time.perf_counter()
        swept = hc.sweep(model, self.tokenizer, self.data, task="completion", metric="loss", by=names, **shared)
        seconds = time.perf_counter() - start
        effects = swept["delta"].values.ravel()
        seen = hc.measure(model, self.tokenizer, self.texts, only=["entropy"], **shared)
        entropy = seen["entropy"]["entropy"].values
        if self.effects is None or self.entropy is None:
            self.effects, self.entropy = effects, entropy
        return {
            "form": name,
            "loss": float(swept["baseline"]),
            "correlation": float(np.corrcoef(effects, self.effects)[0, 1]),
            "largest_difference": float(np.abs(effects - self.effects).max()),
            "largest_effect": float(np.abs(self.effects).max()),
            "entropy_difference": float(np.nanmax(np.abs(entropy - self.entropy))),
            "seconds": seconds,
            "cut": outcome(lambda: hc.prune(model, names[:1])),
            "save": outcome(lambda: _save(model, self.tokenizer)),
        }


def outcome(action: Any) -> str:
    """`works`, or the error that says why not."""
    try:
        action()
    except HeadcountError as error:
        return f"refused: {error}"
    return "works"


def _save(model: Any, tokenizer: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hc.save(model, tokenizer, Path(folder) / "model")


def main(arguments: list[str] | None = None) -> pd.DataFrame:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder of a decoder, such as SmolLM2-135M")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS), help="the first one is the reference")
    parser.add_argument("--data", default="synthetic:names", help="a table with prompt and completion")
    parser.add_argument("--limit", type=int, default=16, help="prompts")
    parser.add_argument("--heads", type=int, default=20, help="heads that are ablated one by one, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    questions = Questions(AutoTokenizer.from_pretrained(given.model), given.data, given.limit, given.heads, given.seed)
    rows = []
    for name in given.forms:
        try:
            model = FORMS[name](given.model)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        torch.manual_seed(given.seed)
        rows.append(questions.ask(name, model))
        print(*(f"{key}: {value}" for key, value in rows[-1].items()), sep="\n  ", flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(given.out / "forms.csv", index=False)
    return table


if __name__ == "__main__":
    main()
