"""Errors as a client sees them: a status, a code, one line, and no path of this machine."""

from __future__ import annotations

import pytest
import torch

from headcount.errors import DataProblem, NotReached, UnknownHead
from headcount.live_server.limits import Busy, TooMuch
from headcount.live_server.problems import describe_problem, without_paths
from headcount.live_server.worker import Overtaken


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (TooMuch("x"), 413, "too-much"),
        (Busy("x"), 503, "busy"),
        (Overtaken("x"), 409, "overtaken"),
        (UnknownHead("x"), 400, "invalid"),
        (DataProblem("x"), 400, "invalid"),
        (NotReached("x"), 422, "refused"),
        (torch.OutOfMemoryError("x"), 507, "memory"),
        (FileNotFoundError("/home/me/secret/file"), 500, "failed"),
    ],
)
def test_status_and_code(error: BaseException, status: int, code: str) -> None:
    found, body = describe_problem(error)
    assert (found, body["code"]) == (status, code)
    assert "secret" not in body["error"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/models/small is no study", "small is no study"),
        ("in ~/private/runs/", "in runs"),
        (r"C:\Users\me\small: no", "small: no"),
        ("1/2 and and/or https://a.org/b/c", "1/2 and and/or https://a.org/b/c"),
        ("runs/small stays", "runs/small stays"),
    ],
)
def test_paths_are_left_out(text: str, shown: str) -> None:
    assert without_paths(text) == shown
