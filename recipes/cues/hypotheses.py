"""Which heads of an NLI model carry the cues of the hypotheses ("no", "not", "never": contradiction)?

    python -m recipes.cues.hypotheses MODEL --data MNLI --out runs [--seeds 3] [--limit N] [--device cuda]

MNLI has train* and validation* files with premise, hypothesis and label. Printed are the cues of the hypotheses in the
training set, the model beside the cue-only classifier on the validation set, and the heads that carry cues there.
Killed, the same command resumes its training.
"""

import argparse
from pathlib import Path

import pandas as pd

import headcount as hc
from headcount.story.cue_heads import cue_head_rows, cue_head_sentences
from headcount.story.cues import cue_rows, cue_sentences
from headcount.training.trainer import Settings

SIDE = "second"


def read_split(folder: Path, split: str) -> pd.DataFrame:
    return pd.read_parquet(sorted(folder.glob(f"{split}*.parquet"))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    train, validation = (read_split(arguments.data, split) for split in ("train", "validation"))
    counted = hc.cues(train, task="mnli", side=SIDE, limit=arguments.limit)
    print(*cue_rows(counted, 12), *cue_sentences(counted), sep="\n", flush=True)
    folder = arguments.out / "data"
    folder.mkdir(parents=True, exist_ok=True)
    train.to_parquet(folder / "train.parquet")
    validation.to_parquet(folder / "validation.parquet")
    settings = Settings(learning_rate=arguments.rate, num_train_epochs=arguments.epochs)
    hc.finetune(
        arguments.model,
        "mnli",
        folder,
        arguments.out / "models",
        seeds=arguments.seeds,
        settings=settings,
        limit=arguments.limit,
        device=arguments.device,
    )
    rows = []
    for run in sorted(path.parent for path in arguments.out.glob("models/**/config.json")):
        model, tokenizer = hc.load(run)
        model.to(arguments.device)
        shared = {"task": "mnli", "side": SIDE, "limit": arguments.limit}
        beside = hc.cues(validation, model=model, tokenizer=tokenizer, **shared)
        print(f"\n{run.relative_to(arguments.out)}:", *cue_sentences(beside), sep="\n", flush=True)
        carried = hc.cue_heads(model, tokenizer, validation, **shared)
        print(*cue_head_rows(carried, 8), *cue_head_sentences(carried), sep="\n", flush=True)
        effects = carried["cue_effect"].to_dataframe().reset_index()
        rows.append(effects.assign(run=run.name, q=carried["cue_effect_q"].values.ravel()))
    pd.concat(rows).to_csv(arguments.out / "cue_heads.csv", index=False)


if __name__ == "__main__":
    main()
