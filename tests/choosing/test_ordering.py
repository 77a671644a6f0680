"""Does every way of ordering heads name each of them once, the needed ones last?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.choosing.ordering import ORDERS, Source, find_orders
from headcount.data.tasks import GLUE
from tests import planted
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    model = parts.classifier(parts.GRADED)
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))
    shared = {"task": GLUE["sst2"], "seed": 0, "max_length": None, "out": None}
    layout = hc.read_anatomy(model).layout
    return Source(model, tokenizer, parts.texts(24), layout, None, shared, None, lambda *_: None)


def spelled(source: Source, order: Any) -> list[str]:
    return [source.layout.spell(head) for head in order]


@pytest.mark.parametrize("name", ORDERS)
def test_every_head_once(source: Source, name: str) -> None:
    found, _ = find_orders(source, [name], randoms=2, anew=0, normed=True)
    assert len(found) == (2 if name == "random" else 1)
    for order in found.values():
        assert sorted(order) == sorted(source.layout)


def test_the_planted_order(source: Source) -> None:
    """Importance sees how much each head carries; the strongest goes last, computed once or anew."""
    for anew in (0, 4):
        found, estimates = find_orders(source, ["importance"], randoms=0, anew=anew, normed=False)
        assert spelled(source, found["importance"])[-1] == "L0H1"
        assert estimates is not None
    once, _ = find_orders(source, ["importance"], randoms=0, anew=0, normed=False)
    assert spelled(source, once["importance"]) == parts.GRADED_ORDER


def test_a_file(source: Source, tmp_path: Path) -> None:
    (tmp_path / "order").write_text("\n".join(reversed(parts.GRADED_ORDER)), encoding="utf-8")
    found, estimates = find_orders(source, [f"file:{tmp_path / 'order'}"], randoms=0, anew=0, normed=True)
    assert [spelled(source, order) for order in found.values()] == [parts.GRADED_ORDER[::-1]]
    assert estimates is None
