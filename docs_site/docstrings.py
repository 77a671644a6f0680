"""Docstrings for mkdocstrings: parameters as a list, and doctests as code (Markdown reads `>>>` as a quotation)."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

from docs_site.markdown import fenced, listed


class Docstrings(Extension):
    """Called by griffe for every object that mkdocstrings reads."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            names = {parameter.name for parameter in getattr(obj, "parameters", ())}
            obj.docstring.value = fenced(listed(obj.docstring.value, names))
