"""The edits of a path: the sender replaced with all other heads frozen, then the receiver with what it read there.

Path patching after Wang et al. 2023: between the two heads only the residual stream and the feed-forward layers pass
the change on, since every other head keeps its output of the plain pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headcount.core.heads import Head
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import Edit, LayerKey
from headcount.trace.parts import Kept, Patched
from headcount.trace.readings import Reading, Rereading, keep_readings
from headcount.trace.replay import Replay
from headcount.trace.variants import Variant


def read_behind(
    replay: Replay, sender: Head, replaced: Variant, plain: Mapping[LayerKey, Kept], receivers: Iterable[Head]
) -> Mapping[Head, Reading]:
    """What the receivers read on the recorded batch when the sender alone is replaced.

    `plain`: the head outputs of all layers in the plain pass, to which later heads are frozen.
    """
    anatomy = replay.anatomy
    edits: dict[LayerKey, Edit] = dict(replaced)
    for key, outputs in plain.items():
        if _comes_after(replay, key, (sender.stack, sender.layer)):
            edits[key] = Patched(list(range(len(anatomy.attention(*key).heads))), outputs, None)
    return keep_readings(replay.model, anatomy, receivers, lambda: replay.run([edits]))


def _comes_after(replay: Replay, key: LayerKey, sender: LayerKey) -> bool:
    """Whether a layer's attention runs after the sender's; cross attention runs after that of its own layer."""
    later, first = replay.order(key), replay.order(sender)
    return later > first or (later == first and key[0] == "cross" != sender[0])


def reread(anatomy: Anatomy, receiver: Head, into: str, read: Mapping[Head, Reading]) -> Variant:
    """The receiver with what it read there, and nothing else changed."""
    key = (receiver.stack, receiver.layer)
    return {key: Rereading(anatomy.attention(*key).column(receiver.head), read[receiver], into)}
