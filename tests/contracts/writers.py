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
from headcount.costs.layer_times import layer_times
from headcount.errors import StudyProblem
from tests import planted
from tests.choosing import planted_pair, planted_vectors
from tests.choosing.linear import linear_pair
from tests.measures.planted_decoder import planted_decoder
from tests.probing.treebank import sentences
from tests.statistical_cues import planted_cue


def make_checkpoints(folder: Path) -> Path:
    """Two checkpoints as a training leaves them."""
    for step in range(2):
        model = planted.classifier()
        with torch.no_grad():
            model.classifier.weight.mul_(1 + step)
        model.save_pretrained(folder / f"step-{step:06d}")
        planted.tokenizer(folder / f"step-{step:06d}").save_pretrained(folder / f"step-{step:06d}")
    return folder


def wide_classifier() -> Any:
    """A model that spends its time in feed-forward units, so that it is faster without them on any machine."""
    config = planted.classifier().config
    torch.manual_seed(0)
    return type(planted.classifier())(type(config)(**config.to_dict() | {"intermediate_size": 4096})).eval()


SHARDED = ("sweep", "screened", "pairs", "measure", "compare", "patterns", "classifiers", "importance", "attribution")
"""Those that several processes can share."""
TIMED = ("cost", "layer_times", "speed")
"""Those whose numbers depend on times, which are never the same."""
TIMES = ("speed", "speed_low", "speed_high")
"""The variables of other results that are times."""


def writers(folder: Path, shard: str | None = None) -> dict[str, Callable[[Path | None], Any]]:
    """By name, what writes a result into a study, or keeps it in memory; `folder` is where the checkpoints are.

    With a shard: those that can be shared, each a part of the work.
    """
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(folder / "tokenizer"), planted.texts(40)
    many = planted.texts(150)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.bert.encoder.layer[0].attention.self.query.weight.add_(0.5)
    decoder, decoder_tokenizer = planted_decoder()
    linear, pairs = linear_pair(40)
    pair = planted_pair.classifier()
    small = {"batches": (1,), "lengths": (8,), "repeats": 1}
    tried: dict[str, Any] = {"steps": 2, "batch": 4, "length": 16}
    wide = wide_classifier()

    part: dict[str, Any] = {"compute": None if shard is None else hc.Compute(shard=shard)}
    plain: dict[str, Any] = {"text": "sentence", **part}
    run: dict[str, Callable[[Path | None], Any]] = {
        "sweep": lambda out: hc.sweep(
            model, tokenizer, texts, task="sst2", how="zero", out=out, compute=hc.Compute(batch_tokens=64, shard=shard)
        ),
        "screened": lambda out: hc.sweep(
            model,
            tokenizer,
            texts,
            task="sst2",
            by=hc.screen(model, tokenizer, texts, task="sst2", top=2, control=1, out=out, **part),
            out=out,
            compute=hc.Compute(batch_tokens=64, shard=shard),
        ),
        "pairs": lambda out: hc.sweep(
            model,
            tokenizer,
            texts,
            task="sst2",
            by=hc.screen_pairs(model, tokenizer, texts, task="sst2", top=2, control=1, out=out, **part),
            out=out,
            compute=hc.Compute(batch_tokens=64, shard=shard),
        ),
        "raced": lambda out: hc.sweep(model, tokenizer, many, task="sst2", stop_when=0.1, metric="loss", out=out),
        "measure": lambda out: hc.measure(model, tokenizer, texts, only=["position", "spread"], out=out, **plain),
        "compare": lambda out: hc.compare(model, other, tokenizer, texts, out=out, **plain),
        "patterns": lambda out: hc.find_patterns(model, tokenizer, texts, out=out, **plain),
        "maps": lambda out: hc.maps(model, tokenizer, "so it is good", out=out),
        "probe": lambda out: hc.probe(model, tokenizer, sentences(20), relations=["det"], out=out),
        "cues": lambda out: hc.cues(texts, task="sst2", model=model, tokenizer=tokenizer, least=5, out=out),
        "cue_heads": lambda out: hc.cue_heads(
            model, tokenizer, planted_cue.texts(), task="sst2", cue=planted_cue.CUES, randoms=1, out=out
        ),
        "classifiers": lambda out: hc.probe(
            model, tokenizer, sentences(20), kind="classifiers", seeds=2, out=out, **part
        ),
        "importance": lambda out: hc.importance(model, tokenizer, texts, task="sst2", out=out, **part),
        "attribution": lambda out: hc.attribution(linear, tokenizer, pairs, task="sst2", out=out, **part),
        "gates": lambda out: hc.learn_gates(
            model, tokenizer, texts, task="sst2", price=(0.01, 0.1), max_steps=2, out=out
        ),
        "roles": lambda out: hc.learn_gates(
            model, tokenizer, texts, task="sst2", roles=True, max_steps=2, seeds=2, randoms=2, out=out
        ),
        "carriers": lambda out: hc.carriers(
            decoder, decoder_tokenizer, "synthetic:repeat,length=6", limit=40, top=2, randoms=2, out=out
        ),
        "function_vectors": lambda out: hc.function_vectors(
            *planted_vectors.decoder(),
            planted_vectors.prompts(16),
            task="completion",
            repeated="synthetic:repeat,length=6",
            texts=20,
            out=out,
        ),
        "circuit": lambda out: hc.circuit(
            pair, tokenizer, planted_pair.texts(60), task="sst2", subsets=1, randoms=2, out=out
        ),
        "paths": lambda out: hc.paths(pair, tokenizer, planted_pair.texts(20), "L0, L1", task="sst2", out=out),
        "choose": lambda out: hc.choose(model, tokenizer, texts, task="sst2", keep=2, steps=2, randoms=1, study=out),
        "budget": lambda out: hc.choose(
            *(model, tokenizer, texts), task="sst2", what="both", operations="95%", at_least=1, **tried, study=out
        ),
        "speed": lambda out: hc.choose(
            *(wide, tokenizer, texts), task="sst2", what="units", faster=1.2, multiple=64, **tried, study=out
        ),
        "layer_times": lambda out: layer_times(model, batch=1, length=8, repeats=1, study=out),
        "cost": lambda out: cost({"whole": model}, study=out, **small),  # type: ignore[arg-type]
        "dynamics": lambda out: dynamics(folder / "run", texts, task="sst2", steps=2, study=out),
    }
    return run if shard is None else {name: run[name] for name in SHARDED}


def main() -> None:
    """Lines of `name study` or `name:shard study` come in; `done`, `refused: why` or a traceback in a line go out."""
    known = writers(Path(sys.argv[1]))
    for shard in ("1/2", "2/2"):
        known |= {f"{name}:{shard}": write for name, write in writers(Path(sys.argv[1]), shard).items()}
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
