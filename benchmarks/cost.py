"""How much faster and smaller is a 12 x 12 x 384 BERT without half of its heads? Whole and pruned, in turns."""

import argparse
import copy

import torch
from transformers import BertConfig, BertForSequenceClassification

import headcount as hc
from headcount.costs.cost import cost, make_inputs, time_shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128])
    options = parser.parse_args()
    torch.manual_seed(0)
    config = BertConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536)
    whole = BertForSequenceClassification(config).eval().to(options.device, getattr(torch, options.dtype))
    half = hc.prune(copy.deepcopy(whole), [f"L{layer}H{head}" for layer in range(12) for head in range(0, 12, 2)])
    found = cost(
        {"whole": whole, "half": half}, batches=options.batches, lengths=options.lengths, repeats=options.repeats
    )
    print("| batch x length | whole ms | half ms | faster | whole GFLOP | half GFLOP | peak MB |")
    print("|---|---|---|---|---|---|---|")
    for (batch, length), rows in found.groupby(["batch", "length"]):
        one, two = rows.set_index("model").loc["whole"], rows.set_index("model").loc["half"]
        print(
            f"| {batch} x {length} | {one.ms:.1f} [{one.ms_low:.1f}, {one.ms_high:.1f}] "
            f"| {two.ms:.1f} [{two.ms_low:.1f}, {two.ms_high:.1f}] | {one.ms / two.ms:.2f} | {one.flops / 1e9:.2f} "
            f"| {two.flops / 1e9:.2f} | {one.peak_bytes / 1e6:.0f}, {two.peak_bytes / 1e6:.0f} |"
        )
    first, second = found[found.model == "whole"].iloc[0], found[found.model == "half"].iloc[0]
    shares = time_shares(whole, make_inputs(whole, max(options.batches), max(options.lengths)))
    share = shares.attention
    print(f"attention weights {second.attention_parameters / first.attention_parameters:.3f} of the whole model's")
    print(
        f"attention takes {share:.1%} of the time at {max(options.batches)} x {max(options.lengths)}: half gone "
        f"would give {1 / (1 - share / 2):.2f}, all of it {1 / (1 - share):.2f}"
    )


if __name__ == "__main__":
    main()
