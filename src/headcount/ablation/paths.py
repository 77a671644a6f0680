"""The effect of one head through another one alone: path patching from head to head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.hows import How, Patch, find_how
from headcount.ablation.job import Data
from headcount.ablation.path_choices import INTO, Paths
from headcount.ablation.sweep import sweep
from headcount.core.circuits import circuit_heads
from headcount.core.heads import Heads
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy


@takes_compiled
def paths(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    among: Heads | xr.Dataset,
    *,
    into: str | Sequence[str] = INTO,
    task: str | Task | None = None,
    how: How = "patch",
    metric: str | None = None,
    reference: Data | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The effect of each head through each later one, as a Dataset with dims (sender, receiver, into).

    `among`: heads, such as "L3H1,L9H6", or the result of `circuit`. `into`: what of the receiver changes: `query`,
    `key`, `value`, `all` three at once, or some of these. `how`: the replacement for the sender's output, as for
    `sweep`; `patch` runs the text, and the sender's output is that on its counterpart
    (`Patch(direction="denoise")` for the other way round).

    For each path, the text is run with the sender's output replaced and every other later head frozen to its output in
    the plain run, so that only the residual stream and the feed-forward layers pass the change on; then the text is run
    with the receiver's query (key, value) from that run and nothing else changed (Wang et al. 2023, Goldowsky-Dill et
    al. 2023). `delta` is the change of the score, with `low`, `high`, `p` and `q` over all paths, and of a patch
    `share`; NaN for pairs where the sender does not come before the receiver, in an earlier layer of the same stack.
    `out`: a study folder; the same call resumes.
    """
    spec = Patch(direction="noise") if how == "patch" else find_how(how)
    if isinstance(spec, Patch) and spec.part != "output":
        raise InvalidOption(
            f"got a patch with part={spec.part!r}; expected 'output': into= says what the receiver reads"
        )
    heads = circuit_heads(among, read_anatomy(model).layout) if isinstance(among, xr.Dataset) else among
    return sweep(
        model,
        tokenizer,
        data,
        task=task,
        by=Paths(heads, (into,) if isinstance(into, str) else tuple(into)),
        how=how if isinstance(how, str) and how != "patch" else spec,  # type: ignore[arg-type]
        metric=metric,
        reference=reference,
        limit=limit,
        seed=seed,
        max_length=max_length,
        out=out,
        name=name,
        texts=False,
        progress=progress,
    )
