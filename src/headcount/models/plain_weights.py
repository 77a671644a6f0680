"""Are a model's weights plain floating-point numbers, or kept in another form, such as quantised?

Known by what a tensor is and can do, not by the name of a package: quantised weights are integers (of which several may
be packed into one), or a tensor that is made of others and acts as a matrix only when it is multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers.pytorch_utils import Conv1D

from headcount.errors import HeadcountError, UnsuitableModel


def is_plain(tensor: Tensor) -> bool:
    """Whether the tensor itself holds its numbers, as floats, so that its rows can be read, cut and changed.

    >>> import torch
    >>> is_plain(torch.zeros(2)), is_plain(torch.zeros(2, dtype=torch.int8))
    (True, False)
    """
    return tensor.is_floating_point() and not is_traceable_wrapper_subclass(tensor)


def stored_parts(name: str, stored: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that an entry of a `state_dict` is made of, by name: itself, or those that it wraps or packs."""
    if isinstance(stored, tuple):
        for number, inner in enumerate(stored):
            yield from stored_parts(f"{name}.{number}", inner)
    elif isinstance(stored, Tensor) and is_traceable_wrapper_subclass(stored):
        for attribute in stored.__tensor_flatten__()[0]:
            yield from stored_parts(f"{name}.{attribute}", getattr(stored, attribute))
    elif isinstance(stored, Tensor):
        yield name, stored.dequantize() if stored.is_quantized else stored


def is_readable(tensor: Tensor) -> bool:
    """Whether the numbers of a weight can be told: it is plain, or wraps others and knows how to say them."""
    wraps = is_traceable_wrapper_subclass(tensor) and type(tensor).dequantize is not Tensor.dequantize
    return is_plain(tensor) or wraps


def has_packed_products(module: nn.Module) -> bool:
    """Whether some Linear inside multiplies integers with a kernel of its own, which may take three dimensions only."""
    return any(isinstance(each, nn.Linear) and not each.weight.is_floating_point() for each in module.modules())


def plain_values(tensor: Tensor, whose: str) -> Tensor:
    """The numbers of a weight as floats: the tensor itself, or what a tensor that wraps others says that they are."""
    if is_plain(tensor):
        return tensor
    if is_readable(tensor):
        values: Tensor = tensor.dequantize()
        return values
    raise UnsuitableModel(
        f"the weight of {whose} is {spell_form(tensor)}, and its numbers are needed here; give a model that is not "
        "quantised"
    )


def spell_form(tensor: Tensor) -> str:
    """How a weight that is not plain is kept: the type of the tensor, or its dtype."""
    if is_traceable_wrapper_subclass(tensor):
        return f"quantised or sharded ({type(tensor).__name__})"
    return f"quantised ({str(tensor.dtype).removeprefix('torch.')})"


def weight_of(module: Any) -> Tensor | None:
    """A projection's weight; None where it keeps it in another way than as a tensor."""
    weight = getattr(module, "weight", None)
    return weight if isinstance(weight, Tensor) else None


def weight_shape(module: Any) -> tuple[int, ...]:
    """The shape of a projection's weight, also where its numbers are packed: [out, in], of a Conv1D [in, out]."""
    weight = weight_of(module)
    if weight is not None and (is_plain(weight) or not hasattr(module, "out_features")):
        return tuple(weight.shape)
    return int(module.out_features), int(module.in_features)


def projection_width(module: Any, side: str) -> int:
    """The number of a projection's inputs (in) or outputs (out).

    >>> projection_width(nn.Linear(3, 5), "in"), projection_width(Conv1D(5, 3), "in")
    (3, 3)
    """
    return weight_shape(module)[int((side == "in") != isinstance(module, Conv1D))]


def check_plain(model: nn.Module, purpose: str, error: type[HeadcountError] = UnsuitableModel) -> None:
    """Refuse a model with quantised weights where these are changed or counted; `purpose` completes "to ..."."""
    for name, module in model.named_modules():
        if hasattr(module, "out_features") and weight_of(module) is None:
            raise error(
                f"{name} of {type(model).__name__} has packed weights; give the model before it is quantised "
                f"to {purpose}"
            )
    for name, parameter in model.named_parameters():
        if not is_plain(parameter):
            raise error(
                f"{name} of {type(model).__name__} is {spell_form(parameter)}; give the model before it is quantised "
                f"to {purpose}"
            )
