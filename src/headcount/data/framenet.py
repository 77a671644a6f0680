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
    nltk = _nltk(data)
    root = _find(nltk, data)
    # nltk reads only below the folders that it was told of: the user has named this one.
    known = list(nltk.data.path)
    nltk.data.path.append(str(root))
    try:
        reader = nltk.corpus.reader.framenet.FramenetCorpusReader(root, list(FILES))
        for unit in reader.lus():
            yield from _annotation_sets(unit)
    # nltk asserts what it expects of the files, and passes on what it stumbles over.
    except (OSError, AssertionError, LookupError, AttributeError, TypeError, ValueError, ParseError) as error:
        raise _unreadable(data, error) from error
    except nltk.corpus.reader.framenet.FramenetError as error:
        raise _unreadable(data, error) from error
    finally:
        nltk.data.path[:] = known


def _annotation_sets(unit: Any) -> Iterator[dict[str, Any]]:
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
                    {"name": name, "start": start, "end": end, "core": core.get(name)} for start, end, name in spans
                ],
            }


def _nltk(data: str) -> Any:
    try:
        import nltk
        import nltk.corpus.reader.framenet
    except ImportError as error:
        raise MissingPackage(f"reading {data} needs nltk: pip install 'headcount[probe]'") from error
    return nltk


def _find(nltk: Any, data: str) -> Any:
    """Where the files are: a folder, or one that nltk knows."""
    if data.startswith(PREFIX):
        name = data.removeprefix(PREFIX)
        try:
            return nltk.data.find(f"corpora/{name}")
        except (LookupError, ValueError) as error:
            raise DataProblem(
                f"nltk has no corpus {name!r}; download it with python -m nltk.downloader framenet_v17, or give the"
                " folder of a copy"
            ) from error
    missing = [file for file in FILES if not (Path(data) / file).is_file()]
    if missing:
        raise DataProblem(f"the folder {data} has no {', '.join(missing)}; expected a whole release of FrameNet")
    return str(Path(data).resolve())


def _unreadable(data: str, error: Exception) -> DataProblem:
    return DataProblem(
        f"nltk cannot read {data} as FrameNet: {short(str(error) or type(error).__name__)}; expected release 1.5 or 1.7"
        " as nltk.download('framenet_v17') gives it"
    )
