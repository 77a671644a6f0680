"""The best head of each relation in several languages, beside the best fixed offset.

    python -m recipes.languages.heads MODEL=TREEBANK... --out studies [--split test] [--limit N]

Every pair is a study in the folder; killed, the same command resumes. Printed are a table for each pair, and for verb
and object what the head gets where the object comes before and after its verb.
"""

import argparse
from pathlib import Path

import torch
import xarray as xr

import headcount as hc
from headcount.trace.anatomy import read_anatomy
from recipes.languages.treebanks import read_treebank, split_by_order

DECIMALS = 1


def percent(row: xr.Dataset, name: str) -> str:
    """A share with its interval, in percent."""
    value, low, high = (100 * float(row[f"{name}{ending}"]) for ending in ("", "_low", "_high"))
    return f"{value:.{DECIMALS}f} [{low:.{DECIMALS}f}, {high:.{DECIMALS}f}]"


def relation_table(probed: xr.Dataset) -> str:
    """In Markdown: by relation the best head on the held-out half beside the best offset and random weights."""
    lines = [
        "| relation | cases | best head | accuracy | offset | gain | random weights |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in probed["relation"].values:
        row = probed.sel(relation=name)
        arrow = "->" if row["best_direction"].item() == "dependent to head" else "<-"
        random = f"{100 * float(row['baseline_random_weights']):.1f}" if "baseline_random_weights" in row else ""
        offset = f"{100 * float(row['baseline_offset']):.1f} ({int(row['best_offset']):+d})"
        lines.append(
            f"| {name} | {int(row['held_out_cases'])} | {row['best_head'].item()} {arrow} | "
            f"{percent(row, 'best_accuracy')} | {offset} | {percent(row, 'gain')} | {random} |"
        )
    return "\n".join(lines)


def by_order(probed: xr.Dataset, layout: hc.Layout, relation: str = "obj") -> str:
    """What the best head of a relation gets where the dependent comes before its head and where it comes after."""
    names = [f"{relation}:before", f"{relation}:after"]
    present = [name for name in [relation, *names] if name in probed["relation"].values]
    if relation not in present:
        return ""
    best = probed.sel(relation=relation)
    [head] = layout.find(str(best["best_head"].item()))
    accuracy = probed.sel(
        stack=head.stack, layer=head.layer, head=head.head, direction=str(best["best_direction"].item())
    )
    shares = [f"{name} {percent(accuracy.sel(relation=name), 'accuracy')}" for name in present]
    return f"{best['best_head'].item()}, the best head of {relation}, on all sentences: " + ", ".join(shares)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="MODEL=TREEBANK")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args(arguments)
    for pair in options.pairs:
        name, _, treebank = pair.partition("=")
        model, tokenizer = hc.load(name, dtype=torch.float32)
        table = split_by_order(read_treebank(Path(treebank), options.split), "obj")
        out = options.out / f"{Path(name).name.replace(':', '-')}-{Path(treebank).name}"
        probed = hc.probe(model, tokenizer, table, limit=options.limit, out=out)
        counted = f"{probed.sizes['example']} sentences, {probed.attrs['lost']}"
        print(f"\n{Path(name).name}, {Path(treebank).name}: {counted}\n")
        print(relation_table(probed), "\n", sep="")
        print(by_order(probed, read_anatomy(model).layout), flush=True)


if __name__ == "__main__":
    main()
