"""Any result as a view: a study, a part of one, or what a verb has returned in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import xarray as xr

from headcount.core.budget_schemas import HALVES
from headcount.core.read_study import StudyLike, study_path
from headcount.core.results import name_of
from headcount.errors import InvalidOption, StudyProblem
from headcount.reporting.view import View, find_layout, read_view

CURVES = ("selection", "held_out")
"""The curves of what `choose` returns, of each half of the examples."""


def view_of(shown: Any) -> View:
    """The view of a study, of a result that a verb has returned, or of several of these in a list."""
    if isinstance(shown, (str, bytes)) or (isinstance(shown, StudyLike) and not isinstance(shown, xr.DataTree)):
        return read_view(str(shown))
    if isinstance(shown, xr.DataTree) and "source" in shown.root.encoding:
        return _part(read_view(study_path(shown)), shown.path.strip("/"))
    results = dict(_results(shown))
    whole = {name: result for name, result in results.items() if result.attrs.get("complete", True)}
    if not whole:
        raise StudyProblem(f"{', '.join(results) or 'this'} is not complete yet; run the other parts first")
    return View("result", whole, tuple(set(results) - set(whole)), find_layout(whole))


def _part(view: View, path: str) -> View:
    """What a study has at a path: all of it, one result, or those of one kind."""
    results = {name: result for name, result in view.results.items() if not path or f"{name}/".startswith(f"{path}/")}
    if path and not results:
        raise StudyProblem(f"{view.name} has no complete result {path}")
    return View(view.name, results, view.unfinished, find_layout(results) if path else view.layout, view.date)


def _results(shown: Any) -> Iterable[tuple[str, xr.Dataset]]:
    """By their names in a study, the results that an object consists of."""
    if isinstance(shown, xr.Dataset):
        name = name_of(shown)
        if name is not None:
            return [(name, shown)]
    elif isinstance(shown, xr.DataTree):
        found = [(node, name_of(node.to_dataset())) for node in shown.subtree if node.data_vars]
        if found and all(name for _, name in found):
            return [(str(name), node.to_dataset()) for node, name in found]
    elif isinstance(shown, (list, tuple)) and shown:
        return [result for one in shown for result in view_of(one).results.items()]
    else:
        curves = [getattr(shown, curve, None) for curve in CURVES]
        if all(isinstance(curve, xr.Dataset) for curve in curves):
            named = [result for curve in curves for result in _results(curve)]
            if len(dict(named)) < len(named):  # computed in memory, where nothing has to tell them apart
                named = [(f"{name}@choice-{half}", curve) for half, (name, curve) in zip(HALVES, named, strict=True)]
            return named
    raise InvalidOption(
        f"got {type(shown).__name__}, which is no result of Headcount; expected what a verb such as hc.sweep or "
        "hc.open_study returns, the folder of a study, or a list of these"
    )
