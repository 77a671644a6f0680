"""Everything that a study knows about one head, in sentences with the numbers that they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import xarray as xr

from headcount.core.heads import Head
from headcount.core.read_study import StudyLike, study_path
from headcount.core.units import is_unit
from headcount.errors import StudyProblem, UnknownHead
from headcount.reporting.caption import model_of, study_model
from headcount.reporting.findings import TOLERANCE
from headcount.reporting.gaps import OF_HEADS, find_gaps
from headcount.reporting.view import View, read_view
from headcount.story.names import short_name
from headcount.story.one_head.fact import Fact
from headcount.story.one_head.follows import probe_facts
from headcount.story.one_head.looks import alike_facts, pattern_facts, role_facts, standing_out_facts
from headcount.story.one_head.matters import budget_facts, curve_facts, gate_facts, importance_facts
from headcount.story.one_head.together import carrier_facts, circuit_facts, pair_facts, path_facts, schema_facts
from headcount.story.one_head.without import position_facts, sweep_facts

Measures = dict[str, xr.Dataset]


@dataclass(frozen=True)
class Section:
    """Facts that answer one question."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Explanation:
    """What a study knows about one head: sections of facts, and what is missing with the command that computes it.

    `str()` gives the text, `as_dict()` plain data.
    """

    head: str
    model: str
    study: str
    heads: int
    sections: tuple[Section, ...]
    missing: tuple[Mapping[str, str], ...]
    unfinished: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts in order."""
        return tuple(fact for section in self.sections for fact in section.facts)

    @property
    def heading(self) -> str:
        return f"{self.head} of {self.model}, one of {self.heads:,} heads in {self.study}"

    def as_dict(self) -> dict[str, Any]:
        """As plain data: what `headcount explain --json` prints."""
        facts = [{"section": section.title, **asdict(fact)} for section in self.sections for fact in section.facts]
        about = {"head": self.head, "model": self.model, "study": self.study, "heads": self.heads}
        return about | {"facts": facts, "missing": list(self.missing), "unfinished": list(self.unfinished)}

    def __str__(self) -> str:
        lines = [self.heading]
        for section in self.sections:
            lines += [
                "",
                section.title,
                *(f"{'    ' if fact.listed else '  '}{fact.sentence}" for fact in section.facts),
            ]
        if self.missing:
            lines += ["", "Not measured", *(f"  {row['what']}: {row['command']}" for row in self.missing)]
        return "\n".join(lines)


def explain(study: StudyLike, head: str | Head) -> Explanation:
    """Everything that a study knows about one head, as an `Explanation`: print it, or read its `facts`.

    `head`: a name such as "L5H1", or "cross.L1H2" in an encoder-decoder. A fact has a `sentence`, the `result` that it
    comes from and its `numbers`. Results of another model than the study's, and results with a name of their own, say
    so. What was not measured is in `missing`, with commands.
    """
    path = study_path(study)
    view = read_view(path)
    if not view.layout.count:
        raise StudyProblem(
            f"{path} has no result about single heads; run headcount measure or headcount sweep --by head first"
        )
    found = _find(view, head)
    sections = tuple(
        Section(title, tuple(facts))
        for title, facts in (
            ("What it looks at", _looks(view, found)),
            ("What it follows", _follows(view, found)),
            ("What happens without it", _without(view, found)),
            ("From another input", _patched(view, found)),
            ("Together with other heads", _together(view, found)),
            ("What fine-tuning changed", _changed(view, found)),
        )
        if facts
    )
    missing = tuple(row for row in find_gaps(view, str(path), sent=False) if row["what"] in OF_HEADS)
    name = view.layout.spell(found)
    return Explanation(name, _own_model(view), str(path), view.layout.count, sections, missing, view.unfinished)


def _find(view: View, head: str | Head) -> Head:
    if is_unit(str(head)):
        first = view.layout.spell(next(iter(view.layout)))
        raise UnknownHead(f"got {str(head)!r}: feed-forward units are not explained; expected a head such as {first}")
    found = view.layout.find(str(head))
    if len(found) != 1:
        raise UnknownHead(
            f"got {str(head)!r}, which is {len(found)} heads; expected one head such as {view.layout.spell(found[0])}"
        )
    return found[0]


def _spelled(view: View, head: Head) -> tuple[str, str]:
    return view.layout.spell(head), str(head)


def _own_model(view: View) -> str:
    """The model that the study is about: that of results without a name of their own, unless they compare two."""
    for name, result in view.results.items():
        single = "model" in result.attrs and "other_model" not in result.attrs
        if single and "@" not in name and not name.startswith("maps/"):
            return short_name(str(result.attrs["model"]))
    return study_model(view)


def _label(view: View, name: str, result: xr.Dataset) -> str:
    """What tells a result from the study's own ones: the model, if it is another one, and the result's own name."""
    own = name.partition("@")[2].removesuffix("-confirming")
    model = model_of(result.attrs)
    other = model if model and model != _own_model(view) and "other_model" not in result.attrs else ""
    return ", ".join(filter(None, (other, f"result {own}" if own and own != other else "")))


def _named(view: View, kind: str) -> Iterator[tuple[str, str, xr.Dataset]]:
    """The results of a kind, those without a name of their own first: their name, label and data."""
    for name, result in sorted(view.of(kind).items(), key=lambda pair: ("@" in pair[0], pair[0])):
        yield name, _label(view, name, result), result


def _groups(view: View) -> Iterator[tuple[str, Measures]]:
    """Measures that were taken together: of one model, and with one name."""
    groups: dict[str, Measures] = {}
    for name, label, result in _named(view, "measures"):
        groups.setdefault(label, {})[name] = result
    yield from groups.items()


def _looks(view: View, head: Head) -> list[Fact]:
    number, facts = list(view.layout).index(head), []
    for label, measures in _groups(view):
        own = role_facts(measures, view.by_head, number)
        for name, result in measures.items():
            if "mostly" in result:
                own += pattern_facts(name, result, head)
        # Of results with a name, only what stands out: they are beside the study's own.
        own += [fact for fact in standing_out_facts(measures, head) if not label or fact.numbers.get("found") != 0]
        for name, result in measures.items():
            if "distance" in result and name.startswith("distances"):
                own += alike_facts(name, result, head)
        facts += [fact if fact.listed else fact.labelled(label) for fact in own]
    return facts


def _follows(view: View, head: Head) -> list[Fact]:
    return [
        fact.labelled(label)
        for name, label, result in _named(view, "probe")
        for fact in probe_facts(name, result, head, _spelled(view, head))
    ]


def _without(view: View, head: Head) -> list[Fact]:
    facts = []
    for name, label, result in _named(view, "sweep"):
        if result.attrs.get("how") != "patch" and "delta" in result:
            facts += [fact.labelled(label) for fact in sweep_facts(name, result, head)]
    return [*facts, *_matters(view, head)]


def _matters(view: View, head: Head) -> list[Fact]:
    results = [each for each in _named(view, "pruning") if not view.is_passing_checkpoint(each[0])]
    kinds = {name.split("@")[0] for name, *_ in results}
    has_own = any(name == "importance" for name, *_ in results)
    facts: list[Fact] = []
    for kind in sorted(kinds, key=lambda kind: (kind != "importance", kind)):
        for name, label, result in results:
            if name.split("@")[0] != kind or (kind == "importance" and has_own and name != "importance"):
                continue
            facts += [fact.labelled(label) for fact in _of_pruning(view, head, name, result)]
    return facts


def _of_pruning(view: View, head: Head, name: str, result: xr.Dataset) -> list[Fact]:
    kind, pruned = name.split("@")[0], view.of("pruning")
    if kind == "importance":
        return importance_facts(name, result, head)
    if kind == "roles":
        return gate_facts(name, result, head)
    if kind == "gates":
        return schema_facts("pruning", name, result, head)
    if name.startswith(("curve", "budget")) and name.endswith("-choosing"):
        return []
    if kind.startswith("curve") and "sequence" in result:
        selection = pruned.get(f"{name.removesuffix('-confirming')}-choosing")
        return curve_facts(name, result, selection, _spelled(view, head), TOLERANCE)
    return budget_facts(name, result, head, view.layout) if kind.startswith("budget") else []


def _patched(view: View, head: Head) -> list[Fact]:
    facts = []
    for name, label, result in _named(view, "sweep"):
        if result.attrs.get("how") == "patch":
            said = [*sweep_facts(name, result, head), *position_facts(name, result, head)]
            facts += [fact.labelled(label) for fact in said]
    for kind in ("patching", "function_vectors"):
        for name, label, result in _named(view, kind):
            facts += [fact.labelled(label) for fact in schema_facts(kind, name, result, head)]
    return facts


def _together(view: View, head: Head) -> list[Fact]:
    spelled, facts = _spelled(view, head), []
    for name, label, result in _named(view, "sweep"):
        if result.attrs.get("by") == "pair":
            facts += [fact.labelled(label) for fact in pair_facts(name, result, spelled)]
    for name, label, result in _named(view, "circuit"):
        facts += [fact.labelled(label) for fact in circuit_facts(name, result, head)]
    for name, label, result in _named(view, "paths"):
        facts += [fact.labelled(label) for fact in path_facts(name, result, spelled)]
    for name, label, result in _named(view, "carriers"):
        facts += [fact.labelled(label) for fact in carrier_facts(name, result, spelled)]
    for name, label, result in _named(view, "cue_heads"):
        facts += [fact.labelled(label) for fact in schema_facts("cue_heads", name, result, head)]
    return facts


def _changed(view: View, head: Head) -> list[Fact]:
    """How similar its maps and outputs stayed."""
    return [
        fact.labelled(_label_of_both(result))
        for name, _, result in _named(view, "compare")
        if name.split("@")[0] == "cosine"
        for fact in schema_facts("compare", name, result, head)
    ]


def _label_of_both(result: xr.Dataset) -> str:
    first, second = (short_name(str(result.attrs.get(key, ""))) for key in ("model", "other_model"))
    return f"{first} to {second}"
