"""Agreement: only what is known of both can differ."""

from __future__ import annotations

from headcount.data.coreference.pronouns import PRONOUNS, Agreement


def test_pronouns_agree_with_each_other() -> None:
    assert PRONOUNS["he"].agrees(PRONOUNS["himself"])
    assert not PRONOUNS["he"].agrees(PRONOUNS["her"])
    assert not PRONOUNS["he"].agrees(PRONOUNS["they"])
    assert not PRONOUNS["my"].agrees(PRONOUNS["your"])
    assert not PRONOUNS["it"].agrees(PRONOUNS["she"])
    assert PRONOUNS["you"].agrees(PRONOUNS["thou"])


def test_what_is_not_known_agrees() -> None:
    assert all(Agreement().agrees(agreement) and agreement.agrees(Agreement()) for agreement in PRONOUNS.values())
