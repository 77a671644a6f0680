"""The rules on hand-made mentions."""

from __future__ import annotations

from headcount.data.coreference.documents import make_document
from headcount.probing.coreference.sieve import Described, describe, head_match, nearest, rules

TEXT = "Mrs. Bennet saw her daughters and Mr. Darcy . They liked Mr. Darcy , but he left . She smiled at the man"
WORDS = TEXT.split()
SPANS = {
    "Mrs. Bennet": (0, 2),
    "her daughters": (3, 5),
    "Mr. Darcy": (6, 8),
    "They": (9, 10),
    "Mr. Darcy again": (11, 13),
    "he": (15, 16),
    "She": (18, 19),
    "the man": (21, 23),
}
DOCUMENT = make_document("d", WORDS, [0, 9, 18], [[span] for span in SPANS.values()])
DESCRIBED = [describe(mention, WORDS, None) for mention in DOCUMENT.mentions]
NAMES = list(SPANS)


def taken(rule: object, name: str) -> str:
    assert callable(rule)
    number = NAMES.index(name)
    return NAMES[rule(DESCRIBED[number], DESCRIBED[:number])]


def test_the_nearest() -> None:
    assert taken(nearest, "he") == "Mr. Darcy again"
    assert taken(nearest, "She") == "he"


def test_the_same_head_word() -> None:
    assert taken(head_match, "Mr. Darcy again") == "Mr. Darcy"
    assert taken(head_match, "She") == "he", "the nearest, where no head word is the same"


def test_the_sieve() -> None:
    assert taken(rules, "They") == "her daughters", "plural"
    assert taken(rules, "Mr. Darcy again") == "Mr. Darcy", "the same words"
    assert taken(rules, "he") == "Mr. Darcy again"
    assert taken(rules, "She") == "Mrs. Bennet", "daughters are several, Mr. and he are male"
    assert taken(rules, "the man") == "he"


def test_the_same_words_come_before_the_same_head() -> None:
    def described(text: str) -> Described:
        return Described(text, text.split()[-1], DESCRIBED[0].agreement)

    earlier = [described("the old dog"), described("a dog")]
    assert rules(described("the old dog"), earlier) == 0
    assert head_match(described("the old dog"), earlier) == 1


def test_nothing_agrees() -> None:
    assert taken(rules, "her daughters") == "Mrs. Bennet"


def test_a_name_that_ends_in_s_may_be_one_person() -> None:
    words = ["old", "Adams", "saw", "the", "Adams"]
    document = make_document("d", words, [0], [[(0, 2)], [(3, 5)]])
    assert [mention.kind for mention in document.mentions] == ["proper", "proper"]
    assert [describe(mention, words, None).agreement.number for mention in document.mentions] == [None, None]
    common = make_document("d", ["dogs"], [0], [[(0, 1)]])
    assert describe(common.mentions[0], ["dogs"], None).agreement.number == "plural"


def test_parts_of_speech_tell_the_number() -> None:
    words = ["sheep", "they"]
    for tag, expected in (("NNS", "plural"), ("NN", "singular")):
        document = make_document("d", words, [0], [[(0, 1)]], [tag, "PRP"])
        assert describe(document.mentions[0], words, [tag, "PRP"]).agreement.number == expected
