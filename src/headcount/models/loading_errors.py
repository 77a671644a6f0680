"""Why a model could not be loaded: the errors of transformers and torch as one line that says what to do."""

from __future__ import annotations

import pickle
from pathlib import Path

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open

LOADING = (
    OSError,
    ValueError,
    LookupError,
    RuntimeError,
    ImportError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    SafetensorError,
    pickle.UnpicklingError,
    StrictDataclassError,
)
"""What transformers and torch raise for a folder that is incomplete or damaged."""
POINTER = b"version https://git-lfs"


def reason_of(name: str, error: Exception) -> str:
    """One line for an error that came up while the folder or hub name was loaded."""
    folder = Path(name)
    if "trust_remote_code" in str(error) or "custom code" in str(error):
        return "it needs code of its own, which is never run unasked; read that code, then give trust_remote_code=True"
    if not folder.is_dir():
        if isinstance(error, OSError):
            return (
                "there is no such folder here, and the Hugging Face hub did not give it "
                "(no connection, offline mode, or no such name); check the name or give a folder"
            )
        return first_line(error)
    unreadable = isinstance(error, SafetensorError | OSError | RuntimeError | EOFError | pickle.UnpicklingError)
    damaged = _damaged(folder) if unreadable else None
    if damaged is not None:
        return damaged
    if isinstance(error, pickle.UnpicklingError | EOFError) or "PytorchStreamReader" in str(error):
        file = next((path.name for path in sorted(folder.glob("*.bin"))), "its .bin file")
        return (
            f"{file} cannot be read as plain tensors: it is damaged, or a pickle with more in it, which is never run; "
            "convert it to safetensors (load it where you trust it, then save_pretrained)"
        )
    if isinstance(error, StrictDataclassError | ArithmeticError | TypeError | AssertionError) or "heads" in str(error):
        return f"its config.json describes no model that can be built ({last_line(error)}); correct it"
    return first_line(error)


def _damaged(folder: Path) -> str | None:
    """What is wrong with the first weights of the folder that cannot be read; only the start of a file is read."""
    for path in sorted((*folder.glob("*.safetensors"), *folder.glob("*.bin"))):
        with path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
                return f"{path.name} is a pointer of Git LFS, not the weights; fetch them with git lfs pull"
        if path.suffix == ".bin":
            continue
        try:
            with safe_open(path, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            return f"{path.name} is damaged or not whole ({first_line(error)}); download it or save it again"
    return None


def first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def last_line(error: Exception) -> str:
    """The last line of a message whose first line says only that something is wrong, without an exception's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("TypeError: ").removeprefix("ValueError: ") if lines else type(error).__name__
