"""Is the boundary of a pair found where the model has no segments, from the tokenizer's encoding?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers as tk
import torch
import transformers as tf

import headcount as hc
from headcount.data.pair_boundary import separates_texts, text_numbers
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "it", "is", "good", "bad", "so", "up", "down"]
PAIRS = pd.DataFrame(
    [("it is good", "so is it"), ("up", "it is so bad so bad"), ("so good is it", "down")],
    columns=["sentence1", "sentence2"],
)


def roberta_tokenizer() -> Any:
    """<s> A </s></s> B </s>, and no token types."""
    words = tk.Tokenizer(tk.models.WordLevel({word: number for number, word in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = tk.pre_tokenizers.Whitespace()
    words.post_processor = tk.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=40,
    )


def naive_shares(model: Any, tokenizer: Any) -> dict[str, np.ndarray]:
    """[layer, head]: attention of words to words of their own and of the other text, one pair after the other."""
    found: dict[str, list[torch.Tensor]] = {"own": [], "across": []}
    for one, other in PAIRS.itertuples(index=False):
        ids = tokenizer(one, other, return_tensors="pt")["input_ids"]
        first, second = len(one.split()), len(other.split())
        texts = [range(1, 1 + first), range(3 + first, 3 + first + second)]
        assert ids.shape[1] == texts[1].stop + 1
        maps = hc.observe(model, {"input_ids": ids}).maps["encoder"][:, :, 0]
        for name, step in (("own", 0), ("across", 1)):
            shares = [maps[:, :, [*texts[at]]][..., [*texts[(at + step) % 2]]].sum(-1) for at in (0, 1)]
            found[name].append(torch.cat(shares, -1).mean(-1))
    return {name: torch.stack(rows).mean(0).numpy() for name, rows in found.items()}


@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "distilbert", "modernbert", "mpnet", "deberta-v2"])
def test_attention_to_the_own_and_to_the_other_text(name: str) -> None:
    model, tokenizer = exact(name, BY_NAME[name].kernels[0]), roberta_tokenizer()
    model.config.type_vocab_size = 0 if name == "deberta-v2" else 1  # as the checkpoints have it
    found = hc.measure(model, tokenizer, PAIRS, only=["sentences"])["sentences"]
    for variable, expected in naive_shares(model, tokenizer).items():
        assert_same(found[variable].sel(stack="encoder").values, expected, 1e-6, variable)


def test_words_that_repeat_in_the_other_text() -> None:
    found = hc.measure(exact("distilbert"), roberta_tokenizer(), PAIRS, only=["repeated"])["repeated"]
    known = np.isfinite(found["values_attention"]).all(("stack", "layer", "head"))
    assert known.values.tolist() == [True, False, False], "'it' and 'is' are in both texts of the first pair alone"


def test_comparison_and_patterns() -> None:
    model, tokenizer = exact("distilbert"), roberta_tokenizer()
    changes = hc.compare(model, model, tokenizer, PAIRS)
    assert changes.attrs["texts"] == 3
    patterns = hc.find_patterns(model, tokenizer, PAIRS)
    assert patterns is not None


def test_maps_of_a_pair() -> None:
    model, tokenizer = exact("distilbert").float(), roberta_tokenizer()
    seen = hc.maps(model, tokenizer, "it is", "so good")
    assert seen["tokens"].values.tolist() == ["<s>", "it", "is", "</s>", "</s>", "so", "good", "</s>"]
    assert seen["segments"].values.tolist() == ["text"] * 5 + ["pair"] * 3


def test_special_tokens_belong_to_the_text_before_them() -> None:
    assert text_numbers([None, 0, None, None, 1, 1, None]) == [0, 0, 0, 0, 1, 1, 1]
    assert text_numbers([0, 1]) == [0, 1]
    assert text_numbers([None, 0, None]) == [0, 0, 0]


def test_a_separator() -> None:
    assert separates_texts(roberta_tokenizer())
