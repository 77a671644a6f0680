"""Every function that writes a study, on a tiny model; as a process of its own it runs those that it is told to."""

from __future__ import annotations

import copy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import headcount as hc
from headcount.choosing.dynamics import dynamics
from headcount.costs.cost import cost
from headcount.errors import StudyProblem
from tests import planted


def make_checkpoints(folder: Path) -> Path:
    """Two checkpoints as a training leaves them."""
    for step in range(2):
        model = planted.classifier()
        with torch.no_grad():
            model.classifier.weight.mul_(1 + step)
        model.save_pretrained(folder / f"step-{step:06d}")
        planted.tokenizer(folder / f"step-{step:06d}").save_pretrained(folder / f"step-{step:06d}")
    return folder


def writers(folder: Path) -> dict[str, Callable[[Path | None], Any]]:
    """By name, what writes a result into a study, or keeps it in memory; `folder` is where the checkpoints are."""
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(folder / "tokenizer"), planted.texts(40)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.bert.encoder.layer[0].attention.self.query.weight.add_(0.5)
    small = {"batches": (1,), "lengths": (8,), "repeats": 1}

    def sweep(out: Path | None, shard: str | None = None) -> Any:
        return hc.sweep(
            model, tokenizer, texts, task="sst2", how="zero", out=out, compute=hc.Compute(batch_tokens=64, shard=shard)
        )

    return {
        "sweep": sweep,
        "first": lambda out: sweep(out, "1/2"),
        "second": lambda out: sweep(out, "2/2"),
        "measure": lambda out: hc.measure(
            model, tokenizer, texts, text="sentence", only=["position", "spread"], out=out
        ),
        "compare": lambda out: hc.compare(model, other, tokenizer, texts, text="sentence", out=out),
        "patterns": lambda out: hc.find_patterns(model, tokenizer, texts, text="sentence", out=out),
        "maps": lambda out: hc.maps(model, tokenizer, "so it is good", out=out),
        "importance": lambda out: hc.importance(model, tokenizer, texts, task="sst2", out=out),
        "choose": lambda out: hc.choose(model, tokenizer, texts, task="sst2", keep=2, steps=2, randoms=1, study=out),
        "cost": lambda out: cost({"whole": model}, study=out, **small),  # type: ignore[arg-type]
        "dynamics": lambda out: dynamics(folder / "run", texts, task="sst2", steps=2, study=out),
    }


def main() -> None:
    """Lines of `name study` come in; `done`, `refused: why` or the last line of a traceback go out."""
    known = writers(Path(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        name, _, study = line.rstrip("\n").partition(" ")
        try:
            known[name](Path(study))
            print("done", flush=True)
        except StudyProblem as error:
            print(f"refused: {error}", flush=True)
        except Exception:  # noqa: BLE001
            print(f"failed: {' '.join(traceback.format_exc().split())}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
