"""Do heads go from the grid in the order of the study's own curve?"""

from __future__ import annotations

import pytest

from headcount.reporting.removal import find_removals
from headcount.reporting.view import View, find_layout, read_view
from tests.reporting import studies


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    return read_view(studies.classifier_study(tmp_path_factory.mktemp("removal") / "study"))


def test_the_order_in_which_heads_go(view: View) -> None:
    (told,) = find_removals(view)
    curve = view.results[f"pruning/{told['curve']}"]
    assert told["curve"].endswith("-confirming")
    names = [view.layout.spell(head) for head in view.layout]
    assert [names[head] for head in told["orders"][0]] == [str(one) for one in curve["sequence"].values[0]]
    for order, heads in zip(map(str, curve["order"].values), told["orders"], strict=True):
        assert bool(heads) != order.startswith("random ")
    assert told["safe"] in (True, False)
    assert told["chosen"] is None or told["chosen"] in curve["removed"].values


def test_heads_that_are_gone_are_no_error(view: View) -> None:
    less = {name: result for name, result in view.results.items() if name.startswith("pruning/curve")}
    empty = View("less", less, (), find_layout(less))
    assert all(order == [] for told in find_removals(empty) for order in told["orders"])
