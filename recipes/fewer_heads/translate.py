"""How many heads can a translator lose: of all, and of one kind of attention? And when is their order settled?"""

import argparse
import time
from pathlib import Path

import pandas as pd
import torch

import headcount as hc
from headcount.core.results import as_table
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model, load_tokenizer
from headcount.pruning.curves import curve
from headcount.pruning.dynamics import dynamics, settled_at
from headcount.pruning.gates import learn_gates
from headcount.pruning.ordering import Source, find_orders
from headcount.pruning.smaller import halves

LENGTH = 128


def curves(options: argparse.Namespace, table: pd.DataFrame) -> None:
    """Figures 3 and 4: BLEU against the heads that are gone, all stacks together and each alone."""
    start = time.monotonic()
    task = find_task("translation", texts=tuple(options.text))
    model = load_model(options.model, head="translation", dtype=torch.float32).to(options.device)
    tokenizer, layout = load_tokenizer(options.model), read_anatomy(model).layout
    choosing, scoring = halves(table, options.limit, 0)
    shared = {"task": task, "seed": 0, "max_length": LENGTH, "out": None}
    for stack in (None, "encoder", "decoder", "cross"):
        source = Source(model, tokenizer, choosing, layout, stack, shared, "translation", lambda *_: None)
        names = ("importance", "ablation", "random") if stack is None else ("importance", "random")
        orders, _ = find_orders(source, names, options.randoms, 0, True)
        found = curve(
            model, tokenizer, scoring, orders, task=task, steps=options.steps, max_length=LENGTH,
            max_new_tokens=options.new_tokens,
        )  # fmt: skip
        rows = found[["score", "delta", "low", "high", "p"]].to_dataframe().reset_index()
        rows = rows.assign(baseline=float(found["baseline"]), stack=stack or "all", metric=found.attrs["metric"])
        rows.to_csv(options.out / f"curve-{stack or 'all'}.csv", index=False)
        print(stack, f"{time.monotonic() - start:.0f} s", flush=True)
    learned = learn_gates(
        model, tokenizer, choosing, task=task, stacks=["encoder"], max_length=LENGTH, steps=options.gate_steps,
        strengths=(0.003, 0.01, 0.03, 0.06, 0.12, 0.25),
    )  # fmt: skip
    learned[["log_a", "gate", "open", "kept", "loss"]].to_dataframe().reset_index().to_csv(options.out / "gates.csv")
    if not tokenizer.is_fast:  # the measures ask which word a token is part of
        return
    measured = hc.measure(
        model, tokenizer, choosing, text=tuple(options.text), only=("position", "rare", "entropy", "special"),
        max_length=LENGTH,
    )  # fmt: skip
    parts = [as_table(node.to_dataset()).set_index(["stack", "layer", "head"]).add_prefix(f"{name}.")
             for name, node in measured.children.items()]  # fmt: skip
    pd.concat(parts, axis=1).copy().reset_index().to_csv(options.out / "roles.csv", index=False)
    print("gates", f"{time.monotonic() - start:.0f} s", flush=True)


def along(options: argparse.Namespace, table: pd.DataFrame) -> None:
    """Figure 5: importance and the curve at every checkpoint."""
    found = dynamics(
        options.checkpoints, table, task=find_task("translation", texts=tuple(options.text)), steps=options.steps,
        limit=options.limit, max_length=LENGTH, max_new_tokens=options.new_tokens, device=options.device,
    )  # fmt: skip
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
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    table = read_table(options.data)[list(options.text)]
    curves(options, table)
    if options.checkpoints:
        along(options, table)


if __name__ == "__main__":
    main()
