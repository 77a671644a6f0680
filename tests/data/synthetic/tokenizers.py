"""Small tokenizers of the usual kinds, trained on the bundled texts: BPE, WordPiece and Unigram."""

from __future__ import annotations

from functools import cache
from typing import Any

import tokenizers as tk
import transformers as tf

import headcount as hc
from headcount.data.synthetic.names import NAMES, TEMPLATES
from headcount.data.tables import read_table
from headcount.zoo.bundled import bundled_pairs

KINDS = ("bpe", "wordpiece", "unigram", "unigram-bos")
PAD, END, START = "<pad>", "</s>", "<s>"


@cache
def make(kind: str) -> Any:
    if kind == "wordpiece":
        return tf.AutoTokenizer.from_pretrained(hc.bundled("pretrained"))
    texts = [*read_table(bundled_pairs())["sentence"], *TEMPLATES, *[f"We met {name}." for name in NAMES] * 3]
    special = ["<unk>", PAD, START, END]
    if kind == "bpe":
        inner = tk.Tokenizer(tk.models.BPE())
        inner.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = tk.decoders.ByteLevel()
        alphabet = tk.pre_tokenizers.ByteLevel.alphabet()
        trainer = tk.trainers.BpeTrainer(vocab_size=3000, special_tokens=special, initial_alphabet=alphabet)
    else:
        inner = tk.Tokenizer(tk.models.Unigram())
        inner.pre_tokenizer = tk.pre_tokenizers.Metaspace()
        inner.decoder = tk.decoders.Metaspace()
        trainer = tk.trainers.UnigramTrainer(vocab_size=2000, special_tokens=special, unk_token="<unk>")
    inner.train_from_iterator(texts, trainer)
    if kind == "unigram-bos":
        inner.post_processor = tk.processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, 2)])
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", pad_token=PAD, eos_token=END, bos_token=START, model_max_length=4096
    )


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """The token ids of a text without special tokens."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
