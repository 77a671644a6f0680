"""Are Gram matrices the weighted sums over what the output projections read, without padding, in every family?"""

from __future__ import annotations

import pytest
import torch

from headcount.errors import InvalidOption, NotFinite
from headcount.models.anatomy import read_anatomy
from headcount.models.output_weights import all_keys
from headcount.pruning.gram import gram_matrices
from tests.closeness import FLOAT32, assert_same
from tests.contracts.zoo import BY_NAME, CASES, Case, exact, inputs, tiny
from tests.pruning.naive_refit import batches, read_by_outputs, token_weights


@pytest.mark.parametrize("case", [case for case in CASES if case.kind != "vision"], ids=lambda case: case.name)
def test_all_families(case: Case) -> None:
    if case.name == "albert":
        pytest.skip("its layers are one module, whose uses plain hooks cannot tell apart")
    model, some = exact(case.name, case.kernels[0]), batches(case, 2)
    anatomy = read_anatomy(model)
    found, read = gram_matrices(model, some), read_by_outputs(model, some)
    assert set(found.matrices) == set(read)
    for key, states in read.items():
        longer = torch.cat([states, torch.ones(len(states), 1, dtype=states.dtype)], 1)
        weights = token_weights(anatomy.block(key), states)
        expected = longer.T @ (weights[:, None] * longer) / weights.sum()
        assert_same(found.matrices[key], expected, case.within, key)
        assert (0 < weights.min() < weights.max() == 1) == key[0].endswith(".units")
        assert found.tokens[key] == len(states)


def test_images_have_no_padding() -> None:
    model, batch = exact("vit"), inputs(BY_NAME["vit"])
    found = gram_matrices(model, [{key: value.double() for key, value in batch.items()}])
    assert set(found.tokens.values()) == {3 * 10}


def test_batches_of_another_size_give_the_same() -> None:
    model, case = exact("bert"), BY_NAME["bert"]
    batch = inputs(case, "right")
    alone = [{key: value[row : row + 1] for key, value in batch.items()} for row in range(3)]
    together, apart = gram_matrices(model, [batch]), gram_matrices(model, alone)
    for key, matrix in together.matrices.items():
        assert_same(apart.matrices[key], matrix)
    assert together.tokens == apart.tokens


def test_some_blocks_alone_and_in_float32() -> None:
    model, some = tiny("gpt2"), batches(BY_NAME["gpt2"], 2)
    keys = [("decoder", 1), ("decoder.units", 2)]
    ran = []
    found = gram_matrices(model, some, keys, lambda: ran.append(1))
    assert list(found.matrices) == keys
    assert len(ran) == 4, "two batches, two passes"
    every = gram_matrices(exact("gpt2"), some)
    assert set(every.matrices) == set(all_keys(read_anatomy(model)))
    for key in keys:
        assert found.matrices[key].dtype == torch.float64
        assert_same(found.matrices[key], every.matrices[key], FLOAT32)


def test_no_texts_and_numbers_that_are_not_finite() -> None:
    model = tiny("bert")
    with pytest.raises(InvalidOption, match="there are no texts"):
        gram_matrices(model, [])
    with torch.no_grad():
        model.encoder.layer[1].intermediate.dense.bias[3] = float("inf")
    with pytest.raises(NotFinite, match="the outputs of L1U are NaN or infinite for some text"):
        gram_matrices(model, [inputs(BY_NAME["bert"])])
