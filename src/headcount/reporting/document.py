"""The page: data, script and style in one HTML file that works offline."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from itertools import combinations
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
from headcount.reporting.budgets import find_budgets
from headcount.reporting.colourings import effect_of, find_colourings
from headcount.reporting.cues import find_cue_tables
from headcount.reporting.examples import find_flips
from headcount.reporting.findings import find_sentences
from headcount.reporting.gaps import find_gaps
from headcount.reporting.identity import (
    find_identity,
    find_key_numbers,
    find_shared_keys,
    model_before,
    scored_model,
)
from headcount.reporting.maps import ROOM, find_maps
from headcount.reporting.packed_numbers import split_numbers
from headcount.reporting.pairs import find_pairs
from headcount.reporting.patterns import find_typical, read_patterns
from headcount.reporting.positions import find_positions
from headcount.reporting.probes import find_probes
from headcount.reporting.removal import find_removals
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
from headcount.reporting.without_script import plain_page
from headcount.story.names import short_name
from headcount.story.roles import find_examples


def report(studies: StudyLike | Sequence[StudyLike], output: str | Path = "report.html") -> Path:
    """Write one page for one or several studies, and return its path.

    A study is a folder, or what `open_study` returns. An existing page is replaced only when the new one is complete.
    """
    file = Path(output)
    check_output(file)
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
    replace_file(file, page.encode("utf-8", "replace"))
    return file


def check_output(file: Path, example: str = "report.html") -> None:
    """Raise if the file cannot be written, before any work is done."""
    try:
        if file.is_dir():
            raise OutputTaken(f"{file} is a folder; expected the name of a file, such as {file.parent / example}")
        parent = file.resolve().parent
        if not parent.is_dir():
            raise CannotWrite(f"there is no folder {file.parent} to write {file.name} into; create it first")
    except OSError as error:  # such as a name that is too long
        raise CannotWrite(cannot_write(file, error)) from error
    if not os.access(parent, os.W_OK):
        raise CannotWrite(f"cannot write into {file.parent}; choose a folder that you may write to")


def replace_file(file: Path, content: bytes) -> None:
    """Write a file all at once: into a temporary file beside it, which then replaces it."""
    temporary: Path | None = None
    try:
        file = file.resolve()  # a link stays a link
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}-", delete=False) as opened:
            temporary = Path(opened.name)
            opened.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except OSError as error:
        raise CannotWrite(cannot_write(file, error)) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def make_page(studies: Sequence[tuple[View, str]]) -> str:
    """The HTML of some studies, each with the path that the page's commands name."""
    room = ROOM // max(1, len(studies))
    described: list[dict[str, Any]] = []
    blobs: dict[str, str] = {}
    for index, (view, path) in enumerate(studies):
        study, packed = describe(view, path, room)
        for maps in (*study["maps"], *([study["typical"]] if study["typical"] else [])):
            for stack in (part for each in maps["stacks"] for part in (each, each.get("blocks")) if part):
                stack["layers"] = [f"s{index}-{id_}" for id_ in stack["layers"]]
        described.append(study)
        blobs |= {f"s{index}-{id_}": text for id_, text in packed.items()}
    agreement, plain = rank_agreement(described), plain_page(described)
    numbers: dict[str, str] = {}
    for index, study in enumerate(described):
        study["colourings"], packed_numbers = split_numbers(study["colourings"])
        if packed_numbers:
            study["packed"] = f"s{index}-numbers"
            numbers[study["packed"]] = packed_numbers
    data = {"version": headcount.__version__, "studies": described, "agreement": agreement}
    return _html(data, plain, numbers, blobs)


