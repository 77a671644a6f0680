"""Execute the tutorials, each in a fresh kernel and an empty folder, and store what their cells give.

    python -m recipes.tutorials.execute            # all notebooks of docs/tutorials
    python -m recipes.tutorials.execute 01 04      # some of them

Write the text and the code of a tutorial in Jupyter or any editor, then run this: outputs are never edited by hand.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
TIMEOUT = 600
"""Seconds that a cell may take on a slow machine."""
KERNEL = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm's, where there are no widgets; no bar is drawn here
}
"""Variables of the kernel's environment."""
COLOURS = 128
"""Of a stored picture, which is then less than half as large and looks the same."""


def tutorials() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(path: Path) -> Any:
    """The notebook with new outputs; a cell that fails is an error."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": folder}})
        return tidied(client.execute(env=os.environ | KERNEL))


def tidied(notebook: Any) -> Any:
    """Without what differs from run to run or machine to machine, and with the digest of the code that has run."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "executed": digest(notebook),
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = packed(output["data"]["image/png"])
    return notebook


def packed(picture: str) -> str:
    """A picture in base64 with fewer colours."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode("ascii")


def digest(notebook: Any) -> str:
    """Of the code of all cells: whether the stored outputs are those of the code beside them."""
    code = "\0".join(cell.source for cell in code_cells(notebook))
    return hashlib.sha256(code.encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of file names, such as 01; all by default")
    names = tuple(parser.parse_args().names)
    chosen = [path for path in tutorials() if path.name.startswith(names or "")]
    if not chosen:
        parser.error(f"got {', '.join(names)}; expected some of {', '.join(path.stem for path in tutorials())}")
    for path in chosen:
        start = time.perf_counter()
        nbformat.write(execute(path), path)
        print(f"{path.name}: {time.perf_counter() - start:.0f} s, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
