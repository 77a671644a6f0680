"""What every head looks at: all measures over some texts, in one streaming pass, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.options import without_effect
from headcount.core.renamed import renamed
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.number_options import check_numbers
from headcount.engines.compute import Compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.measures.catalogue import ANNOTATED, Only, choose_measures
from headcount.measures.distances import EXAMPLES
from headcount.measures.feeds import feeds_of
from headcount.measures.inputs import Data
from headcount.measures.measurement import prepare_measurement
from headcount.measures.passes import collect
from headcount.models.compiled import takes_compiled
from headcount.trace.modes import evaluating


@renamed(batch_tokens="in compute=Compute(...)")
@takes_compiled
@takes_engine
@writes_study("out")
def measure(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    only: Only | None = None,
    text: tuple[str, ...] | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    distance_examples: int | None = None,
    spacy: str | None = None,
    tagger: str | Path | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """What every head looks at, as a DataTree with one Dataset for each measure, dims (stack, layer, head).

    `data`: a file, folder or data frame with one or two text columns (`text=` names them), synthetic texts such as
    `synthetic:repeat,length=50` (or `Synthetic("repeat", length=50)`), a CoNLL-U file, or a table with tokens, upos,
    heads and deprels, which the linguistic measures need (or `spacy=`, the name of a spaCy pipeline that you have, or
    `tagger=`, a token classifier that `finetune` made: they annotate plain texts). `only`: names of
    `headcount.measures.catalogue.MEASURES`, measures of your own (`hc.Question`), or both; all named ones by default.
    Those that make no sense for the model or the texts are left out and named in the attribute `left_out`. `out`: a
    study folder, written as it runs; the same call goes on where it stopped. `distance_examples`: texts for the
    distances between heads, 50 by default. Every variable comes with `..._low` and `..._high`, a 95 % bootstrap
    interval over the texts, and with `values_...`, its value for each text. `compute`: how it runs; a shard whose other
    parts are not done yet gives what is there, without means.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    check_numbers(distance_examples=distance_examples)
    chosen = choose_measures(only)
    named = [one.name for one in chosen]
    if "distances" not in named:
        without_effect("distance_examples", distance_examples, "distances are not among the measures")
    if not set(ANNOTATED) & set(named):
        for option, given in (("spacy", spacy), ("tagger", tagger)):
            without_effect(option, given, f"none of {', '.join(named)} reads annotations")
    measurement = prepare_measurement(
        model,
        tokenizer,
        data,
        text=text,
        limit=limit,
        seed=seed,
        max_length=max_length,
        compute=compute,
        out=out,
        name=name,
        progress=progress,
        spacy=spacy,
        tagger=tagger,
        logits=any(one.needs_logits for one in chosen),
    )
    left_out = {one.name: reason for one in chosen if (reason := one.lacking(measurement.setting))}
    kept = [one for one in chosen if one.name not in left_out]
    if only is not None and left_out:
        raise InvalidOption(_impossible(left_out, [one.name for one in kept]))
    results: dict[str, xr.Dataset] = {}
    with evaluating(model), torch.inference_mode(False):
        for kind, feed in feeds_of(measurement).items():
            group = [one for one in kept if one.kind == kind]
            if group:
                rows = np.arange(len(measurement.inputs.ids))
                most = distance_examples or EXAMPLES
                if kind == "maps" and len(rows) > most:
                    rows = np.sort(np.random.default_rng(seed).permutation(len(rows))[:most])
                results |= collect(measurement, group, rows, feed, one_by_one=kind == "maps")
    tree = xr.DataTree.from_dict(results)
    tree.attrs = {
        "left_out": left_out,
        "cut": measurement.inputs.cut,
        ATTRIBUTE: measurement.inputs.blank,
        "notes": list(measurement.inputs.notes),
        "texts": len(measurement.inputs.ids),
    }
    return tree


def _impossible(left_out: dict[str, str], kept: list[str]) -> str:
    """Why some of the measures that were asked for are impossible, and which remain."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    said = "; ".join(f"{', '.join(names)} cannot be measured here: {reason}" for reason, names in by_reason.items())
    if not kept:
        return f"{said}; leave only= out for all measures that are possible here"
    return f"{said}; leave {'it' if len(left_out) == 1 else 'them'} out: only={','.join(kept)}"
