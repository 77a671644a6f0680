"""What is one training example? Pairs of text segments, drawn at random from a token stream, with masked words.

As in BERT: segment A is one or more whole sentences, segment B the text that follows it or, in half of the pairs, text
from elsewhere; together they fill the row. All of it is tensor arithmetic, so drawing runs on the device that trains.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

MASKED_SHARE = 0.15
SHORTEST_ROW = 24  # tokens, special ones included


class Batch(NamedTuple):
    """Rows for the model and the answers; a short row has fewer masked places, and label -100 at the others."""

    input_ids: Tensor  # row length
    token_type_ids: Tensor  # row length
    attention_mask: Tensor | None  # row length; None when all rows are full
    places: Tensor  # row masked
    labels: Tensor  # row masked
    random_next: Tensor  # row; 0 = B follows A, 1 = B is from elsewhere


@dataclass
class Corpus:
    """A token stream and where its sentences start, without the marks between them."""

    tokens: Tensor  # token
    starts: Tensor  # sentence
    ends: Tensor  # sentence
    document_ends: Tensor  # sentence: where the document of that sentence ends
    vocabulary: int
    cls: int
    sep: int
    mask: int
    first_word: int  # ids below it are special

    @classmethod
    def from_stream(cls, stream: Tensor, vocabulary: int, special: dict[str, int]) -> "Corpus":
        """`special` gives the id of every special piece: `[CLS]` opens a document, `[SEP]` closes a sentence."""
        words = (stream != special["[CLS]"]) & (stream != special["[SEP]"])
        position = words.cumsum(0)  # words up to here
        ends = position[stream == special["[SEP]"]]
        starts = torch.cat([ends.new_zeros(1), ends[:-1]])
        opened = position[stream == special["[CLS]"]]  # where each document starts
        closed = torch.cat([opened[1:], ends[-1:]])
        document = torch.searchsorted(opened, starts, right=True) - 1
        return cls(
            tokens=stream[words].to(torch.int32),
            starts=starts,
            ends=ends,
            document_ends=closed[document],
            vocabulary=vocabulary,
            cls=special["[CLS]"],
            sep=special["[SEP]"],
            mask=special["[MASK]"],
            first_word=max(special.values()) + 1,
        )

    def anchors(self, length: int) -> Tensor:
        """The sentences with at least `length` tokens from their start to the end of their document."""
        found = torch.nonzero(self.document_ends - self.starts >= length).squeeze(1)
        if not len(found):
            raise ValueError(f"no document has {length} tokens: use longer documents or a shorter row")
        return found


def draw(
    corpus: Corpus, anchors: Tensor, rows: int, length: int, generator: torch.Generator, short: bool = False
) -> Batch:
    """A batch of `rows` pairs of `length` tokens; `short` rows end early, each at a random length, and are padded."""
    device = corpus.tokens.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device, generator=generator)

    target = torch.full((rows,), length, device=device)
    if short:
        shortest = min(SHORTEST_ROW, length)
        target = shortest + (uniform(rows) * (length - shortest + 1)).long()
    room = target - 3  # [CLS] A [SEP] B [SEP]

    # A: from a sentence's start to the end of one of the sentences that fit beside a B.
    first = anchors[(uniform(rows) * len(anchors)).long()]
    start = corpus.starts[first]
    last = torch.searchsorted(corpus.ends, start + room, right=True) - 1
    split = first + (uniform(rows) * (last - first).clamp(min=1)).long()
    a_end = corpus.ends[split]
    a_length = torch.minimum(a_end - start, (room * 3) // 4)  # a long sentence loses its front
    a_start = a_end - a_length

    # B: what follows, or a place anywhere.
    elsewhere = corpus.starts[anchors[(uniform(rows) * len(anchors)).long()]]
    random_next = (uniform(rows) < 0.5) | (corpus.document_ends[first] - a_end < room - a_length)
    b_start = torch.where(random_next, elsewhere, a_end)

    place = torch.arange(length, device=device)[None]
    sep_a = (a_length + 1)[:, None]
    sep_b = (target - 1)[:, None]
    source = torch.where(place < sep_a, a_start[:, None] + place - 1, b_start[:, None] + place - sep_a - 1)
    ids = corpus.tokens[source.clamp(0, len(corpus.tokens) - 1)].long()
    ids = torch.where(place == 0, corpus.cls, ids)
    ids = torch.where((place == sep_a) | (place == sep_b), corpus.sep, ids)
    ids = torch.where(place > sep_b, 0, ids)
    types = ((place > sep_a) & (place <= sep_b)).long()

    # Masking: 80 % [MASK], 10 % a random word, 10 % left alone.
    most = max(1, int(MASKED_SHARE * length))
    score = torch.where(ids >= corpus.first_word, uniform(rows, length), -1.0)
    places = score.topk(most, dim=1).indices
    labels = ids.gather(1, places)
    wanted = (target * MASKED_SHARE).long().clamp(min=1)
    labels = torch.where(torch.arange(most, device=device)[None] < wanted[:, None], labels, -100)
    coin = uniform(rows, most)
    word = corpus.first_word + (uniform(rows, most) * (corpus.vocabulary - corpus.first_word)).long()
    shown = torch.where(coin < 0.8, corpus.mask, torch.where(coin < 0.9, word, labels))
    ids = ids.scatter(1, places, torch.where(labels >= 0, shown, ids.gather(1, places)))
    return Batch(ids, types, (place <= sep_b).long() if short else None, places, labels, random_next.long())
