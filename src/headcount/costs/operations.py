"""What each head and each feed-forward unit adds to the operations and parameters of a model, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from transformers import PreTrainedModel

from headcount.costs.cost import check_length, count_operations, make_inputs
from headcount.data.number_options import check_numbers
from headcount.models.attention import Attention
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.feed_forward import FeedForward
from headcount.models.plain_weights import check_plain
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey


@dataclass(frozen=True)
class PartCosts:
    """What one head or one unit of each block costs, and what is left when all of them are gone.

    The parts of a block are alike. Where several heads read one key/value group, each has its share of the group, which
    is gone when all of them are.
    """

    operations: Mapping[LayerKey, float]
    """FLOP of one part, for each block that has some: (stack, layer) for heads, (stack.units, layer) for units."""
    weights: Mapping[LayerKey, float]
    """Parameters of one part."""
    counts: Mapping[LayerKey, int]
    """How many parts the block has."""
    fixed_operations: float
    """FLOP of everything else: embeddings, pooler, task head, products that no head and no unit takes part in."""
    fixed_weights: float

    @property
    def whole_operations(self) -> float:
        return self.operations_left(self.counts)

    @property
    def whole_weights(self) -> float:
        return self.weights_left(self.counts)

    def operations_left(self, counts: Mapping[LayerKey, int]) -> float:
        """FLOP of a model with so many heads and units; blocks that are not named keep all of theirs."""
        return self.fixed_operations + _sum(self.operations, {**self.counts, **counts})

    def weights_left(self, counts: Mapping[LayerKey, int]) -> float:
        """Parameters of a model with so many heads and units; blocks that are not named keep all of theirs."""
        return self.fixed_weights + _sum(self.weights, {**self.counts, **counts})


def _sum(each: Mapping[LayerKey, float], counts: Mapping[LayerKey, int]) -> float:
    return sum(cost * counts[key] for key, cost in each.items())


@takes_compiled
def part_costs(model: PreTrainedModel, length: int, batch: int = 1) -> PartCosts:
    """The operations and parameters of each head and unit, for a pass over `batch` texts of `length` tokens.

    Operations are counted in one pass, as `flops` does: 2 for each multiplication and addition of a matrix product. All
    products of an attention block (projections, scores, weighted sums) and of a feed-forward block are proportional to
    the number of its heads or units. Images have no length.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> costs = part_costs(model, length=10)
    >>> costs.operations["encoder.units", 0] == 2 * 10 * (24 + 24)
    True
    """
    check_numbers(batches=batch)
    check_whole(model, "count its operations")
    check_plain(model, "count its operations")
    check_length("the model", model, length)
    anatomy = read_anatomy(model)
    total, by_module = count_operations(model, make_inputs(model, batch, length))
    blocks = list(anatomy.blocks())
    uses = Counter(block.output_name for block in blocks)  # one module may serve several layers
    operations = {
        block.layer_key: sum(by_module.get(name, 0) for name in _modules(block)) / uses[block.output_name] / block.count
        for block in blocks
    }
    weights = {block.layer_key: _parameters(block) / uses[block.output_name] / block.count for block in blocks}
    counts = {block.layer_key: block.count for block in blocks}
    return PartCosts(
        operations,
        weights,
        counts,
        total - _sum(operations, counts),
        model.num_parameters() - _sum(weights, counts),
    )


def _modules(block: Attention | FeedForward) -> Iterable[str]:
    """The names of the modules whose products are those of the block's parts."""
    if isinstance(block, FeedForward):
        return [*(name for name, _ in block.inputs), block.output_name]
    beside = [] if block.output_name.startswith(f"{block.name}.") else [block.output_name]
    return [block.name, *beside]


def _parameters(block: Attention | FeedForward) -> float:
    """Those that go with the parts of a block."""
    if isinstance(block, FeedForward):
        return block.count * block.parameters_per_unit
    readers = Counter(block.groups)
    return sum(
        prod(part.shape) / (readers[group] if part.role in ("key", "value") else 1)
        for head, group in zip(block.heads, block.groups, strict=True)
        for part in block.slices(head)
    )
