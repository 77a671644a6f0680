"""Do models take turns, and do the first ones not count?"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from headcount.costs.turns import WARM_UP, in_turns


def test_every_turn_has_every_name_and_the_first_ones_warm_up() -> None:
    turns = list(in_turns(["a", "b", "c"], 4))
    assert len(turns) == 3 * (WARM_UP + 4)
    assert [timed for _, timed in turns] == [False] * 3 * WARM_UP + [True] * 12
    rounds = [[name for name, _ in turns[start : start + 3]] for start in range(0, len(turns), 3)]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert all(first == second[::-1] for first, second in pairwise(rounds))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep freed memory in other ways")
def test_freed_memory_is_used_again() -> None:
    """In a new process: one that has worked before may have learned it already."""
    code = (
        "import resource, torch\n"
        "from headcount.costs.turns import keep_freed_memory\n"
        "def faults():\n"
        "    start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20):\n"
        "        torch.ones(2**21)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start\n"
        "keep_freed_memory()\n"
        "faults()\n"
        "assert faults() < 2**21 * 4 / 4096, 'more than once the pages of one tensor'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
