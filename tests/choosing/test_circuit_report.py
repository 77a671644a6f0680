"""Which sets of heads are run to evaluate a circuit."""

from __future__ import annotations

from headcount.choosing.circuit_report import plan_trials
from headcount.core.heads import HeadSet, Layout

LAYOUT = Layout.even({"encoder": (3, 4)})
SCOPE = HeadSet.all(LAYOUT)


def test_every_trial_has_its_score() -> None:
    circuit = HeadSet.of("L0H1, L1H0, L2H2-3", LAYOUT)
    trials = plan_trials(circuit, SCOPE, subsets=3, randoms=4, seed=0)
    at = trials.numbers()
    sets = [frozenset(), *(each.heads for each in trials.sets)]
    assert len(set(sets)) == len(sets)
    for subset in trials.subsets:
        assert subset.heads <= circuit.heads
        assert sets[at.losing(subset)] == subset.heads
        assert sets[at.keeping(circuit - subset)] == (SCOPE - (circuit - subset)).heads
    assert [len(subset) for subset in trials.subsets[:4]] == [1, 1, 1, 1]
    assert trials.subsets[-1].heads == circuit.heads
    for drawn, leaving in zip(trials.randoms, trials.leaving, strict=True):
        assert {key: len(heads) for key, heads in drawn.by_layer().items()} == {
            key: len(heads) for key, heads in circuit.by_layer().items()
        }
        assert not drawn.heads & circuit.heads
        assert leaving in drawn


def test_a_layer_without_enough_others_lends_its_own() -> None:
    circuit = HeadSet.of("L0H0-2", LAYOUT)
    (drawn,) = plan_trials(circuit, SCOPE, 0, 1, 0).randoms
    assert len(drawn) == 3
    assert HeadSet.of("L0H3", LAYOUT).heads <= drawn.heads


def test_all_heads_leave_nothing_to_replace() -> None:
    trials = plan_trials(SCOPE, SCOPE, 1, 1, 0)
    assert trials.numbers().keeping(SCOPE) == 0
