"""A tree that is in the attention is found, by the weight of the head that holds it; one that is not is not."""

from __future__ import annotations

import numpy as np
import torch

from headcount.core.probe_names import ATTENTION, DISTANCE
from headcount.probing.classifiers.cases import NO_CASE, pad_cases
from headcount.probing.classifiers.probes import RATES, AttentionOnly, build_probe
from headcount.probing.classifiers.training import count_right, count_words, loss_of, split_sentences, train
from tests.probing.classifiers.examples import HEADS, PLANTED, WIDTH, cases


def trained(name: str, seed: int = 0, planted: bool = True) -> tuple[torch.nn.Module, np.ndarray, float]:
    parts = cases(200, 1, planted), cases(40, 2, planted), cases(40, 3, planted)
    generator = np.random.default_rng(seed)
    probe = build_probe(name, HEADS, WIDTH, True, generator)
    found = train(probe, *parts, RATES[name], generator)
    return probe, found.right, float(found.right.sum() / count_words(parts[2]).sum())


def test_a_planted_tree_is_found_in_the_attention_alone() -> None:
    probe, _, score = trained(ATTENTION)
    assert score > 0.99
    assert isinstance(probe, AttentionOnly)
    assert int(probe.weights.argmax()) == 2 * PLANTED, "from the dependent to its head"
    assert trained(DISTANCE)[2] < 0.4
    assert trained(ATTENTION, planted=False)[2] < 0.4


def test_the_same_seed_gives_the_same_classifier() -> None:
    first, again, other = (trained(DISTANCE, seed) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first[0].parameters(), again[0].parameters(), strict=True))
    assert (first[1] == again[1]).all()
    assert not all(torch.equal(a, b) for a, b in zip(first[0].parameters(), other[0].parameters(), strict=True))


def test_the_loss_is_the_mean_log_probability() -> None:
    several = cases(4)
    probe = AttentionOnly(HEADS, True)
    torch.nn.init.normal_(probe.weights, generator=torch.Generator().manual_seed(0))
    logs = []
    for case in several:
        scores = probe(pad_cases([case]))[0].detach().double()
        for word, head in enumerate(case.heads.tolist()):
            if head != NO_CASE:
                others = [other for other in range(len(case.heads)) if other != word]
                logs.append(float(scores[word, head] - torch.logsumexp(scores[word, others], 0)))
    assert np.isclose(loss_of(probe, pad_cases(several)).item(), -np.mean(logs), rtol=1e-5)


def test_counts_are_in_the_order_of_the_sentences() -> None:
    several = cases(50)
    probe = AttentionOnly(HEADS, True)
    with torch.no_grad():
        probe.weights[PLANTED, 0] = 1
    assert (count_right(probe, several) == [count_right(probe, [case])[0] for case in several]).all()
    assert (count_right(probe, several) == count_words(several)).mean() > 0.9


def test_no_sentence_is_in_two_parts() -> None:
    split = split_sentences(57, 0)
    parts = [split.train, split.development, split.test]
    assert sorted(np.concatenate(parts).tolist()) == list(range(57))
    assert [len(part) for part in parts] == [47, 5, 5]
    assert (split_sentences(57, 1).test != split.test).any()
