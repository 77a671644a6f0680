"""The names of roles and the colours of categories: one number for each, the same on every page and in every figure."""

from __future__ import annotations

NO_ROLE = "no clear role"
BROAD = "attends broadly"
COLOURS = {
    name: number
    for number, name in enumerate(
        (
            "previous token",
            "next token",
            "the token itself",
            "[SEP]",
            "[CLS]",
            "punctuation",
            "retrieval",
            "induction",
            "duplicate token",
            "first token (attention sink)",
            "same word in the other text",
            "rarest word",
            BROAD,
            "other text",
            "copying",
        )
    )
}
"""By role, the number of its colour."""
_RENAMED = {"everything alike": BROAD, "itself": "the token itself"}


def current_name(role: str) -> str:
    """The name of a role, which studies of earlier versions may call otherwise.

    >>> current_name("everything alike"), current_name("induction")
    ('attends broadly', 'induction')
    """
    return _RENAMED.get(role, role)


def colours_of(roles: list[str]) -> list[int]:
    """The numbers of the colours of some roles; those of measures that a user has added come after the known ones.

    >>> colours_of(["next token", "my own"])
    [1, 15]
    """
    own = [role for role in roles if role not in COLOURS]
    return [COLOURS[role] if role in COLOURS else len(COLOURS) + own.index(role) for role in roles]