def describe(view: View, path: str, room: int = ROOM) -> tuple[dict[str, Any], dict[str, str]]:
    """Everything the page shows of one study as plain data, and its packed maps by id."""
    maps, blobs = find_maps(view, room)
    typical, pictures = find_typical(view)
    layout = view.layout
    return {
        "name": view.name,
        "model": scored_model(view),
        "task": view.task,
        "identity": find_identity(view),
        "keyNumbers": find_key_numbers(view),
        "before": model_before(view),
        "sharedKeys": find_shared_keys(view),
        "stacks": [
            {"stack": stack, "layers": [list(heads) for heads in layers], "width": layout.width(stack)}
            for stack, layers in layout.stacks.items()
            if layers
        ],
        "heads": [[head.stack, head.layer, head.head, layout.spell(head)] for head in layout],
        "findings": find_sentences(view),
        "best": find_examples(view.named("measures"), view.by_head),
        "colourings": find_colourings(view),
        "pairs": find_pairs(view),
        "positions": find_positions(view),
        "flips": find_flips(view),
        "layers": find_layers(view),
        "budgets": find_budgets(view),
        "curves": find_curves(view),
        "removals": find_removals(view),
        "dynamics": find_dynamics(view),
        "embedding": find_embedding(view),
        "costs": find_costs(view),
        "offsets": find_offsets(view),
        "relations": find_relations(view),
        "probes": find_probes(view),
        "cues": find_cue_tables(view),
        "maps": maps,
        "patterns": read_patterns(view),
        "typical": typical,
        "gaps": find_gaps(view, path),
        "unfinished": list(view.unfinished),
        "provenance": _provenance(view),
    }, blobs | pictures


def _provenance(view: View) -> list[list[str]]:
    """Rows: a result, its model, task, device and versions."""
    rows = []
    for name, result in view.results.items():
        attributes = result.attrs
        model, versions = attributes.get("model"), dict(attributes.get("versions") or {})
        rows.append(
            [
                name,
                short_name(str(model)) if model else "",
                str(attributes.get("task", "")),
                str(attributes.get("device", "")),
                ", ".join(f"{package} {version}" for package, version in versions.items()),
            ]
        )
    return rows


def rank_agreement(studies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far two studies agree on which heads matter: Spearman's correlation of the effects, with its interval."""
    effects = [(index, effect_of(study["colourings"])) for index, study in enumerate(studies)]
    rows = []
    for (index, effect), (later, other) in combinations(effects, 2):
        if effect is None or other is None or studies[index]["heads"] != studies[later]["heads"]:
            continue
        pairs = [
            (lost(a, effect["higher"]), lost(b, other["higher"]))
            for a, b in zip(effect["values"], other["values"], strict=True)
            if a is not None and b is not None
        ]
        if len(pairs) >= 3:
            value, low, high = rank_correlation(*np.array(pairs, dtype=float).T)
            rows.append(
                {"first": index, "second": later, "value": number(value), "low": number(low), "high": number(high)}
            )
    return rows


def _html(data: dict[str, Any], plain: str, numbers: dict[str, str], blobs: dict[str, str]) -> str:
    page = files("headcount.reporting") / "page"
    script = (page / "built" / "page.js").read_text(encoding="utf-8")
    style = (page / "page.css").read_text(encoding="utf-8")
    # Nothing may be loaded and no other script may run; the page makes images for downloads.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = " · ".join(dict.fromkeys(study["model"] or study["name"] for study in data["studies"]))
    # Only "<" could end a JSON block.
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    # What the script reads first stands before it, the maps at the end of the file.
    first, packed = (
        "\n".join(f'<script type="text/plain" id="{id_}">{text}</script>' for id_, text in some.items())
        for some in (numbers, blobs)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · Headcount</title>
<meta property="og:title" content="{html.escape(title)} · Headcount">
<meta property="og:type" content="article">
<meta name="description" property="og:description" content="{html.escape(_summary(data["studies"]))}">
<style>{style}</style>
</head>
<body>
<noscript>{plain}</noscript>
<div id="page"></div>
<script type="application/json" id="data">{content}</script>
{first}
<script>{script}</script>
{packed}
</body>
</html>
"""


def _summary(studies: Sequence[dict[str, Any]]) -> str:
    """What is said below a link to the page: the key numbers of the first study."""
    numbers = [one for study in studies[:1] for one in study["keyNumbers"] if "value" in one]
    said = [f"{one['title']}: {one['value']} {one.get('spread', '')}".strip() for one in numbers]
    return "; ".join(said) or "What the attention heads of a model do."


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
