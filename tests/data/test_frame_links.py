"""The filter of Kovaleva et al.: what each step removes, and that every link counts once."""

from __future__ import annotations

import pytest

from headcount.data.frame_links import FrameSentence, filter_links, spell_steps
from headcount.data.frames import AnnotationSet, Element
from headcount.errors import DataProblem

LONG = "a b c d e f g h i j k l m"


def annotated(text: str, target: str | tuple[str, ...], **elements: str) -> AnnotationSet:
    """A name in lower case is no core element."""

    def span(words: str) -> tuple[int, int]:
        return text.index(words), text.index(words) + len(words)

    targets = (target,) if isinstance(target, str) else target
    found = tuple(Element(name, span(words), name[0].isupper()) for name, words in elements.items())
    return AnnotationSet(text, tuple(map(span, targets)), found)


KEPT = annotated("she never once saw it", "saw", Seer="she")
DATA = [
    KEPT,
    annotated("she never once saw it", ("saw", "it"), Seer="she"),
    annotated("he never once saw it", "saw"),
    annotated(LONG, "a", Seer="m"),
    annotated("he never once saw it", "saw", time="he"),
    annotated("he never once did so now see it", "see", Seer="he never once did"),
    annotated("he once saw it", "saw", Seer="he"),
]
STEPS = {
    "annotation sets": 7,
    "with one target and an element": 5,
    "with at most 12 words": 4,
    "with a core element of at most 3 words": 2,
    "with at least 2 words between it and the target": 1,
}


def test_the_count_after_each_step() -> None:
    [sentence] = filter_links(DATA)
    assert sentence.kept.steps == STEPS
    assert sentence.kept.sentences == 1
    assert sentence.words == ("she", "never", "once", "saw", "it")
    [link] = sentence.links
    assert (link.element, link.target, link.names) == ((0,), (3,), ("Seer",))


def test_nothing_left_says_which_step_removed_how_many() -> None:
    with pytest.raises(DataProblem, match="the filter leaves nothing: 6 annotation sets, 4 with one target") as caught:
        filter_links(DATA[1:])
    assert "1 with a core element of at most 3 words, 0 with at least 2 words between" in str(caught.value)


def test_elements_of_any_kind() -> None:
    assert [sentence.words[0] for sentence in filter_links(DATA, "any")] == ["she", "he"]


def test_strict_wants_all_of_every_element() -> None:
    both = annotated("she never once saw it", "saw", Seer="she", Seen="it")
    assert len(filter_links([both])) == 1
    with pytest.raises(DataProblem, match="leaves nothing: 1 annotation sets.* 1 with a core element"):
        filter_links([both], "strict")
    assert len(filter_links([both, KEPT], "strict")) == 1


def test_full_texts_do_not_say_what_is_core() -> None:
    unsure = AnnotationSet("she never once saw it", ((15, 18),), (Element("Seer", (0, 3), None),))
    with pytest.raises(DataProblem, match="do not say whether they are core.*elements=any"):
        filter_links([unsure])
    assert len(filter_links([unsure], "any")) == 1


def the_sentence(*annotations: AnnotationSet) -> FrameSentence:
    [sentence] = filter_links(annotations)
    return sentence


def test_each_link_counts_once() -> None:
    again = annotated("she  never once saw it ", "saw", Seer="she")
    other = annotated("she never once saw it", "saw", Perceiver="she")
    sentence = the_sentence(KEPT, again, other)
    assert [link.names for link in sentence.links] == [("Seer", "Perceiver")]
    assert sentence.text == "she never once saw it"


def test_whatever_is_annotated_is_linked() -> None:
    """Also by elements and targets that the filter removes: a null must not take them for unlinked."""
    near = annotated("she never once saw it", "once", time="never")
    discontinuous = annotated("she never once saw it", ("she", "it"), Seer="never once")
    assert the_sentence(KEPT, near, discontinuous).linked == {(0, 3), (1, 2), (0, 1), (0, 2), (1, 4), (2, 4)}


def test_words_that_a_span_covers_in_part() -> None:
    sentence = the_sentence(annotated("(she never once) fore-saw it", "saw", Seer="she"))
    assert (sentence.links[0].element, sentence.links[0].target) == ((0,), (3,))


def test_spelled_in_one_line() -> None:
    assert spell_steps({"annotation sets": 1200, "left": 3}) == "1,200 annotation sets, 3 left"
