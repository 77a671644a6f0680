"""Fingerprints tell content apart; differences are named."""

from __future__ import annotations

from headcount.core.provenance import differences, fingerprint, versions


def test_fingerprints() -> None:
    assert fingerprint(["a", b"b"]) == fingerprint(["a", b"b"])
    assert fingerprint(["ab", ""]) != fingerprint(["a", "b"])


def test_differences_name_both_sides() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ["b: 2 -> 3", "c: None -> 4"]


def test_versions_of_what_computes() -> None:
    assert {"torch", "transformers", "headcount", "python"} <= set(versions())
