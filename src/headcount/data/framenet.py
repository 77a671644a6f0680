"""The example sentences of a user's copy of FrameNet, 1.5 or 1.7, through nltk's reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from headcount.errors import DataProblem, MissingPackage, short

PREFIX = "nltk:"
INDEX = "frameIndex.xml"
"""What a folder with FrameNet has."""
FILES = (INDEX, "frRelation.xml", "fulltextIndex.xml", "luIndex.xml", "semTypes.xml")
LAYERS = ("FE", "FE2", "FE3")


def read_framenet(data: str) -> Iterator[dict[str, Any]]:
    """The annotation sets of all lexical units, each with `name`, `text`, `target` and `fes` as in a table.

    `data`: a folder with `frameIndex.xml`, or `nltk:framenet_v17` for one that nltk has downloaded.
    """
    reader = _open(data)
    try:
        for unit in reader.lus():
            core = {name: element.coreType for name, element in unit.frame.FE.items()}
            for sentence in unit.exemplars:
                for annotation in sentence.annotationSet:
                    if annotation["_type"] != "luannotationset" or not annotation.get("Target"):
                        continue
                    spans = [span for layer in LAYERS for span in annotation.get(layer, ([], {}))[0]]
                    yield {
                        "name": f"annotation set {annotation.ID} of {unit.name}",
                        "text": sentence.text,
                        "target": annotation.Target,
                        "fes": [
                            {"name": name, "start": start, "end": end, "core": core.get(name)}
                            for start, end, name in spans
                        ],
                    }
    # nltk asserts what it expects of the files, and passes on what it stumbles over.
    except (OSError, AssertionError, AttributeError, KeyError, TypeError, ValueError, ParseError, _errors()) as error:
        raise DataProblem(
            f"nltk cannot read {data} as FrameNet: {short(str(error) or type(error).__name__)}; expected release 1.5 or"
            " 1.7 as nltk.download('framenet_v17') gives it"
        ) from error


def _open(data: str) -> Any:
    try:
        import nltk
        from nltk.corpus.reader.framenet import FramenetCorpusReader
    except ImportError as error:
        raise MissingPackage(f"reading {data} needs nltk: pip install 'headcount[probe]'") from error
    root: Any = data
    if data.startswith(PREFIX):
        name = data.removeprefix(PREFIX)
        try:
            root = nltk.data.find(f"corpora/{name}")
        except (LookupError, ValueError) as error:
            raise DataProblem(
                f"nltk has no corpus {name!r}; download it with python -m nltk.downloader framenet_v17, or give the"
                " folder of a copy"
            ) from error
    else:
        missing = [file for file in FILES if not (Path(data) / file).is_file()]
        if missing:
            raise DataProblem(f"the folder {data} has no {', '.join(missing)}; expected a whole release of FrameNet")
    return FramenetCorpusReader(root, list(FILES))


def _errors() -> type[Exception]:
    from nltk.corpus.reader.framenet import FramenetError

    error: type[Exception] = FramenetError
    return error
