"""Every error is a HeadcountError and says its remedy."""

from __future__ import annotations

import inspect

from headcount import errors


def test_all_errors_have_one_base_and_a_docstring() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    assert all(issubclass(kind, errors.HeadcountError) and kind.__doc__ for kind in kinds)
