"""Is the chance level that of a head which attends to all allowed keys alike, under every kind of mask?"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.masks import allowed_keys
from headcount.trace.uniform_shares import uniform_diagonal, uniform_mass
from tests.trace.test_masks import MASKS, PADDING, call

CALLS = {
    **MASKS,
    "open": lambda: call("bert", "sdpa", None),
    "flash without padding": lambda: call("bert", "flash_attention_2", None),
    "padding": lambda: call("bert", "sdpa", PADDING.bool()[:, None, None].expand(2, 1, 5, 5)),
}
CLASSES = torch.tensor([[1, 0, 1, 0, 0], [0, 0, 0, 1, 1]]).float()[..., None].repeat(1, 1, 2)


def uniform(one: AttentionCall) -> Tensor:
    """The map [B, 1, Q, K] of a uniform head; zeros for queries without an allowed key."""
    allowed = allowed_keys(one)
    if allowed is None:
        allowed = torch.ones(1, 1, one.queries, one.value.shape[2], dtype=torch.bool)
    allowed = allowed.expand(2, -1, one.queries, -1).float()
    return allowed / allowed.sum(-1, keepdim=True).clamp(min=1)


@pytest.mark.parametrize("name", CALLS)
def test_it_is_the_naive_map(name: str) -> None:
    one = CALLS[name]()
    expected = uniform(one)
    mass = uniform_mass(one, CLASSES)
    torch.testing.assert_close(mass.expand(2, 1, one.queries, 2), expected @ CLASSES[:, None])
    torch.testing.assert_close(uniform_mass(one, CLASSES), mass)  # once more, from what is kept
    for offset in (-1, 0, 1):
        diagonal = expected.diagonal(offset, -2, -1)
        torch.testing.assert_close(uniform_diagonal(one, offset).expand(diagonal.shape), diagonal)


def test_classes_of_another_batch_are_not_mistaken() -> None:
    one = CALLS["float"]()
    before, after = uniform_mass(one, CLASSES), uniform_mass(one, 1 - CLASSES)
    assert not torch.equal(before, after)
    torch.testing.assert_close(after.expand(2, 1, 5, 2), uniform(one) @ (1 - CLASSES)[:, None])
