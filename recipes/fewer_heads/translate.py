"""How many heads can a translator lose: one by one, of all, and of one kind of attention? When is their order settled?

One half of the pairs orders the heads, by importance and by ablation, the other half scores. Killed, the same command
goes on with the first table that is missing.
"""

import argparse
import copy
import time
from pathlib import Path

import pandas as pd
import torch
import xarray as xr

import headcount as hc
from headcount.choosing.dynamics import dynamics
from headcount.choosing.estimators import estimate
from headcount.choosing.gates import learn_gates
from headcount.choosing.halves import halves
from headcount.choosing.importance import importance
from headcount.choosing.orders import at_random, by_values
from headcount.core.claims import settled_at
from headcount.core.results import as_table
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model, load_tokenizer
from recipes.fewer_heads.compared import curves_compared
from recipes.seven_tasks.study import plain

LENGTH = 128


class Translator:
    """A model, its pairs in two halves, one that orders heads and one that scores, and where the tables go."""

    def __init__(self, options: argparse.Namespace, table: pd.DataFrame) -> None:
        self.options, self.start = options, time.monotonic()
        self.task = find_task("translation", text=tuple(options.text))
        self.model = load_model(options.model, head="translation", dtype=torch.float32).to(options.device)
        # Gradients are taken in float32; texts may be generated in less.
        dtype = getattr(torch, options.dtype)
        self.speaker = self.model if dtype == torch.float32 else copy.deepcopy(self.model).to(dtype)
        self.tokenizer, self.layout = load_tokenizer(options.model), read_anatomy(self.model).layout
        self.choosing, self.scoring = halves(table, options.limit, 0)
        self.generate = {"max_length": LENGTH, "generate": {"max_new_tokens": options.new_tokens}}

    def write(self, what: str, table: pd.DataFrame) -> None:
        table.to_csv(self.options.out / f"{what}.csv", index=False)
        print(what, f"{time.monotonic() - self.start:.0f} s", flush=True)

    def done(self, what: str) -> bool:
        return (self.options.out / f"{what}.csv").exists()

    def sweep(self, by: str, half: str) -> xr.Dataset:
        table = self.choosing if half == "choosing" else self.scoring
        found = hc.sweep(
            self.speaker, self.tokenizer, table, task=self.task, by=by, how="zero", texts=False, **self.generate
        )
        self.write(f"{by}-{half}-whole", plain(found))
        self.write(f"{by}-{half}", as_table(found.drop_vars("texts")))
        return found

    def one_by_one(self) -> None:
        """Tables 1 to 3: the score without each head, and with one head of a layer alone.

        The half that scores says what the layer's best head of the other half is worth: the best of eight on the same
        sentences flatters every layer.
        """
        for by, half in (("head", "choosing"), ("all-but-one", "choosing"), ("all-but-one", "scoring")):
            if not self.done(f"{by}-{half}"):
                self.sweep(by, half)

    def curves(self) -> None:
        """Figures 3 and 4: the score against the heads that are gone, of all stacks and of each alone."""
        swept = pd.read_csv(self.options.out / "head-choosing.csv").set_index(["stack", "layer", "head"])["delta"]
        lost = {head: -swept[head.stack, head.layer, head.head] for head in self.layout}
        found = importance(self.model, self.tokenizer, self.choosing, task=self.task, max_length=LENGTH)
        self.write("importance", as_table(found))
        values = estimate(found, "michel_normed")
        orders = {"importance": by_values(values, self.layout), "ablation": tuple(sorted(lost, key=lost.__getitem__))}
        orders |= {f"random {seed}": at_random(self.layout, seed) for seed in range(self.options.randoms)}
        orders |= {stack: by_values(values, self.layout, stack) for stack in self.layout.stacks}
        pairs = [
            ("importance", "ablation"),
            ("importance", "random"),
            ("ablation", "random"),
            ("encoder", "cross"),
            ("decoder", "cross"),
        ]
        curves, differences = curves_compared(
            self.speaker,
            self.tokenizer,
            self.scoring,
            orders,
            pairs,
            task=self.task,
            steps=self.options.steps,
            **self.generate,
        )
        self.write("differences", differences)
        self.write("curve", curves)

    def gates(self) -> None:
        """Which heads of the encoder learned gates keep, and what these look at."""
        learned = learn_gates(
            self.model,
            self.tokenizer,
            self.choosing,
            task=self.task,
            stack="encoder",
            max_length=LENGTH,
            max_steps=self.options.gate_steps,
            price=(0.003, 0.01, 0.03, 0.06, 0.12, 0.25),
        )
        if self.tokenizer.is_fast:  # the measures ask which word a token is part of
            measured = hc.measure(
                self.model,
                self.tokenizer,
                self.choosing,
                text=tuple(self.options.text),
                only=("position", "rare", "entropy", "special"),
                max_length=LENGTH,
            )
            parts = [
                as_table(node.to_dataset()).set_index(["stack", "layer", "head"]).add_prefix(f"{name}.")
                for name, node in measured.children.items()
            ]
            self.write("roles", pd.concat(parts, axis=1).copy().reset_index())
        self.write("gates", learned[["log_a", "gate", "open", "kept", "loss"]].to_dataframe().reset_index())


def along(options: argparse.Namespace, table: pd.DataFrame) -> None:
    """Figure 5: importance and the curve at every checkpoint."""
    found = dynamics(
        options.checkpoints,
        table,
        task=find_task("translation", text=tuple(options.text)),
        steps=options.steps,
        limit=options.limit,
        max_length=LENGTH,
        generate={"max_new_tokens": options.new_tokens},
        device=options.device,
    )
    found[["score", "delta", "low", "high"]].to_dataframe().reset_index().to_csv(
        options.out / "dynamics-curves.csv", index=False
    )
    single = found[["baseline", "agreement", "agreement_low", "agreement_high"]].to_dataframe()
    single.assign(settled=settled_at(found)).to_csv(options.out / "dynamics.csv")
    found["importance"].to_dataframe().to_csv(options.out / "dynamics-importance.csv")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a folder with an encoder-decoder")
    parser.add_argument("--data", type=Path, required=True, help="pairs: half of them order the heads, half score")
    parser.add_argument("--text", nargs=2, required=True, help="the columns of source and target")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--checkpoints", type=Path, help="a run with checkpoints: when is the order settled?")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--randoms", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--gate-steps", type=int, default=150)
    parser.add_argument("--dtype", default="float32", help="of the model that generates texts")
    parser.add_argument(
        "--questions",
        nargs="*",
        default=["curves", "gates"],
        choices=["curves", "gates"],
        help="beside the heads one by one",
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    table = read_table(options.data)[list(options.text)]
    translator = Translator(options, table)
    translator.one_by_one()
    if "curves" in options.questions and not translator.done("curve"):
        translator.curves()
    if "gates" in options.questions and not translator.done("gates"):
        translator.gates()
    if options.checkpoints:
        along(options, table)


if __name__ == "__main__":
    main()
