"""Which paths there are among some heads, and how they lie along the axes."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.ablation.path_choices import Paths, choose_paths
from headcount.core.heads import Layout
from headcount.errors import InvalidOption

LAYOUT = Layout.even({"encoder": (3, 2)})


def test_all_later_heads() -> None:
    choices = choose_paths(LAYOUT, Paths("L0H1, L1, L2H0", ("query", "all")))
    assert len(choices.sets) == (3 + 2) * 2  # two of L1, and from these to L2; the last head sends to none
    assert choices.coords() == {
        "sender": ["L0H1", "L1H0", "L1H1"],
        "receiver": ["L1H0", "L1H1", "L2H0"],
        "into": ["query", "all"],
    }
    assert choices.names()[1] == "L0H1 to all of L1H0"
    arranged = choices.arrange(list(range(10)))
    assert arranged.shape == (3, 3, 2)
    assert np.isnan(arranged[1, 0]).all()
    for number in range(10):
        assert arranged[choices.index(number)] == number
    assert [choices.layout.spell(key) for key in choices.replaced.keys] == choices.coords()["sender"]
    assert [str(choices.sets[number]) for number in choices.from_sender(choices.senders[1])] == ["L2H0", "L2H0"]


def test_stacks_are_not_crossed() -> None:
    both = Layout.even({"encoder": (2, 2), "decoder": (2, 2), "cross": (2, 2)})
    choices = choose_paths(both, Paths("encoder.L0H0, encoder.L1H0, decoder.L0H0, decoder.L1H1", ("key",)))
    assert choices.names() == [
        "encoder.L0H0 to key of encoder.L1H0",
        "decoder.L0H0 to key of decoder.L1H1",
    ]
    with pytest.raises(InvalidOption, match=r"cross.L0H0 in among=: cross attention reads two streams"):
        choose_paths(both, Paths("decoder.L0H0, cross.L0H0"))
    with pytest.raises(InvalidOption, match="different layers of one stack"):
        choose_paths(both, Paths("encoder.L0H0, decoder.L1H0"))


def test_what_cannot_be() -> None:
    for into, message in (((), "got no into="), (("query", "query"), "query twice"), (("output",), "into='output'")):
        with pytest.raises(InvalidOption, match=message):
            choose_paths(LAYOUT, Paths("L0, L1", into))
