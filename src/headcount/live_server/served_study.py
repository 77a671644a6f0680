"""What a study adds to a live model: its texts, and everything that its page shows."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

from transformers import PreTrainedModel

import headcount
from headcount.core.read_study import StudyLike, open_study, study_path
from headcount.errors import StudyProblem
from headcount.live_server.problems import without_paths
from headcount.models.fingerprint import model_fingerprint, model_name
from headcount.reporting.document import describe
from headcount.reporting.examples import TEXTS
from headcount.reporting.view import View, read_view
from headcount.trace.anatomy import read_anatomy

MOST_TEXTS = 64
"""Texts of a study that means are taken over."""


class ServedStudy:
    """A study beside the model that it is about."""

    def __init__(self, study: StudyLike, model: PreTrainedModel) -> None:
        self.path: Path = study_path(study)
        self.view: View = read_view(self.path)
        self.notes = self._check(model)

    def _check(self, model: PreTrainedModel) -> list[str]:
        """Notes on a study of the same model in another dtype; one of another model is refused."""
        own = open_study(self.path, damaged="skip").attrs.get("model") or {}
        if not own or own["fingerprint"] == model_fingerprint(model):
            return []
        dtype = str(model.dtype).removeprefix("torch.")
        layout = read_anatomy(model).layout
        theirs = f"{own.get('name') or own.get('class') or 'a model'} in {own.get('dtype')}"
        if own.get("dtype") != dtype and all(head in set(layout) for head in self.view.layout):
            return [f"the study is of {theirs}, the model here is in {dtype}"]
        raise StudyProblem(
            f"{self.path} is a study of {theirs} [{own['fingerprint'][:8]}], not of {model_name(model)}; give the "
            "study of this model"
        )

    def texts(self) -> list[tuple[str, ...]]:
        """The texts of the first sweep that has them."""
        for sweep in self.view.of("sweep").values():
            columns = [sweep[name].values[:MOST_TEXTS] for name in TEXTS if name in sweep and sweep[name].ndim == 1]
            if columns and "text" in sweep:
                return [tuple(map(str, row)) for row in zip(*columns, strict=True)]
        return []

    def task_and_data(self) -> dict[str, str] | None:
        """What a command would score the model on: as the first sweep did."""
        for sweep in self.view.of("sweep").values():
            data = str(sweep.attrs.get("data", ""))
            named = (
                "DATA" if data in ("", "data frame") else PurePath(data).name if PurePath(data).is_absolute() else data
            )
            return {"task": str(sweep.attrs.get("task", "TASK")), "data": named}
        return None

    def page_data(self) -> dict[str, Any]:
        """The data of the study's page, and its packed maps by id."""
        study, blobs = describe(self.view, "STUDY")
        return {
            "version": headcount.__version__,
            "studies": [_without_paths(study)],
            "blobs": blobs,
            "notes": [without_paths(note) for note in self.notes],
        }


def _without_paths(value: Any) -> Any:
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items()}
    return [_without_paths(item) for item in value] if isinstance(value, list | tuple) else value
