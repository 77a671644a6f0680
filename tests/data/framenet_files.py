"""A FrameNet of one frame and one lexical unit, with made-up sentences, in the files that nltk reads."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
HOME = 'xmlns="http://framenet.icsi.berkeley.edu"'
Label = tuple[str, str]
"""A name and its words in the text; no words for an element that is not realised."""
SENTENCES: list[tuple[str, list[Label], list[Label]]] = [
    ("She never once saw the quiet owl .", [("Target", "saw")], [("Seer", "She"), ("Seen", "the quiet owl")]),
    ("Nobody saw .", [("Target", "saw")], [("Seer", "Nobody"), ("Seen", "")]),
]


def write_framenet(folder: Path) -> Path:
    """The folder, as a release is unpacked."""
    for name in ("frame", "lu", "fulltext"):
        (folder / name).mkdir(parents=True)
    unit = '<lexUnit status="Finished_Initial" POS="V" name="see.v" ID="7" lemmaID="70" cBy="x" cDate="x">'
    elements = "".join(
        f'<FE bgColor="a" fgColor="b" coreType="{core}" cDate="x" cBy="x" abbrev="{name}" name="{name}" ID="{number}">'
        "<definition>made up</definition></FE>"
        for number, (name, core) in enumerate([("Seer", "Core"), ("Seen", "Core"), ("Time", "Peripheral")], start=1)
    )
    files = {
        "frameIndex.xml": f'<frameIndex {HOME}><frame mDate="x" name="Seeing" ID="5"/></frameIndex>',
        "luIndex.xml": (
            f'<luIndex {HOME}><lu status="Finished_Initial" hasAnnotation="true" frameName="Seeing" frameID="5"'
            ' name="see.v" ID="7"/></luIndex>'
        ),
        "fulltextIndex.xml": f'<fulltextIndex {HOME}><corpus name="c" ID="1"/></fulltextIndex>',
        "frRelation.xml": (
            f'<frameRelations {HOME}><frameRelationType subFrameName="Child" superFrameName="Parent"'
            ' name="Inheritance" ID="1"></frameRelationType></frameRelations>'
        ),
        "semTypes.xml": (
            f'<semTypes {HOME}><semType abbrev="sent" name="Sentient" ID="2"><definition>d</definition></semType>'
            "</semTypes>"
        ),
        "frame/Seeing.xml": (
            f'<frame cBy="x" cDate="x" name="Seeing" ID="5" {HOME}><definition>made up</definition>{elements}{unit}'
            '<definition>d</definition><sentenceCount annotated="2" total="2"/>'
            '<lexeme order="1" headword="false" breakBefore="false" POS="V" name="see"/></lexUnit></frame>'
        ),
        "lu/lu7.xml": (
            f'<lexUnit status="Finished_Initial" POS="V" name="see.v" ID="7" frame="Seeing" frameID="5"'
            f' totalAnnotated="2" {HOME}><header/><definition>d</definition><subCorpus name="all">'
            f"{''.join(_sentence(number, *row) for number, row in enumerate(SENTENCES))}</subCorpus></lexUnit>"
        ),
    }
    for name, content in files.items():
        (folder / name).write_text(XML + content, encoding="utf-8")
    return folder


def _sentence(number: int, text: str, target: list[Label], elements: list[Label]) -> str:
    return (
        f'<sentence sentNo="{number}" ID="{100 + number}"><text>{text}</text>'
        f'<annotationSet cDate="x" status="UNANN" ID="{200 + number}">{_layer("PENN", text, [])}</annotationSet>'
        f'<annotationSet cDate="x" status="MANUAL" ID="{300 + number}">{_layer("FE", text, elements)}'
        f"{_layer('Target', text, target)}</annotationSet></sentence>"
    )


def _layer(name: str, text: str, labels: list[Label]) -> str:
    spelled = []
    for label, words in labels:
        start = text.index(words)
        # FrameNet's ends are those of the last character.
        span = f'start="{start}" end="{start + len(words) - 1}"' if words else 'itype="DNI"'
        spelled.append(f"<label {span} name={quoteattr(label)}/>")
    return f'<layer rank="1" name="{name}">{"".join(spelled)}</layer>'
