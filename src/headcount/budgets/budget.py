"""How small a model is to get: a share of its operations or weights, a speed, or a tolerance of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headcount.core.options import one_of
from headcount.core.units import WHATS
from headcount.data.number_options import check_numbers
from headcount.errors import InvalidOption

Currency = Literal["operations", "weights", "time"]
"""What a budget is counted in."""


@dataclass(frozen=True)
class Budget:
    """What is to be left of the model: the share `left` of the currency, or as little as a tolerance allows."""

    currency: Currency = "operations"
    left: float | None = None
    tolerance: float | None = None
    by_estimate: bool = False
    spelled: str = ""
    """As the user gave it."""

    @classmethod
    def parse(
        cls,
        operations: str | float | None = None,
        weights: str | float | None = None,
        faster: float | None = None,
        tolerance: float | None = None,
        by_estimate: bool = False,
    ) -> Budget:
        """From exactly one of the four.

        >>> Budget.parse(operations="50%").left, Budget.parse(faster=2).left
        (0.5, 0.5)
        """
        named = {"operations": operations, "weights": weights, "faster": faster, "tolerance": tolerance}
        given = {name: value for name, value in named.items() if value is not None}
        if len(given) != 1:
            two = (
                f"got {' and '.join(f'{name}={value}' for name, value in given.items())}" if given else "got no budget"
            )
            raise InvalidOption(
                f"{two}; expected exactly one: operations=50%, weights=60%, faster=2 or tolerance=1 (points)"
            )
        ((name, value),) = given.items()
        spelled = f"{name}={value}"
        if tolerance is not None:
            check_numbers(tolerance=tolerance)
            return cls(tolerance=tolerance, by_estimate=by_estimate, spelled=spelled)
        if faster is not None:
            check_numbers(faster=faster)
            if faster <= 1:
                raise InvalidOption(f"got faster={faster:g}; expected more than 1: 2 is twice as fast")
            return cls("time", 1 / faster, spelled=spelled)
        return cls("operations" if operations is not None else "weights", read_share(name, value), spelled=spelled)


def read_share(name: str, value: object) -> float:
    """A share of the whole model, from `50%` or 0.5.

    >>> read_share("operations", "50%"), read_share("weights", 0.6)
    (0.5, 0.6)
    """
    text = str(value).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise InvalidOption(f"got {name}={value}; expected the share that is left, such as 50%") from error
    if not 0 < share < 1:
        raise InvalidOption(f"got {name}={value}; expected a share between 0% and 100% of the whole model's {name}")
    return share


def check_what(what: str) -> str:
    return one_of("what", what, WHATS)
