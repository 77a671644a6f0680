"""How the heads of two models differ: which maps differ most, and how many heads rise and fall by each measure."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.statistics import mean_interval
from headcount.story.heads import Results, strongest, superlatives
from headcount.story.names import short_name, spell_interval


def change_sentences(cosine: xr.Dataset) -> list[str]:
    """Which layers and heads changed most between two models, by the cosine similarity of their maps."""
    lines = []
    several = len(cosine["stack"]) > 1
    for stack in cosine["stack"].values:
        in_stack = cosine.sel(stack=[stack])
        means, low, high = mean_interval(in_stack["values_maps"].mean("head").values[:, 0])
        layer = int(np.nanargmin(means))
        head, _, value = strongest(in_stack, "maps", {}, smallest=True, stacked=several)
        median = float(in_stack["maps"].median())
        lines += [
            f"The maps of {f'{stack}.' if several else ''}L{layer} differ most: mean cosine "  # noqa: ISC004
            f"{spell_interval((means[layer], low[layer], high[layer]))} (1 is identical), "
            f"against {np.nanmedian(means):.3f} for the median layer.",
            f"The maps of {head} differ most: {value}, against {median:.2f} for the median head.",
        ]
    return lines


def difference_sentence(cosine: xr.Dataset, stacked: bool) -> str:
    """Which head's maps differ most between two models, with the names of the models."""
    before, after = short_name(cosine.attrs["model"]), short_name(cosine.attrs.get("other_model", "the other model"))
    head, _, value = strongest(cosine, "maps", {}, smallest=True, stacked=stacked)
    return (
        f"Between {before} and {after} the maps of {head} differ most (cosine {value}; 1 is identical), against "
        f"{float(np.nanmedian(cosine['maps'].values)):.2f} for the median head."
    )


def changed_rows(results: Results) -> list[tuple[str, ...]]:
    """Rows: a measure, how many heads rise and fall (their interval excludes 0), the largest rise and fall."""
    rows = []
    for name, dataset, variable, choice, _, _ in superlatives(results, "compare"):
        low, high = (dataset[f"{variable}_{end}"].sel(choice).values for end in ("low", "high"))
        ends = [strongest(dataset, variable, choice, smallest)[:2] for smallest in (False, True)]
        label = f"{name.split('@')[0]}: {' '.join([variable, *choice.values()])}"
        changes = [f"{head} {value:+.3f}" for head, value in ends]
        rows.append((label, str(int((low > 0).sum())), str(int((high < 0).sum())), *changes))
    return rows
