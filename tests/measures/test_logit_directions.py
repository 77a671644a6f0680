from __future__ import annotations

import pytest
import torch

from headcount.measures.logit_directions import of_others


def test_the_mean_of_the_others() -> None:
    values = torch.tensor([1.0, 2.0, 2.0, 7.0])  # the second token stands twice
    found = [of_others(values.mean(), values[at], torch.tensor(4), torch.tensor(same)) for at, same in ((0, 1), (1, 2))]
    assert [float(one) for one in found] == pytest.approx([11 / 3, 4.0])
    assert of_others(torch.tensor(2.0), torch.tensor(2.0), torch.tensor(3), torch.tensor(3)).isnan()
