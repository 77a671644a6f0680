"""What is too much is refused with both numbers."""

from __future__ import annotations

import pytest

from headcount.live_server.limits import TooMuch, check_most


def test_the_message_has_both_numbers() -> None:
    check_most("tokens", 512, 512)
    with pytest.raises(TooMuch, match="got 1,513 tokens; this server takes at most 512"):
        check_most("tokens", 1513, 512)
