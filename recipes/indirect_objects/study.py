"""Which heads move the name of the indirect object, in both directions, and what do ten of them carry together?

    python -m recipes.indirect_objects.study MODEL --out study

All heads are patched one at a time on some pairs, in both directions; the ten that bring back most are then patched
together on other pairs, beside ten random heads of the same layers.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import headcount as hc
from headcount.ablation.matched_sets import plan_sets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--pairs", type=int, default=24, help="pairs that select the heads")
    parser.add_argument("--held-out", type=int, default=48, help="other pairs, for sets of heads")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--randoms", type=int, default=10)
    parser.add_argument("--source", default="names", help="another source of pairs: agreement, few-shot")
    given = parser.parse_args()
    model, tokenizer = hc.load(given.model)
    table = hc.Synthetic(given.source, examples=given.pairs + given.held_out).read(tokenizer, None, 0)
    selecting, other = table.head(given.pairs), table.tail(given.held_out)
    shares = {}
    for direction in ("denoise", "noise"):
        how = hc.Patch(direction=direction)
        result = hc.sweep(model, tokenizer, selecting, task="completion", how=how, out=given.out)
        share = result["share"].stack(at=("stack", "layer", "head"))
        shares[direction] = share if direction == "denoise" else 1 - share
        effective = result["q"].stack(at=("stack", "layer", "head")) < 0.05
        print(
            f"{direction}: clean {float(result['clean']):.2f}, corrupted {float(result['corrupted']):.2f}; "
            f"{int(effective.sum())} heads with q < 0.05"
        )
        for place in share.sortby(abs(shares[direction]), ascending=False)["at"].values[: given.top]:
            row = result.sel(dict(zip(("stack", "layer", "head"), place, strict=True)))
            ends = f"[{float(row['share_low']):.2f}, {float(row['share_high']):.2f}]"
            print(f"  L{place[1]}H{place[2]}: share {float(row['share']):+.2f} {ends}, q {float(row['q']):.2g}")
    both = spearmanr(shares["denoise"].values, shares["noise"].values)
    print(f"rank correlation of both directions over all heads: {both.statistic:.2f}")
    layout = hc.read_anatomy(model).layout
    order = [hc.Head(*place) for place in shares["denoise"].sortby(shares["denoise"], ascending=False)["at"].values]
    print("top:", ", ".join(layout.spell(head) for head in order[: given.top]))
    top, random = plan_sets(order, layout, [given.top], given.randoms, 0)
    for direction in ("denoise", "noise"):
        how = hc.Patch(direction=direction)
        sets = [[str(head) for head in each] for each in (*top, *random)]
        result = hc.sweep(model, tokenizer, other, task="completion", how=how, by=sets, out=given.out, name="held-out")
        low, high = float(result["share_low"][0]), float(result["share_high"][0])
        drawn = np.sort(result["share"].values[1:])
        print(
            f"{direction}, together on {given.held_out} other pairs: share {float(result['share'][0]):.2f} "
            f"[{low:.2f}, {high:.2f}]; random {drawn.mean():.2f} ({drawn[0]:.2f} to {drawn[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
