"""What `how=` may be."""

from __future__ import annotations

import pytest

from headcount.ablation.hows import Means, Patch, Plain, Resample, find_how, names_of_hows
from headcount.ablation.replacements import REPLACEMENTS
from headcount.errors import InvalidOption


def test_every_name_stands_for_a_replacement_with_its_defaults() -> None:
    names = names_of_hows()
    assert {name: find_how(name) for name in names} == {
        "zero": Plain("zero"),
        "uniform": Plain("uniform"),
        "mean": Means(),
        "patch": Patch(),
        "resample": Resample(),
    }
    assert set(names) == {*REPLACEMENTS, "patch", "resample"}
    assert find_how(Patch(part="key")) == Patch(part="key")
    assert [find_how(name).name for name in names] == list(names)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: find_how("shuffle"), "how='shuffle'; expected one of zero, uniform, mean, patch, resample"),
        (lambda: Patch(part="mlp"), "part='mlp'; expected one of output, query, key, value, weights"),
        (lambda: Patch(direction="both"), "direction='both'; expected one of denoise, noise"),
        (lambda: Patch(align="word"), "align='word'; expected one of position, span"),
        (lambda: Patch(align="span", part="weights"), "maps of texts of different lengths"),
        (lambda: Resample(0), "draws=0; expected at least 1"),
        (lambda: Means(by="word"), "by='word'; expected one of tokens, position"),
    ],
)
def test_what_is_refused(make: object, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        make()  # type: ignore[operator]
