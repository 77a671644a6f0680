"""Niven and Kao's experiment: argument comprehension on parts of the input, and with adversarial twins.

    python -m recipes.cues.arct MODEL --data ARCT --adversarial ARCT_adversarial --out runs [--seeds 10] [--jobs 4]

ARCT has train, validation and test, ARCT_adversarial has *_adv_negated. The learning rate is selected on the validation
set, with the whole input. Then the model and two baselines are fine-tuned on every part of the input and scored on
the test set and its twins; the model is also fine-tuned on the adversarial training set. Last, the heads that carry
cues are looked for in the models of the whole input. Killed, the same command resumes.
"""

import argparse
from pathlib import Path

import pandas as pd

import headcount as hc
from headcount.story.cue_heads import cue_head_sentences
from headcount.training.part_scores import FINE_TUNED, summarise_parts
from headcount.training.trainer import Settings

INPUTS = ("warrant", "reason,warrant", "claim,warrant", "all")
CHOICES = ("warrant0", "warrant1")
CONTEXT = ("reason", "claim")
COLUMNS = ["split", "input", "model", "mean", "median", "max", "std", "failed", "examples"]
RATES = (2e-5, 5e-5, 1e-4)


def select_rate(arguments: argparse.Namespace, out: Path) -> float:
    """The learning rate with the best median on the validation set, over three seeds."""
    medians = {}
    for rate in RATES:
        table = hc.partial(
            arguments.model,
            arguments.data,
            out / f"rate-{rate:g}",
            inputs=["all"],
            choices=CHOICES,
            text=CONTEXT,
            seeds=3,
            baselines="none",
            settings=Settings(learning_rate=rate, num_train_epochs=arguments.epochs),
            limit=arguments.limit,
            device=arguments.device,
            jobs=arguments.jobs,
        )
        medians[rate] = float(table["score"].median())
        print(f"learning rate {rate:g}: validation accuracy {sorted(table['score'].round(3))}", flush=True)
    return max(medians, key=lambda rate: medians[rate])


def find_heads(arguments: argparse.Namespace, folder: Path, out: Path) -> None:
    """The heads that carry cues, in the model of each seed, on the examples that it was not trained on."""
    data = pd.concat(
        [pd.read_parquet(arguments.data / f"{split}.parquet") for split in ("validation", "test")], ignore_index=True
    )
    rows = []
    for run in sorted(folder.glob("seed-*")):
        model, tokenizer = hc.load(run)
        model.to(arguments.device)
        carried = hc.cue_heads(model, tokenizer, data, choices=CHOICES, text=CONTEXT, cue="not")
        print(f"\n{run.name}:", *cue_head_sentences(carried), sep="\n", flush=True)
        effects = carried["cue_effect"].to_dataframe().reset_index()
        rows.append(effects.assign(seed=run.name, q=carried["cue_effect_q"].values.ravel()))
    pd.concat(rows).to_csv(out / "cue_heads.csv", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--adversarial", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=float, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    out: Path = arguments.out
    twins = pd.read_parquet(arguments.adversarial / "test_adv_negated.parquet")
    tests = {
        "test": pd.read_parquet(arguments.data / "test.parquet"),
        "adversarial": twins,
        "negated": twins[twins["adversarial"].astype(str) == "True"].reset_index(drop=True),
    }
    rate = select_rate(arguments, out)
    print(f"learning rate: {rate:g}", flush=True)
    settings = Settings(learning_rate=rate, num_train_epochs=arguments.epochs)
    shared = {"choices": CHOICES, "text": CONTEXT, "tests": tests, "seeds": arguments.seeds, "settings": settings}
    shared |= {"device": arguments.device, "limit": arguments.limit, "jobs": arguments.jobs}
    parts = hc.partial(
        arguments.model,
        arguments.data,
        out / "parts",
        inputs=INPUTS,
        keep_models=True,
        **shared,
    )
    print(summarise_parts(parts)[COLUMNS].to_string(index=False), flush=True)
    folder = out / "adversarial-data"
    folder.mkdir(exist_ok=True)
    for split in ("train", "validation"):
        pd.read_parquet(arguments.adversarial / f"{split}_adv_negated.parquet").to_parquet(folder / f"{split}.parquet")
    balanced = hc.partial(
        arguments.model,
        folder,
        out / "balanced",
        inputs=["all"],
        **shared,
    )
    print(summarise_parts(balanced)[COLUMNS].to_string(index=False), flush=True)
    find_heads(arguments, out / "parts" / "all" / FINE_TUNED, out)


if __name__ == "__main__":
    main()
