"""What does a language model score in lm-evaluation-harness without some heads: ablated, pruned, and random ones?

    pip install lm-eval
    python -m recipes.lm_evaluation.evaluate MODEL --heads L23H3,L20H0 --out tables

The harness gets the model as a transformers object, inside `hc.ablated` or after `hc.prune`, so that all of its tasks
can be used (`--tasks lambada_openai` needs the hub). By default there are three tasks on this machine, written to
`OUT/tasks`: which name and which verb is due (accuracy), and the perplexity of texts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import headcount as hc
from headcount.ablation.matched_sets import draw_others
from recipes.lm_evaluation.local_tasks import write_choices, write_texts

LOCAL = ("names", "agreement", "texts")
METRICS = ("acc", "word_perplexity")


def write_tasks(folder: Path, tokenizer: Any, count: int, texts: Path | None) -> None:
    """The local tasks: two sources of prompts, made for this tokenizer, and texts."""
    for name in ("names", "agreement"):
        write_choices(folder, name, hc.Synthetic(name, examples=count).read(tokenizer, None, 0))
    write_texts(folder, "texts", read_texts(texts)[:count])


def read_texts(path: Path | None) -> list[str]:
    """Of a parquet file; without one, the bundled sentences."""
    if path is None:
        lines = hc.bundled_sentences().read_text(encoding="utf-8").splitlines()
        return [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    return [text for text in pd.read_parquet(path)["text"].astype(str) if text.strip()]


class Harness:
    """Scores a model on tasks; one table row for each task."""

    def __init__(self, tokenizer: Any, tasks: list[str], folder: Path, batch_size: int, limit: int | None) -> None:
        from lm_eval.tasks import TaskManager

        self.tokenizer, self.tasks, self.batch_size, self.limit = tokenizer, tasks, batch_size, limit
        self.manager = TaskManager(include_path=str(folder))

    def score(self, name: str, model: Any) -> list[dict[str, object]]:
        import lm_eval
        from lm_eval.models.huggingface import HFLM

        wrapped = HFLM(pretrained=model, tokenizer=self.tokenizer, batch_size=self.batch_size)
        found = lm_eval.simple_evaluate(
            wrapped, tasks=self.tasks, task_manager=self.manager, limit=self.limit, bootstrap_iters=1000
        )
        return [
            {"model": name, "task": task, "metric": metric, "score": values[f"{metric},none"]}
            | {"error": values.get(f"{metric}_stderr,none")}
            for task, values in found["results"].items()
            for metric in METRICS
            if f"{metric},none" in values
        ]


def main(arguments: list[str] | None = None) -> pd.DataFrame:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a decoder, such as SmolLM2-135M")
    parser.add_argument("--heads", required=True, help="heads to do without, such as L3H7,L5")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=list(LOCAL), help="names of tasks that the harness knows")
    parser.add_argument("--texts", type=Path, help="parquet with a column text; by default the bundled sentences")
    parser.add_argument("--examples", type=int, default=100, help="of each local task")
    parser.add_argument("--randoms", type=int, default=2, help="random sets with as many heads in each layer")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--limit", type=int, help="examples of each task, for a first try")
    given = parser.parse_args(arguments)
    model, tokenizer = hc.load(given.model)
    model = model.float()
    write_tasks(given.out / "tasks", tokenizer, given.examples, given.texts)
    harness = Harness(tokenizer, given.tasks, given.out / "tasks", given.batch_size, given.limit)
    layout = hc.read_anatomy(model).layout
    heads = hc.HeadSet.of(given.heads, layout)
    rows = harness.score("whole", model)
    with hc.ablated(model, heads, how="zero"):
        rows += harness.score("ablated", model)
    generator = np.random.default_rng(0)
    for number in range(given.randoms):
        with hc.ablated(model, draw_others(heads, layout, generator), how="zero"):
            rows += harness.score(f"random {number}", model)
    hc.prune(model, heads)
    hc.save(model, tokenizer, given.out / "small", overwrite=True)
    rows += harness.score("pruned", hc.load(given.out / "small")[0])
    table = pd.DataFrame(rows)
    table.to_csv(given.out / "scores.csv", index=False)
    wide = table.pivot(index="model", columns=["task", "metric"], values="score").loc[table["model"].unique()]
    print(wide.to_string(float_format="{:.4f}".format))
    return table


if __name__ == "__main__":
    main()
