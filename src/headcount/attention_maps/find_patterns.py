"""The patterns of all heads on some texts, with typical maps: Figures 1 and 2 of Kovaleva et al. for any model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr
from transformers import PreTrainedModel

from headcount.attention_maps.typical import CANDIDATES, take_typical
from headcount.core.provenance import origin_of
from headcount.core.renamed import renamed
from headcount.core.writers import writes_study
from headcount.engines.compute import Compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem
from headcount.measures.inputs import Data
from headcount.measures.measure import measure
from headcount.measures.measurement import Measurement, prepare_measurement
from headcount.measures.patterns import SHORTEST
from headcount.models.compiled import takes_compiled


@renamed(batch_tokens="in compute=Compute(...)")
@takes_compiled
@takes_engine
@writes_study("out")
def find_patterns(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    text: tuple[str, ...] | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """Which of five patterns the maps of every head have, as a DataTree: `patterns` (the measure), `typical` (maps).

    `patterns`: `share` (stack, layer, head, pattern) of the texts, with intervals; `mostly`, the number of the most
    frequent pattern; `whole_share`, of all maps of a stack, with an interval that includes the mistakes of the rule
    that names them. The attributes `rule`, `f1`, `confusion` and `reliability` describe the accuracy of the names.
    `typical`: three small maps for each head, the clearest, a median one, and an exception if there is one
    (`headcount.attention_maps.maps.unpack` turns their bytes into weights). `out`: a study folder; the same call again
    resumes. `compute`: how it runs; a shard whose other parts are not done yet gives what is there, without means and
    typical maps.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    options: dict[str, Any] = {
        "text": text,
        "limit": limit,
        "seed": seed,
        "max_length": max_length,
        "compute": compute,
        "out": out,
        "name": name,
        "progress": progress,
    }
    task = prepare_measurement(model, tokenizer, data, **options)
    longest = int(task.inputs.lengths.max())
    if longest < SHORTEST:
        raise DataProblem(
            f"the longest of the {len(task.inputs.ids)} texts has {longest} tokens; expected some of {SHORTEST} or "
            "more, whose maps can have a pattern"
        )
    measured = measure(model, tokenizer, data, only="patterns", **options)
    patterns = measured["patterns"].to_dataset()
    tree = xr.DataTree.from_dict(
        {"patterns": patterns} | ({"typical": _typical(task, patterns)} if patterns.attrs["complete"] else {})
    )
    tree.attrs = measured.attrs
    return tree


def _typical(task: Measurement, patterns: xr.Dataset) -> xr.Dataset:
    """The typical maps, read from the study if it has them already."""
    run = Run(
        group_name("patterns/typical", task.name),
        origin_of(patterns.attrs),
        {"measure": "typical", "candidates": CANDIDATES},
        {"measure": "typical"},
        lambda _: take_typical(task, patterns),
    )
    return perform(run, task.out)
