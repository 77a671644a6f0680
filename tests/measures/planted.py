"""A model whose attention is known by construction: each head of `ROLES` looks where its role says, on any text.

A hidden state is three one-hot codes side by side: position, word, token type. Queries and keys read one of them
each. Attention and feed-forward layers add nothing, and every layer norm is the identity on such states (all have
the same mean and variance), so that both layers see the embeddings. Heads without a role, and heads whose target
is not in the text, attend to all real tokens alike.
"""

from __future__ import annotations

from math import sqrt

import tokenizers as tk
import torch
import transformers as tf
from torch import Tensor


def _words(spelled: str) -> frozenset[str]:
    return frozenset(spelled.split())


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
STOPS = (".", ",")
NOUNS = _words("dog cat man woman child teacher house river tree book bird fish night door letter garden")
VERBS = _words("saw chased read wrote slept opened likes was is ran found sings gave")
OTHERS = _words(
    "he she it they him her we you the a this every some in on near to with and but because not never old small red "
    "quickly"
)
WORDS = (*SPECIAL, *STOPS, "##s", *sorted(NOUNS), *sorted(VERBS), *sorted(OTHERS))

LAYERS, HEADS, SIZE = 2, 8, 64  # a head has a place for each position, or for each word
ROLES = {
    "previous": "L0H0",
    "separator": "L0H2",
    "noun": "L0H3",
    "repeated word": "L0H5",
    "uniform": "L0H6",
    "next": "L1H1",
    "same": "L1H2",
    "first": "L1H4",
    "own sentence": "L1H5",
    "full stop": "L1H7",
}
GAP = 12.0  # how far a target's score is above the others': one target among 64 tokens gets 0.9996

SENTENCES = [
    "The dog chased a cat.",
    "She slept.",
    "Every child likes the old teacher, but he never saw him.",
    "It was not red",
    "The man gave the letter to the woman because the woman wrote the letter.",
    "They ran quickly, and we found some fish near the river.",
    "A small bird sings in this tree",
    "You read the book, opened the door, saw the garden, and slept with the cat in the small house on the river.",
    "A teacher is not a child, a dog is not a cat, a fish is not a bird.",
    "He ran to her.",
]
PAIRS = [
    ("The dog chased a cat.", "A cat chased the dog."),
    ("She slept.", "Every night she slept in the old house near the river."),
    ("The man read a book to the child, and the child likes the book.", "The child likes it."),
    ("It was not red", "They never saw it, but we saw it"),
    ("A bird sings in the garden.", "The woman opened the door to the garden, and the bird ran."),
    ("He gave him a letter because he likes him.", "A letter was in the house"),
    ("You and the teacher wrote this", "The teacher wrote this quickly."),
]


def _tokenizer() -> tf.PreTrainedTokenizerFast:
    numbers = {word: number for number, word in enumerate(WORDS)}
    inner = tk.Tokenizer(tk.models.WordPiece(numbers, unk_token="[UNK]"))
    inner.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    inner.post_processor = tk.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, numbers[name]) for name in ("[CLS]", "[SEP]")],
    )
    inner.decoder = tk.decoders.WordPiece()
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _queries_and_keys() -> dict[str, tuple[Tensor, Tensor]]:
    """What a head of each role reads of a hidden state, as query and as key: [SIZE, hidden]."""
    hidden = HEADS * SIZE
    position, word = torch.eye(2 * SIZE, hidden).split(SIZE)
    segment = torch.zeros(SIZE, hidden)
    segment[0, 2 * SIZE], segment[1, 2 * SIZE + 1] = 1, 1
    always = torch.zeros(SIZE, hidden)
    always[0] = position.sum(0)  # every token has a position

    def one_of(*words: str) -> Tensor:
        reader = torch.zeros(SIZE, hidden)
        reader[0] = word[[WORDS.index(name) for name in words]].sum(0)
        return reader

    later = torch.diag(torch.ones(SIZE - 1), 1)  # place p is filled from place p + 1
    return {
        "previous": (later @ position, position),
        "next": (later.T @ position, position),
        "same": (position, position),
        "first": (always, one_of("[CLS]")),
        "separator": (always, one_of("[SEP]")),
        "own sentence": (segment, segment),
        "noun": (always, one_of(*NOUNS)),
        "uniform": (torch.zeros_like(always), torch.zeros_like(always)),
        "full stop": (always, one_of(*STOPS)),
        "repeated word": (word, word),
    }


@torch.no_grad()
def planted_attention() -> tuple[tf.BertForMaskedLM, tf.PreTrainedTokenizerFast]:
    """The model, in eval mode, and its tokenizer. Values and the language model head are random, from a fixed seed."""
    hidden = HEADS * SIZE
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=hidden,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=8,
        max_position_embeddings=SIZE,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = tf.BertForMaskedLM(config).eval()
    embeddings = model.bert.embeddings
    codes = torch.eye(hidden)
    embeddings.position_embeddings.weight.copy_(codes[:SIZE])
    embeddings.word_embeddings.weight.copy_(codes[SIZE : SIZE + len(WORDS)])
    embeddings.token_type_embeddings.weight.copy_(codes[2 * SIZE : 2 * SIZE + 2])
    # A state is three ones among zeros.
    mean = 3 / hidden
    deviation = sqrt(mean - mean**2 + config.layer_norm_eps)
    norms = [embeddings.LayerNorm]
    for layer in model.bert.encoder.layer:
        norms += [layer.attention.output.LayerNorm, layer.output.LayerNorm]
        for linear in (
            layer.attention.self.query,
            layer.attention.self.key,
            layer.attention.output.dense,
            layer.output.dense,
        ):
            linear.weight.zero_()
            linear.bias.zero_()
    for norm in norms:
        norm.weight.fill_(deviation)
        norm.bias.fill_(mean)
    for role, (query, key) in _queries_and_keys().items():
        layer, head = map(int, ROLES[role][1:].split("H"))
        rows = slice(head * SIZE, (head + 1) * SIZE)
        attention = model.bert.encoder.layer[layer].attention.self
        attention.query.weight[rows] = GAP * sqrt(SIZE) * query
        attention.key.weight[rows] = key
    return model, _tokenizer()
