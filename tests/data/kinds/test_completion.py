"""Completions: which tokens are scored, what their loss and accuracy are, and what a sweep makes of them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.ablation.job import prepare_job
from headcount.data.encode import Encodings, encode
from headcount.data.examples import read_examples
from headcount.data.kinds.tokens import IGNORED
from headcount.data.tasks import find_task
from headcount.errors import BlankRows, DataProblem, ModelUnavailable, UnsuitableModel
from headcount.models.task_heads import language_of
from tests.closeness import EXACT, assert_same
from tests.data.synthetic.tokenizers import KINDS, make, plain_ids

TASK = find_task("completion")
WORDS = ("the", "dough", "rises", "because", "yeast", "1980", "ferments", "sugars", "flour,", "Mary", "Anna.")
PAIRS = pd.DataFrame(
    {
        "prompt": ["the dough rises because", "yeast ferments", "Mary and Anna met"],
        "completion": [" yeast ferments sugars", " sugars in the flour", " Anna"],
    }
)


def encoded(tokenizer: Any, table: pd.DataFrame, limit: int = 64) -> Encodings:
    return encode(read_examples(table, TASK, None, tokenizer=tokenizer), tokenizer, limit)


@cache
def decoder() -> Any:
    """A Llama of 2 layers of 4 heads in float64 for the BPE tokenizer."""
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=len(make("bpe")),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=40,
        max_position_embeddings=256,
        initializer_range=0.4,
    )
    return tf.LlamaForCausalLM(config).eval().double()


def naive(model: Any, tokenizer: Any, prompt: str, completion: str) -> tuple[list[float], list[bool]]:
    """The losses of the tokens of a completion, one pass for each, and whether each is the most probable one."""
    ids = tokenizer(prompt + completion)["input_ids"]
    losses, right = [], []
    for place in range(len(tokenizer(prompt)["input_ids"]), len(ids)):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids[:place]])).logits[0, -1].tolist()
        top = max(logits)
        losses.append(top + math.log(sum(math.exp(value - top) for value in logits)) - logits[ids[place]])
        right.append(logits[ids[place]] == top)
    return losses, right


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(
    prompt=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    completion=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
)
def test_exactly_the_tokens_of_the_completion_are_labelled(kind: str, prompt: list[str], completion: list[str]) -> None:
    tokenizer, before, after = make(kind), " ".join(prompt), "".join(f" {word}" for word in completion)
    row = encoded(tokenizer, pd.DataFrame({"prompt": [before], "completion": [after]})).rows[0]
    assert row["input_ids"] == tokenizer(before + after)["input_ids"]
    labels = [label for label in row["labels"] if label != IGNORED]
    assert plain_ids(tokenizer, before) + labels == plain_ids(tokenizer, before + after)


def test_a_token_across_the_boundary_belongs_to_the_completion() -> None:
    tokenizer = make("bpe")
    apart, across = (
        encoded(tokenizer, pd.DataFrame({"prompt": [f"the dough{end}"], "completion": [f"{start}of the"]})).rows[0]
        for end, start in (("", " "), (" ", ""))
    )
    assert across == apart
    assert tokenizer.decode([label for label in apart["labels"] if label != IGNORED]) == " of the"


def test_loss_and_accuracy_are_those_of_a_loop() -> None:
    model, tokenizer = decoder(), make("bpe")
    # What the model itself would write is right, and one wrong token makes a completion wrong.
    written = tokenizer("the dough rises", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        top = int(model(input_ids=written).logits[0, -1].argmax())
    table = pd.concat([PAIRS, pd.DataFrame({"prompt": ["the dough rises"], "completion": [tokenizer.decode([top])]})])
    table = table.reset_index(drop=True)
    expected = [naive(model, tokenizer, *row) for row in table[["prompt", "completion"]].itertuples(index=False)]
    assert [all(right) for _, right in expected] == [False, False, False, True]
    losses = [loss for row, _ in expected for loss in row]
    scores = {
        "loss": np.mean(losses),
        "perplexity": math.exp(np.mean(losses)),
        "accuracy": 0.25,
        "token_accuracy": sum(sum(right) for _, right in expected) / len(losses),
    }
    for metric, score in scores.items():
        swept = hc.sweep(model, tokenizer, table, task=TASK, metric=metric, by=["L0"])
        assert_same(float(swept["baseline"]), score, EXACT, metric)
        assert swept["baseline_tokens"].sum() == len(losses)


def test_a_sweep_is_a_loop_over_heads() -> None:
    model, tokenizer = decoder(), make("bpe")
    data = hc.Synthetic("repeat", length=6, times=3, examples=4)
    swept = hc.sweep(model, tokenizer, data, how="zero")
    table = data.read(tokenizer, None, 0)
    assert swept.attrs["task"] == "completion"
    assert swept.attrs["data"] == "synthetic:repeat,examples=4,length=6,times=3"
    for layer, head in ((0, 0), (0, 3), (1, 1)):
        with hc.ablated(model, f"L{layer}H{head}", how="zero"):
            losses = [naive(model, tokenizer, row.prompt, row.completion)[0] for row in table.itertuples()]
        assert {len(row) for row in losses} == {12}, "the second and the third copy"
        found = swept.isel(stack=0, layer=layer, head=head)
        assert_same(found["loss"].sortby("example").values, np.sum(losses, axis=1), EXACT)
        assert_same(float(found["score"]), float(np.mean(losses)), EXACT)


def test_the_beginning_of_a_long_text_is_left_out() -> None:
    tokenizer = make("unigram-bos")
    table = pd.DataFrame({"prompt": [" ".join(WORDS * 9), "the dough"], "completion": [" yeast ferments", " rises"]})
    whole, cut = encoded(tokenizer, table, 4096), encoded(tokenizer, table, 40)
    assert (whole.cut, cut.cut) == (0, 1)
    assert cut.rows[1] == whole.rows[1]
    for key in ("input_ids", "labels", "attention_mask"):
        assert cut.rows[0][key] == whole.rows[0][key][:1] + whole.rows[0][key][-39:]
    assert cut.rows[0]["input_ids"][0] == tokenizer.bos_token_id
    table["completion"] = [" yeast", " rises" * 60]
    with pytest.raises(DataProblem, match="row 1: the completion alone is longer than 40 tokens"):
        encoded(tokenizer, table, 40)


def test_measures_still_know_a_causal_model_by_its_text() -> None:
    language = language_of(decoder())
    assert language is not None
    assert language.name == "causal-lm"


def test_other_models_and_tokenizers_are_refused() -> None:
    tokenizer = make("wordpiece")
    masked = tf.AutoModelForMaskedLM.from_pretrained(hc.bundled("pretrained"))
    with pytest.raises(ModelUnavailable, match="BertForMaskedLM cannot do completion: .* by a causal language model"):
        hc.sweep(masked, tokenizer, "synthetic:repeat")

    class Slow:
        is_fast = False

    examples = read_examples(PAIRS, TASK, None)
    with pytest.raises(UnsuitableModel, match="got Slow; expected a fast tokenizer"):
        encode(examples, Slow(), 64)


@pytest.mark.parametrize("column", ["prompt", "completion"])
def test_a_row_without_a_prompt_or_a_completion_is_left_out(column: str) -> None:
    table = PAIRS.copy()
    table.loc[1, column] = " "
    with pytest.warns(BlankRows, match="1 of 3 rows is blank"):
        job = prepare_job(decoder(), make("bpe"), table, TASK, "zero", None, None, 0, None)
    assert job.examples.ids.tolist() == [0, 2]
