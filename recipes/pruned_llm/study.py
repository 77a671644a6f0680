"""How many heads can a language model lose? Perplexity, speed and cache by head and by group; recovery; who survives.

Heads are ordered on passages of one text and evaluated on passages of another one.
"""

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from transformers import PreTrainedModel

import headcount as hc
from headcount.choosing.bundles import BUNDLES, Bundles
from headcount.choosing.orders import Order, Source, Wanted, find_orders
from headcount.core.heads import Layout
from headcount.data.kinds.metrics import PERPLEXITY
from headcount.data.tasks import Task, find_task
from headcount.pruning.held_out import HeldOut
from headcount.trace.anatomy import read_anatomy
from recipes.pruned_llm.passages import read_passages
from recipes.pruned_llm.survivors import survivors

QUESTIONS = ("curve", "cost", "recovery", "survivors")


class Study:
    """A model, the passages that order its heads and those that evaluate, and the tables that come of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.task = options, find_task("causal-lm")
        self.model, self.tokenizer = hc.load(options.model)
        self.model = self.model.float()
        self.layout: Layout = read_anatomy(self.model).layout
        self.choosing = self.passages(options.order_on, options.choosing)
        self.scored = self.passages(options.score_on, options.scored)
        self.start = time.monotonic()

    def passages(self, path: Path, count: int) -> pd.DataFrame:
        return read_passages(pd.read_parquet(path), self.tokenizer, self.options.tokens, count)

    def write(self, what: str, table: pd.DataFrame) -> None:
        table.to_csv(self.options.out / f"{what}.csv", index=False)
        print(f"{what}: {time.monotonic() - self.start:.0f} s\n{table.to_markdown(index=False, floatfmt='.5g')}\n")

    def orders(self, by: str, normed: bool, names: tuple[str, ...]) -> dict[str, Order]:
        """Importance, computed once and kept in the study, and random orders."""
        shared = {"task": self.task, "seed": 0, "max_length": self.options.tokens, "out": self.options.out / "study"}
        source = Source(self.model, self.tokenizer, self.choosing, self.layout, None, shared, None, lambda *_: None, by)
        return find_orders(source, Wanted(names, self.options.randoms, 0, normed))[0]

    def counts(self, by: str) -> list[int]:
        """How many heads go at each share; by group a whole number of groups."""
        bundles = Bundles.of(read_anatomy(self.model), by)
        return [bundles.whole(self.layout.count * share / 100) for share in self.options.shares]

    def cuts(self) -> Iterator[tuple[str, int, Order]]:
        """What goes together, how many percent, and the least important heads."""
        for by in BUNDLES:
            order = self.orders(by, False, ("importance",))["importance"]
            for share, count in zip(self.options.shares, self.counts(by), strict=True):
                yield by, share, order[:count]


def curve_table(study: Study) -> pd.DataFrame:
    """Perplexity against heads removed, in all orders."""
    tables = []
    for by in BUNDLES:
        orders = study.orders(by, False, ("importance", "random"))
        orders["importance, normed"] = study.orders(by, True, ("importance",))["importance"]
        curves: xr.Dataset = hc.curve(
            study.model,
            study.tokenizer,
            study.scored,
            orders,
            task=study.task,
            metric="perplexity",
            steps=study.counts(by),
            by=by,
            max_length=study.options.tokens,
            out=study.options.out / "study",
            name=by,
        )
        names = ["score", "delta", "low", "high"]
        table = curves[names].to_dataframe().reset_index()[["order", "removed", *names]]
        tables.append(table.assign(by=by, whole=float(curves["baseline"])))
        print(by, f"whole {[round(float(curves[f'baseline{end}']), 2) for end in ('', '_low', '_high')]}", flush=True)
    return pd.concat(tables)


def cost_table(study: Study) -> pd.DataFrame:
    """Size, speed and cache of the whole model and of every cut, all of them timed in turns."""
    models: dict[str, PreTrainedModel] = {"whole": study.model}
    for by, share, heads in study.cuts():
        models[f"{by} {share} %"] = hc.prune(copy.deepcopy(study.model), heads)
    groups = {
        name: sum(block.kv_heads for block in read_anatomy(model).stacks["decoder"]) for name, model in models.items()
    }
    costs = hc.cost(
        models,
        batches=[1],
        lengths=[study.options.prompt],
        repeats=study.options.repeats,
        new_tokens=study.options.new_tokens,
    )
    kept = ["model", "parameters", "bytes", "prefill", "prefill_low", "prefill_high"]
    table = costs[[*kept, "decode", "decode_low", "decode_high", "cache_bytes"]]
    return table.assign(kv_heads=[groups[name] for name in table["model"]])


def recovery_table(study: Study) -> pd.DataFrame:
    """Perplexity before and after some steps with LoRA, beside the whole model with the same steps."""
    options, task = study.options, study.task
    train = study.passages(options.order_on, options.train)
    held_out = HeldOut.read(study.model, study.tokenizer, study.scored, task, PERPLEXITY, options.tokens)
    outputs: dict[str, Any] = {"whole": held_out.outputs(study.model)}
    tried: dict[str, Order] = {"whole": ()}
    tried |= {
        f"{by} {share} %": heads
        for by, share, heads in study.cuts()
        if share in options.recovered and by in options.recovered_by
    }
    for name, heads in tried.items():
        model = hc.prune(copy.deepcopy(study.model), heads)
        if heads:
            outputs[name] = held_out.outputs(model)
        start = time.monotonic()
        _recover(options, model, study.tokenizer, train, task)
        outputs[f"{name}, recovered"] = held_out.outputs(model)
        hc.save(model, study.tokenizer, options.out / name.replace(" %", "").replace(" ", "-"), overwrite=True)
        print(f"{name}: trained for {time.monotonic() - start:.0f} s", flush=True)
    names = [name for name in outputs if name != "whole"]
    first = held_out.compare(outputs["whole"], *(outputs[name] for name in names))
    fair = held_out.compare(outputs["whole, recovered"], *(outputs[name] for name in names))
    rows = [
        {"model": name, "perplexity": score, **_ends("from_whole", change), **_ends("from_whole_recovered", beside)}
        for name, score, change, beside in zip(names, first.scores, first.changes, fair.changes, strict=True)
    ]
    return pd.DataFrame([{"model": "whole", "perplexity": first.whole[0]}, *rows])


def survivor_table(study: Study) -> pd.DataFrame:
    """Which induction heads are left after each cut, beside as many random heads."""
    options = study.options
    texts = f"synthetic:repeat,length={options.repeated}"
    seen = hc.measure(study.model, study.tokenizer, texts, limit=12, only=["induction"])
    gain = seen["induction"]["gain"].values[0]
    special = [head for head in study.layout if gain[head.layer, head.head] >= options.at_least]
    names = {head: study.layout.spell(head) for head in special}
    print("induction heads:", *(f"{names[head]} {gain[head.layer, head.head]:.2f}" for head in special), flush=True)
    return survivors(names, study.cuts(), study.layout.count)


def _recover(
    options: argparse.Namespace, model: PreTrainedModel, tokenizer: Any, train: pd.DataFrame, task: Task
) -> None:
    hc.recover(
        model,
        tokenizer,
        train,
        task=task,
        max_steps=options.steps,
        lora=not options.full,
        per_device_train_batch_size=options.batch,
        max_length=options.tokens,
    )


def _ends(name: str, change: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), change, strict=True))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a decoder, such as SmolLM2-135M")
    parser.add_argument("--order-on", type=Path, required=True, help="parquet with the lines of a text: orders, trains")
    parser.add_argument(
        "--score-on", type=Path, required=True, help="parquet with the lines of another text: evaluates"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--tokens", type=int, default=256, help="of a passage")
    parser.add_argument("--choosing", type=int, default=48, help="passages that order the heads")
    parser.add_argument("--scored", type=int, default=24, help="passages that evaluate")
    parser.add_argument("--shares", type=int, nargs="+", default=[10, 20, 30, 40, 50], help="heads removed, in percent")
    parser.add_argument("--randoms", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=256, help="tokens of the prompt that is timed")
    parser.add_argument("--new-tokens", type=int, default=32, help="tokens that are decoded after it")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--recovered", type=int, nargs="+", default=[30], help="shares to recover from, in percent")
    parser.add_argument(
        "--recovered-by", nargs="+", choices=BUNDLES, default=list(BUNDLES), help="what goes together there"
    )
    parser.add_argument("--train", type=int, default=160, help="passages to train on")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument(
        "--repeated", type=int, default=32, help="random tokens that are repeated, to find induction heads"
    )
    parser.add_argument("--at-least", type=float, default=0.3, help="induction score (gain) of an induction head")
    parser.add_argument("--full", action="store_true", help="train all weights instead of adapters")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    study = Study(options)
    tables = {"curve": curve_table, "cost": cost_table, "recovery": recovery_table, "survivors": survivor_table}
    for question in options.questions:
        study.write(question, tables[question](study))


if __name__ == "__main__":
    main()
