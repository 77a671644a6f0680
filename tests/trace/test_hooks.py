"""A hook's copies do nothing."""

from __future__ import annotations

import copy
import pickle

from headcount.trace.hooks import Hook


def test_copies_are_inert() -> None:
    hook = Hook(lambda: 3)
    assert hook() == 3
    for other in (copy.copy(hook), copy.deepcopy(hook), pickle.loads(pickle.dumps(hook))):
        assert other() is None
