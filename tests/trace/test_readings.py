"""What heads read, and the outputs they make of it: their own in their own pass, also with key/value groups."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.core.heads import Head
from headcount.trace.anatomy import read_anatomy
from headcount.trace.readings import Rereading, keep_readings
from headcount.trace.session import session
from tests.ablation.test_paths import decoder, encoder

IDS = torch.tensor([[2, 5, 9, 3], [2, 6, 10, 3]])


@pytest.mark.parametrize("make", [encoder, decoder])
@pytest.mark.parametrize("into", ["query", "key", "value", "all"])
def test_a_head_with_its_own_reading_is_itself(make: Any, into: str) -> None:
    model = make()[0]
    anatomy = read_anatomy(model)
    stack = next(iter(anatomy.stacks))
    head = Head(stack, 1, 2)
    with torch.no_grad():
        plain = model(input_ids=IDS).logits
        own = keep_readings(model, anatomy, [head], lambda: model(input_ids=IDS))[head]
        other = keep_readings(model, anatomy, [head], lambda: model(input_ids=IDS.flip(0)))[head]
        assert own.query.shape == own.key.shape == (2, 4, 4)
        outputs = {}
        for name, reading in (("own", own), ("other", other)):
            with session(model, {(stack, 1): Rereading(2, reading, into)}, purpose="the test"):
                outputs[name] = model(input_ids=IDS).logits
    torch.testing.assert_close(outputs["own"], plain)
    assert not torch.allclose(outputs["other"], plain, rtol=0, atol=1e-9)
