"""Are labels drawn with the model's own probabilities, and does padding leave them as they are?"""

from __future__ import annotations

import numpy as np
import torch

from headcount.data.kinds.own_labels import draw_classes, draw_tags
from headcount.data.kinds.tokens import IGNORED


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number]) for number in range(count)]


def test_classes_come_as_often_as_they_are_probable() -> None:
    logits = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64).log().expand(5000, 3)
    shares = torch.bincount(draw_classes(logits, generators(5000)), minlength=3) / 5000
    np.testing.assert_allclose(shares, [0.1, 0.2, 0.7], atol=0.02)


def test_a_certain_class() -> None:
    logits = torch.tensor([[-1e4, 1e4, 0.0], [0.0, -1e4, 1e4]], dtype=torch.float16)
    assert draw_classes(logits, generators(2)).tolist() == [1, 2]


def test_tags_do_not_depend_on_padding() -> None:
    logits = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.full((3, 6), IGNORED)
    labels[0, 1:4], labels[1, 2], labels[2, [1, 3]] = 0, 0, 0
    drawn = draw_tags(logits, labels, generators(3))
    assert ((drawn == IGNORED) == (labels == IGNORED)).all()
    assert torch.equal(draw_tags(logits[:, :4], labels[:, :4], generators(3)), drawn[:, :4])
    alone = draw_tags(logits[2:], labels[2:], generators(3)[2:])
    assert torch.equal(alone[0], drawn[2])
    assert len({int(tag) for seed in range(20) for tag in draw_tags(logits, labels, generators(3, seed))[0, 1:4]}) > 1
