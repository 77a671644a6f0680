"""English pronouns: the closed list by which a mention is known to be one, with number, gender and person."""

from __future__ import annotations

from dataclasses import dataclass

SINGULAR, PLURAL = "singular", "plural"
MALE, FEMALE, THING = "male", "female", "thing"


@dataclass(frozen=True)
class Agreement:
    """What two mentions of the same entity must agree in; None where it is not known."""

    number: str | None = None
    gender: str | None = None
    person: int | None = None

    def agrees(self, other: Agreement) -> bool:
        """Whether nothing that is known of both differs.

        >>> Agreement(SINGULAR, FEMALE).agrees(Agreement(SINGULAR)), Agreement(SINGULAR).agrees(Agreement(PLURAL))
        (True, False)
        """
        pairs = ((self.number, other.number), (self.gender, other.gender), (self.person, other.person))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)


_ROWS: tuple[tuple[str, Agreement], ...] = (
    ("i me my mine myself", Agreement(SINGULAR, None, 1)),
    ("we us our ours ourselves", Agreement(PLURAL, None, 1)),
    ("you your yours", Agreement(None, None, 2)),
    ("yourself thou thee thy thine thyself", Agreement(SINGULAR, None, 2)),
    ("yourselves ye", Agreement(PLURAL, None, 2)),
    ("he him his himself", Agreement(SINGULAR, MALE, 3)),
    ("she her hers herself", Agreement(SINGULAR, FEMALE, 3)),
    ("it its itself", Agreement(SINGULAR, THING, 3)),
    ("they them their theirs themselves", Agreement(PLURAL, None, 3)),
    ("this that", Agreement(SINGULAR, None, 3)),
    ("these those", Agreement(PLURAL, None, 3)),
    ("who whom whose which one oneself", Agreement(None, None, 3)),
)
PRONOUNS = {word: agreement for words, agreement in _ROWS for word in words.split()}
