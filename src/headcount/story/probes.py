"""What was found about heads and annotations: sentences for every kind of them, from the schemas of its result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from headcount.core.probe_names import ALL
from headcount.core.schema import read_schema
from headcount.story.classifiers import classifier_sentences
from headcount.story.coreference import antecedent_sentences
from headcount.story.frames import frame_sentences
from headcount.story.names import interval_of, short_name, spell_interval
from headcount.story.relations import relation_sentences

SELECTED = (
    "Best heads were selected on one half of the texts; all numbers here are those on the other half, with 95 % "
    "intervals over its texts."
)
NONE = "none shown"
"""The relation of a head that is not shown to follow any."""


def has_relations(probed: xr.Dataset) -> bool:
    """Whether a result has a best head for each relation: results of probing may be about something else."""
    needed = ("best_head", "best_accuracy", "gain", "gain_low", "gain_high")
    return all(name in probed and probed[name].dims == ("relation",) for name in needed)


OWN: dict[str, Callable[[xr.Dataset], list[str]]] = {
    "baseline_unlinked": frame_sentences,
    "baseline_offset": relation_sentences,
    "baseline_head_match": antecedent_sentences,
    "gain_distance": classifier_sentences,
}
"""By a variable that only results of one kind have: what is said of these. Others have a best head beside baselines."""


def probe_sentences(name: str, probed: xr.Dataset) -> list[str]:
    """What was asked, and what was found for all relations together and for each, or by all heads together."""
    say = next((say for variable, say in OWN.items() if variable in probed), gain_sentences)
    if say is gain_sentences and not has_relations(probed):
        return []
    asked = str(probed.attrs.get("summary", "heads beside annotations"))
    heading = f"{short_name(str(probed.attrs.get('model', 'the model')))}, {asked} ({name}):"
    return [heading, *say(probed)]


def gain_sentences(probed: xr.Dataset) -> list[str]:
    """For how many relations a gain is shown, and the largest one."""
    schema = read_schema(probed["gain"])
    title = schema.title if schema is not None else "Best head above the baseline"
    single = [str(name) for name in probed["relation"].values if name != ALL]
    rows = probed.sel(relation=single or [ALL])
    rows = rows.isel(relation=np.isfinite(rows["gain"].values))
    if not rows.sizes["relation"]:
        return [f"{title}: no relation has cases on both halves of the texts."]
    most = rows.isel(relation=int(rows["gain"].values.argmax()))
    named = f"{most['best_head'].item()}, {most['relation'].item()}"
    largest = f"{named}: {spell_interval(interval_of(most, 'gain'), signed=True)}"
    if not single:
        return [f"{title}: {largest}."]
    shown = int((rows["gain_low"] > 0).sum())
    counted = f"shown for {shown} of {rows.sizes['relation']} relations"
    return [f"{title}: {counted} (95 % interval above 0, each relation by itself). Largest gain: {largest}."]
