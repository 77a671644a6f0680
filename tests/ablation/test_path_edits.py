"""What a later head reads when an earlier one is replaced: all heads between them keep their outputs."""

from __future__ import annotations

import torch

from headcount.ablation.path_edits import read_behind, reread
from headcount.core.heads import Head
from headcount.trace.anatomy import read_anatomy
from headcount.trace.parts import keep_part
from headcount.trace.replay import Replay
from headcount.trace.variants import Zero
from tests.ablation.test_paths import encoder


def test_a_change_takes_the_direct_path_alone() -> None:
    model, _ = encoder()
    anatomy = read_anatomy(model)
    inputs = {"input_ids": torch.tensor([[2, 5, 9, 3], [2, 6, 10, 3]])}
    layers = [block.layer_key for block in anatomy]
    sender, receiver = Head("encoder", 0, 1), Head("encoder", 2, 3)
    zero = {("encoder", 0): Zero([1])}
    with torch.no_grad(), Replay(model, anatomy, first_position=False) as replay:
        result, plain = keep_part(model, layers, "output", lambda: replay.record(inputs))
        read = read_behind(replay, sender, zero, plain, [receiver])
        again = read_behind(replay, sender, {("encoder", 0): _Nothing([1])}, plain, [receiver])
        unchanged = replay.run([reread(anatomy, receiver, "all", again)])
        changed = replay.run([reread(anatomy, receiver, "all", read)])
    torch.testing.assert_close(unchanged.logits, result.logits)
    assert not torch.allclose(changed.logits, result.logits, rtol=0, atol=1e-9)
    # Without the layer between them the frozen heads would have moved what is read.
    with torch.no_grad(), Replay(model, anatomy, first_position=False) as replay:
        replay.record(inputs)
        free = read_behind(replay, sender, zero, {}, [receiver])
    assert not torch.allclose(free[receiver].query, read[receiver].query, rtol=0, atol=1e-9)


class _Nothing(Zero):
    """Replaces a head by itself."""

    def __call__(self, outputs: torch.Tensor, call: object) -> torch.Tensor:
        return outputs

    def everywhere(self, outputs: torch.Tensor, call: object) -> torch.Tensor:
        return outputs
