"""Notebooks as pages: their text, code and stored outputs, without running them."""

from __future__ import annotations

from pathlib import Path


def page(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and the pictures of its outputs by their file names."""
    import nbformat
    from nbconvert import MarkdownExporter

    node = nbformat.read(notebook, as_version=4)
    node.metadata.setdefault("language_info", {"name": "python"})  # of the fences around its code
    resources = {"unique_key": notebook.stem, "output_files_dir": f"{notebook.stem}_files"}
    text, resources = MarkdownExporter().from_notebook_node(node, resources=resources)
    return text, dict(resources.get("outputs", {}))
