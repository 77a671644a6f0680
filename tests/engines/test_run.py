"""A run says where its numbers come from without its verb having to."""

from __future__ import annotations

from headcount.core.provenance import versions
from headcount.engines.run import group_name
from tests.engines.runs import ORIGIN, make_run, missing


def test_the_origin_is_part_of_identity_and_attributes() -> None:
    run = make_run(limit=3)
    assert run.identity == {**ORIGIN.identity, "measure": "toy", "limit": 3}
    assert run.provenance == {"task": "none", "versions": versions(), **ORIGIN.attributes}
    assert missing({**run.provenance, "identity": run.identity}) == []


def test_names() -> None:
    assert group_name("pruning/curve", None) == "pruning/curve"
    assert group_name("pruning/curve", "small") == "pruning/curve@small"
