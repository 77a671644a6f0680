"""How many heads can a fine-tuned encoder lose? Curves of all orders, agreement of seeds, one head a layer, gates.

Takes what `recipes.seven_tasks.train` wrote; writes one table for each question.
"""

import argparse
import copy
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

import headcount as hc
from headcount.choosing.estimators import CHOICES, estimate, prediction, stability
from headcount.choosing.gates import learn_gates
from headcount.choosing.importance import importance
from headcount.choosing.orders import Order, Source, Wanted, at_random, by_values, find_orders, order_anew, spare
from headcount.core.heads import Layout
from headcount.core.results import as_table
from headcount.core.score_tables import Sums
from headcount.core.statistics import bootstrap
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model, load_tokenizer
from headcount.pruning.recover import recover
from headcount.training.scores import predict
from headcount.training.splits import Splits, read_splits
from recipes.evidence import ends
from recipes.fewer_heads.compared import curves_compared
from recipes.seven_tasks.study import median_run

LENGTH = 128
PAIRS = (("importance", "ablation"), ("importance", "random"), ("gates", "importance"))
ROLES = ("position", "special", "rare", "links", "entropy")


def some(table: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    return table.sample(min(count, len(table)), random_state=seed).reset_index(drop=True)


def seeds_agree(options: argparse.Namespace, task: str, splits: Splits, chosen: pd.DataFrame) -> pd.DataFrame:
    """Every estimator's value of every head, for each seed of the fine-tuning."""
    rows = []
    for folder in sorted((options.trained / "runs" / task / "pretrained").glob("seed-*")):
        model = load_model(folder / "model", head=splits.task.kind.name, dtype=torch.float32).to(options.device)
        found = importance(model, load_tokenizer(folder / "model"), chosen, task=splits.task, max_length=LENGTH)
        rows.append(as_table(found)[["stack", "layer", "head", *CHOICES]].assign(task=task, seed=folder.name))
    return pd.concat(rows)


def orders_of(source: Source, options: argparse.Namespace) -> tuple[dict[str, Order], xr.Dataset]:
    names = ("importance", "ablation", "taylor", "norm", "gates", "random")
    orders, estimates = find_orders(source, Wanted(tuple(names), options.randoms, 0, True))
    assert estimates is not None
    orders["importance, not normed"] = by_values(estimate(estimates, "michel"), source.layout)
    orders["importance, anew"] = order_anew(source, "michel_normed", options.steps, estimates)
    return orders, estimates


def recovery(
    options: argparse.Namespace,
    model: PreTrainedModel,
    splits: Splits,
    orders: dict[str, Order],
    layout: Layout,
) -> pd.DataFrame:
    """Half of the heads gone, and all but one in every layer: the score at once, and after some steps of training."""
    tokenizer = load_tokenizer(model.config._name_or_path)
    train, validation = some(splits.train, options.train_rows, 1), splits.validation[: options.limit]
    metric = splits.task.kind.find_metric(splits.task.metric)
    examples = read_examples(validation, splits.task, model.config.id2label, tokenizer=tokenizer)
    encodings = encode(examples, tokenizer, LENGTH, 0)

    def sums(one: PreTrainedModel) -> np.ndarray:
        return metric.features(predict(one, tokenizer, splits.task.kind, encodings), examples.labels)

    whole = sums(model)
    rows = []
    tried = {"importance": orders["importance"], "ablation": orders["ablation"]}
    tried |= {f"random {number}": at_random(layout, 100 + number) for number in range(3)}
    for what in ("half of all heads", "all but one in every layer"):
        for name, order in tried.items():
            gone = order[: layout.count // 2] if what.startswith("half") else spare(order, layout, 1)
            cut = hc.prune(copy.deepcopy(model), gone)
            before = sums(cut)
            recover(
                cut,
                tokenizer,
                train,
                task=splits.task,
                max_steps=options.recover,
                learning_rate=options.rate,
                max_length=LENGTH,
            )
            table = Sums(np.stack([whole, before, sums(cut)]), metric.combine)
            scores, drawn = table.scores(np.ones((1, table.examples)))[0], bootstrap(table)
            low, high = ends(drawn[:, 2] - drawn[:, 0])
            rows.append(
                {
                    "what": what,
                    "order": name,
                    "kept": layout.count - len(gone),
                    "metric": metric.name,
                    "whole": scores[0],
                    "before": scores[1],
                    "after": scores[2],
                    "after_to_whole": scores[2] - scores[0],
                    "low": low,
                    "high": high,
                }
            )
            print(splits.task.name, what, name, flush=True)
    return pd.DataFrame(rows)


def gates_and_roles(
    options: argparse.Namespace, model: PreTrainedModel, splits: Splits, chosen: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The gates along the path of prices, and what the measures say of every head on a treebank."""
    tokenizer = load_tokenizer(model.config._name_or_path)
    learned = learn_gates(
        model,
        tokenizer,
        chosen,
        task=splits.task,
        max_length=LENGTH,
        max_steps=options.gate_steps,
        price=(0.001, 0.003, 0.01, 0.02, 0.04, 0.08),
    )
    gates = learned[["log_a", "gate", "open", "kept", "loss"]].to_dataframe().reset_index()
    trees = pd.read_parquet(options.treebank / "validation.parquet")
    measured = hc.measure(model, tokenizer, trees, only=ROLES, limit=options.texts, max_length=LENGTH)
    tables = []
    for name, node in measured.children.items():
        table = as_table(node.to_dataset()).set_index(["stack", "layer", "head"])
        tables.append(table.add_prefix(f"{name}."))
    return gates, pd.concat(tables, axis=1).copy().reset_index()


def study(options: argparse.Namespace, name: str) -> None:
    start = time.monotonic()

    def write(what: str, table: pd.DataFrame) -> None:
        table.assign(task=name).to_csv(options.out / f"{name}-{what}.csv", index=False)
        print(name, what, f"{time.monotonic() - start:.0f} s", flush=True)

    if (options.out / f"{name}-roles.csv").exists():  # written last
        return

    splits = read_splits(find_task(name), options.data)
    chosen = some(splits.train, options.choosing, 0)
    write("seeds", seeds_agree(options, name, splits, chosen))
    folder = median_run(options.trained / "runs", name)
    model = load_model(folder, head=splits.task.kind.name, dtype=torch.float32).to(options.device)
    tokenizer, layout = load_tokenizer(folder), read_anatomy(model).layout
    shared = {"task": splits.task, "seed": 0, "max_length": LENGTH, "out": None}
    source = Source(model, tokenizer, chosen, layout, None, shared, None, lambda *_: None)
    orders, estimates = orders_of(source, options)
    write("orders", pd.DataFrame({key: [*map(layout.spell, order)] for key, order in orders.items()}))
    curves, differences = curves_compared(
        model,
        tokenizer,
        splits.validation,
        orders,
        PAIRS,
        task=splits.task,
        steps=options.steps,
        limit=options.limit,
        max_length=LENGTH,
    )
    write("curve", curves)
    write("differences", differences)
    swept = hc.sweep(
        model, tokenizer, splits.validation, task=splits.task, limit=options.limit, max_length=LENGTH, how="uniform"
    )
    quality = [
        {"estimator": one, "halves": stability(estimates, one), "ablation": prediction(estimates, swept, one)}
        for one in CHOICES
    ]
    write("quality", pd.DataFrame(quality))
    write("recovery", recovery(options, model, splits, orders, layout))
    gates, roles = gates_and_roles(options, model, splits, chosen)
    write("gates", gates)
    write("roles", roles)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each task")
    parser.add_argument("--treebank", type=Path, required=True, help="UD English EWT: validation.parquet")
    parser.add_argument("--trained", type=Path, required=True, help="what recipes.seven_tasks.train wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=["mrpc", "sst2", "mnli"])
    parser.add_argument("--choosing", type=int, default=2000, help="training examples that order the heads")
    parser.add_argument("--limit", type=int, help="validation examples of a curve at most; all by default")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--randoms", type=int, default=5)
    parser.add_argument("--train-rows", type=int, default=20000, help="examples to recover on")
    parser.add_argument("--recover", type=int, default=500, help="steps to recover")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--gate-steps", type=int, default=150)
    parser.add_argument("--texts", type=int, default=1000, help="sentences of the treebank at most")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.tasks:
        study(options, name)


if __name__ == "__main__":
    main()
