"""The bundled checkpoints and texts, and their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headcount.errors import InvalidOption, ModelUnavailable

DATA = Path(__file__).parent / "data"
MODELS = {
    "pretrained": "BERT, 12 layers x 12 heads x 192, trained on English text, with its language-model head",
    "qnli": "the same, fine-tuned: does this sentence answer the question?",
}
PREFIX = "bundled:"


def find_model(name: str) -> str:
    """The folder of a model named `bundled:qnli` or `bundled:pretrained`; any other name as it is."""
    return bundled(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else name


def spell_model(path: str) -> str:
    """A model's folder as a user writes it: `bundled:qnli` for a bundled one."""
    folder = Path(path)
    return f"{PREFIX}{folder.name}" if folder.parent == DATA else path


def find_data(data: Any) -> Any:
    """The file of data named `bundled:pairs` or `bundled:sentences`; anything else as it is."""
    if not isinstance(data, str) or not data.startswith(PREFIX):
        return data
    files = {"pairs": bundled_pairs(), "sentences": bundled_sentences()}
    name = data.removeprefix(PREFIX)
    if name not in files:
        raise InvalidOption(f"got the data {data!r}; expected bundled:pairs, bundled:sentences or a file")
    return str(files[name])


def bundled(name: str = "qnli") -> str:
    """The folder of a bundled checkpoint (`qnli` or `pretrained`), for `headcount.load`."""
    if name not in MODELS:
        raise InvalidOption(f"got the bundled model {name!r}; expected one of {', '.join(MODELS)}")
    folder = DATA / name
    if not (folder / "model.safetensors").is_file():
        raise ModelUnavailable(f"the bundled model {name!r} is not in this installation; install headcount again")
    return str(folder)


def bundled_pairs() -> Path:
    """Question-sentence pairs with labels, written for this project: see `TEXTS.md` beside them."""
    return DATA / "pairs.jsonl"


def bundled_sentences() -> Path:
    """Sentences annotated in CoNLL-U, written for this project: see `TEXTS.md` beside them."""
    return DATA / "sentences.conllu"
