"""Classes of images: answered for one image at a time, as `headcount live` asks; no data set of images is read."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from headcount.data.kinds.kind import Kind
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.typed import Typed


class ImageClassification(Kind):
    """Not in the catalogue: sweeps and measures read texts."""

    name = "image-classification"
    auto_class = "AutoModelForImageClassification"
    named_classes = True
    text_titles = ("image",)

    def suits(self, config: Any) -> bool:
        # Several labels at once are no distribution over classes.
        return config.num_labels > 1 and config.problem_type in (None, "single_label_classification")

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, None]
