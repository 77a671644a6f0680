"""The kinds of tasks by name, and what each must say of itself."""

from __future__ import annotations

import pytest
import transformers

from headcount.data.kinds.catalogue import KINDS, find_kind
from headcount.data.kinds.kind import Kind
from headcount.errors import InvalidOption


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_is_complete(kind: Kind) -> None:
    assert KINDS[kind.name] is find_kind(kind.name) is kind
    assert hasattr(transformers, kind.auto_class)
    assert kind.metrics
    assert len({metric.name for metric in kind.metrics}) == len(kind.metrics)
    for needed in ("read_labels", "encode", "losses", "output_shapes", "reduce"):
        assert getattr(type(kind), needed) is not getattr(Kind, needed)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_metric_of_another_kind_is_refused(kind: Kind) -> None:
    assert [kind.find_metric(metric.name) for metric in kind.metrics] == list(kind.metrics)
    others = {metric.name for other in KINDS.values() for metric in other.metrics}
    for name in others - {metric.name for metric in kind.metrics}:
        with pytest.raises(InvalidOption, match=f"got the metric '{name}' for {kind.name}; expected one of"):
            kind.find_metric(name)


def test_a_kind_that_is_not_known() -> None:
    with pytest.raises(InvalidOption, match="got the kind of task 'ranking'; expected one of classification, regress"):
        find_kind("ranking")
