"""A multiword token as one word: its head and relation, and what depends on it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.data.annotations import Annotated
from headcount.data.join_multiword import join_multiword
from headcount.data.multiword import Multiword


def test_a_contraction_depends_on_what_its_words_depend_on() -> None:
    """Elle vient du port: de and le depend on port."""
    sentence = Annotated(
        "1",
        ("Elle", "vient", "de", "le", "port"),
        ("PRON", "VERB", "ADP", "DET", "NOUN"),
        ("nsubj", "root", "case", "det", "obl"),
        (2, 0, 5, 5, 2),
        {},
        "Elle vient du port",
        (Multiword(3, 4, "du"),),
    )
    joined = join_multiword(sentence)
    assert joined.words == ("Elle", "vient", "du", "port")
    assert joined.heads == (2, 0, 4, 2)
    assert joined.deprels == ("nsubj", "root", "case", "obl")
    assert joined.upos == ("PRON", "VERB", "ADP", "NOUN")
    assert not joined.multiword


def test_a_word_inside_leads_to_the_one_that_leaves_it() -> None:
    """gelmedim = gel me di m, as if me depended on gel, and a pronoun on one of them."""
    sentence = Annotated(
        "1", ("Ben", "gel", "me", "."), ("X",) * 4, ("nsubj", "root", "neg", "punct"), (3, 0, 2, 3), {0: 2}
    )
    joined = join_multiword(Annotated(**{**vars(sentence), "multiword": (Multiword(2, 3, "gelme"),)}))
    assert joined.heads == (2, 0, 2)
    assert joined.deprels == ("nsubj", "root", "punct")
    assert joined.antecedents == {0: 1}


@given(st.data())
def test_a_tree_stays_a_tree_with_one_root(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    order = data.draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for at, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[data.draw(st.integers(0, at - 1))]
    first = data.draw(st.integers(1, size - 1))
    last = data.draw(st.integers(first + 1, size))
    words = tuple(f"w{n}" for n in range(size))
    sentence = Annotated(
        "1", words, ("X",) * size, ("dep",) * size, tuple(heads), {}, None, (Multiword(first, last, "m"),)
    )
    joined = join_multiword(sentence)
    assert len(joined.words) == size - (last - first)
    assert joined.heads.count(0) == 1
    for word in range(1, len(joined.words) + 1):
        path = [word]
        while joined.heads[path[-1] - 1]:
            path.append(joined.heads[path[-1] - 1])
            assert len(path) <= len(joined.words), "a circle"
