"""Tasks for lm-evaluation-harness from files on this machine: a YAML and a file of examples each, no hub.

The two kinds that most of its tasks are: the right answer of two by its likelihood, and the perplexity of texts.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import yaml

EXAMPLES = "examples.jsonl"


def write_choices(folder: Path, name: str, table: pd.DataFrame) -> Path:
    """A task whose accuracy is the share of prompts that are rather continued by `completion` than by `wrong`."""
    rows = [
        {"prompt": prompt, "answers": [right, wrong]}
        for prompt, right, wrong in table[["prompt", "completion", "wrong"]].itertuples(index=False)
    ]
    settings = {
        "output_type": "multiple_choice",
        "doc_to_text": "{{prompt}}",
        "doc_to_choice": "{{answers}}",
        "doc_to_target": 0,
        "target_delimiter": "",  # answers begin with their own space
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    return _write(folder, name, rows, settings)


def write_texts(folder: Path, name: str, texts: list[str]) -> Path:
    """A task whose number is the perplexity of each word of the texts."""
    settings = {
        "output_type": "loglikelihood_rolling",
        "doc_to_text": "",
        "doc_to_target": "{{text}}",
        "metric_list": [{"metric": "word_perplexity"}],
    }
    return _write(folder, name, [{"text": text} for text in texts], settings)


def _write(folder: Path, name: str, rows: list[dict[str, object]], settings: dict[str, object]) -> Path:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    examples = (place / EXAMPLES).resolve()
    examples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(examples)}}, "test_split": "test"}
    path = place / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"task": name, **data, **settings}, sort_keys=False), encoding="utf-8")
    return path
