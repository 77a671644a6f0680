"""Does Headcount work here, and with this model? Everything that a bug report needs, and a check of every promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from transformers import PreTrainedModel

from headcount.errors import CannotPrune, HeadcountError
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.surgery import check_can_prune
from headcount.self_check.environment import Environment, read_environment
from headcount.self_check.promises import Check, check_promises
from headcount.trace.anatomy import proof_of, read_anatomy


@dataclass(frozen=True)
class ModelSupport:
    """What is known of a model and can be done with it; `cut` says why heads cannot be removed, if they cannot."""

    model_class: str
    parameters: int
    dtype: str
    device: str
    kernel: str
    heads: str
    how: str
    cut: str
    units: str


@dataclass(frozen=True)
class Diagnosis:
    """What `doctor` found; `healthy` is false if a check failed or a package is not supported."""

    environment: Environment
    support: ModelSupport | None
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        return not self.environment.unsupported and all(check.outcome != "failed" for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """As plain data: what `headcount doctor --json` prints."""
        return {"healthy": self.healthy, **asdict(self)}


@takes_compiled
def doctor(model: PreTrainedModel | None = None) -> Diagnosis:
    """Look at versions, devices and kernels and, of a model, check the promises that Headcount makes.

    The checks run the model on a few random inputs, in its own dtype and on its own device, in less than a minute for
    most models: all gates at 1 change nothing, bit for bit; ablating heads equals zeroing their columns of the weights;
    nothing stays behind; the replay of a sweep equals a plain loop; pruning, on a copy, equals ablation. Each is
    passed, failed, or skipped with the reason. The model is as before afterwards.

    >>> from transformers import BertConfig, BertModel
    >>> config = BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)
    >>> {check.outcome for check in doctor(BertModel(config)).checks}
    {'passed'}
    """
    environment = read_environment()
    if model is None:
        return Diagnosis(environment, None, ())
    checks = tuple(check_promises(model))
    return Diagnosis(environment, read_support(model), checks)


def read_support(model: PreTrainedModel) -> ModelSupport:
    """What is known of a model; a model that is not understood is named with the reason."""
    heads, cut, units = "unknown", "unknown", "unknown"
    try:
        anatomy, proof = read_anatomy(model), proof_of(model)
        parts = [f"{stack}: {len(layers)} layers" for stack, layers in anatomy.stacks.items()]
        heads = f"{anatomy.layout.count:,} heads ({', '.join(parts)})"
        how = "by the record of its type" if proof is None else str(proof)
        units = f"{anatomy.units.count:,} feed-forward units" if anatomy.units.stacks else anatomy.units.missing
        try:
            check_can_prune(anatomy)
            cut = ""
        except CannotPrune as error:
            cut = str(error)
    except HeadcountError as error:
        how = f"not understood: {error}"
    config: Any = model.config
    return ModelSupport(
        type(model).__name__,
        model.num_parameters(),
        str(model.dtype).removeprefix("torch."),
        str(input_device(model)),
        str(config._attn_implementation),
        heads,
        how,
        cut,
        units,
    )
