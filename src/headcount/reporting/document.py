"""One file that shows everything: data, script and style in a page that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import headcount
from headcount.core.agreement import lost
from headcount.core.options import no_repeats
from headcount.core.read_study import StudyLike, study_path
from headcount.core.statistics import rank_correlation
from headcount.core.study_errors import raised_by_reader
from headcount.errors import CannotWrite, InvalidOption, OutputTaken, StudyProblem, cannot_write
from headcount.reporting.examples import find_flips
from headcount.reporting.findings import find_sentences
from headcount.reporting.gaps import find_gaps
from headcount.reporting.maps import ROOM, find_maps
from headcount.reporting.metrics import effect_of, find_metrics
from headcount.reporting.patterns import find_typical, read_patterns
from headcount.reporting.series import (
    find_costs,
    find_curves,
    find_dynamics,
    find_embedding,
    find_layers,
    find_offsets,
    find_relations,
)
from headcount.reporting.view import View, number, read_view
from headcount.story.names import short_name


def report(studies: StudyLike | Sequence[StudyLike], output: str | Path = "report.html") -> Path:
    """Turn one study or several into one page; an earlier page of that name is replaced when the new one is whole.

    A study is a folder, or what `open_study` gives.
    """
    place = Path(output)
    check_output(place)
    paths = [study_path(study) for study in ([studies] if isinstance(studies, StudyLike) else studies)]
    if not paths:
        raise InvalidOption("got no study; expected one folder or more that a headcount verb has written")
    no_repeats("the studies", paths)
    views = [(read_view(path), str(path)) for path in paths]
    try:
        page = make_page(views)
    except KeyError as error:
        if not raised_by_reader(error):
            raise  # a defect of the program, not of the study
        folders = ", ".join(map(str, paths))
        raise StudyProblem(f"{folders} is damaged: a result lacks {error}; restore it, or compute it again") from error
    replace_file(place, page.encode("utf-8", "replace"))
    return place


def check_output(place: Path, example: str = "report.html") -> None:
    """An error if the file cannot be written, before any work is done."""
    try:
        if place.is_dir():
            raise OutputTaken(f"{place} is a folder; expected the name of a file, such as {place.parent / example}")
        parent = place.resolve().parent
        if not parent.is_dir():
            raise CannotWrite(f"there is no folder {place.parent} to write {place.name} into; make it first")
    except OSError as error:  # a name that is too long, say
        raise CannotWrite(cannot_write(place, error)) from error
    if not os.access(parent, os.W_OK):
        raise CannotWrite(f"cannot write into {place.parent}; give a place where you may")


def replace_file(place: Path, content: bytes) -> None:
    """All or nothing: written beside the file and moved into place; what fails leaves nothing behind."""
    beside: Path | None = None
    try:
        place = place.resolve()  # a link stays a link
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}-", delete=False) as file:
            beside = Path(file.name)
            file.write(content)
        os.chmod(beside, 0o644)
        os.replace(beside, place)
    except OSError as error:
        raise CannotWrite(cannot_write(place, error)) from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def make_page(studies: Sequence[tuple[View, str]]) -> str:
    """The page of some opened studies, each with the path that its commands name."""
    room = ROOM // max(1, len(studies))
    told: list[dict[str, Any]] = []
    blobs: dict[str, str] = {}
    for index, (view, path) in enumerate(studies):
        one, packed = describe(view, path, room)
        told.append(_renamed(one, index))
        blobs |= {f"s{index}-{mark}": text for mark, text in packed.items()}
    data = {"version": headcount.__version__, "studies": told, "agreement": rank_agreement(told)}
    return _html(data, blobs)


def describe(view: View, path: str, room: int = ROOM) -> tuple[dict[str, Any], dict[str, str]]:
    """Everything the page shows of one study, as plain data, and its packed maps."""
    maps, blobs = find_maps(view, room)
    typical, pictures = find_typical(view)
    layout = view.layout
    models = [str(found.attrs["model"]) for found in view.results.values() if "model" in found.attrs]
    # The model that was scored; of checkpoints the last one.
    swept = [
        str(found.attrs["model"]) for found in view.of("sweep").values() if found.attrs.get("by") in ("head", "layer")
    ]
    model = next(iter(swept), models[-1] if models else "")
    return {
        "name": view.name,
        "model": short_name(model) if model else "",
        "task": next((str(found.attrs["task"]) for found in view.results.values() if "task" in found.attrs), ""),
        "stacks": [
            {"stack": stack, "layers": [list(heads) for heads in layers], "width": layout.width(stack)}
            for stack, layers in layout.stacks.items()
            if layers
        ],
        "heads": [[head.stack, head.layer, head.head, layout.spell(head)] for head in layout],
        "sentences": find_sentences(view),
        "metrics": find_metrics(view),
        "flips": find_flips(view),
        "layers": find_layers(view),
        "curves": find_curves(view),
        "dynamics": find_dynamics(view),
        "embedding": find_embedding(view),
        "costs": find_costs(view),
        "offsets": find_offsets(view),
        "relations": find_relations(view),
        "maps": maps,
        "patterns": read_patterns(view),
        "typical": typical,
        "gaps": find_gaps(view, path),
        "unfinished": list(view.unfinished),
        "made": _made(view),
    }, blobs | pictures


def _made(view: View) -> list[list[str]]:
    """Where each result comes from: name, model, data or task, machine, versions."""
    rows = []
    for name, found in view.results.items():
        said = found.attrs
        made = said.get("versions") or {}
        rows.append(
            [
                name,
                short_name(str(said.get("model", ""))) if said.get("model") else "",
                str(said.get("task", "")),
                str(said.get("device", "")),
                ", ".join(f"{key} {value}" for key, value in dict(made).items()),
            ]
        )
    return rows


def _renamed(one: dict[str, Any], index: int) -> dict[str, Any]:
    for maps in (*one["maps"], *([one["typical"]] if one["typical"] else [])):
        for stack in maps["stacks"]:
            stack["layers"] = [f"s{index}-{mark}" for mark in stack["layers"]]
    return one


def rank_agreement(studies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far two studies agree on which heads matter: Spearman's correlation of the effects, with its interval."""
    effects = [effect_of(study["metrics"]) for study in studies]
    found = []
    for index, one in enumerate(effects):
        for later, other in enumerate(effects[index + 1 :], start=index + 1):
            if one is None or other is None or studies[index]["heads"] != studies[later]["heads"]:
                continue
            pairs = [
                (lost(a, one["higher"]), lost(b, other["higher"]))
                for a, b in zip(one["values"], other["values"], strict=True)
                if a is not None and b is not None
            ]
            if len(pairs) < 3:
                continue
            value, low, high = rank_correlation(*np.array(pairs, dtype=float).T)
            found.append(
                {"first": index, "second": later, "value": number(value), "low": number(low), "high": number(high)}
            )
    return found


def _html(data: dict[str, Any], blobs: dict[str, str]) -> str:
    page = files("headcount.reporting") / "page"
    script = (page / "built" / "page.js").read_text(encoding="utf-8")
    style = (page / "page.css").read_text(encoding="utf-8")
    # Nothing may be loaded, and no script may run but this one; pictures are made in the page, for downloads.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = " · ".join(dict.fromkeys(one["model"] or one["name"] for one in data["studies"]))
    # In a JSON block only "<" could end the block.
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    packed = "\n".join(f'<script type="text/plain" id="{mark}">{text}</script>' for mark, text in blobs.items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · Headcount</title>
<style>{style}</style>
</head>
<body>
<noscript><p>This page draws its figures with a script of its own: please allow it.</p></noscript>
<main id="page"></main>
<script type="application/json" id="data">{content}</script>
<script>{script}</script>
{packed}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
