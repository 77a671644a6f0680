"""How much of its attention does each head give to the words that give the label away?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Job
from headcount.core.results import ENDS
from headcount.core.schema import Schema
from headcount.data.marks import VocabularyIds, find_facts
from headcount.engines.progress import Progress
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values, share_of_attention
from headcount.measures.feeds import feeds_of
from headcount.measures.inputs import Inputs
from headcount.measures.measurement import CPU_TOKENS, GPU_TOKENS, Measurement, find_setting
from headcount.measures.passes import collect
from headcount.models.dispatched import input_device
from headcount.statistical_cues.cue_tokens import encode_with_cues
from headcount.statistical_cues.pointing import Counting
from headcount.statistical_cues.reading import CueData
from headcount.trace.modes import evaluating

GROUP = "cue_words"
CUE = "cue"
"""The class of the tokens of cue words."""


class CueAttention(Question):
    """Mean attention to the tokens of cue words in the texts that have some, beside what uniform attention gives them.

    Uniform attention goes to all tokens that a query may attend to in equal shares. `gain` is the difference.
    """

    name = "attention"
    summary = "attention to words that give the label away, beside uniform attention"
    paper = "Niven and Kao 2019 (cues); here by head"
    category = "Statistical cues"
    schemas: ClassVar[Schemas] = {
        "attention": share_of_attention("cue words", most=""),
        "uniform": Schema("Uniform attention to cue words", SHARE, "the share of cue words among the keys", (0, 1)),
        "gain": Schema(
            "Attention to cue words, above uniform attention",
            SHARE,
            "above 0: more",
            (-1, 1),
            signed=True,
            most="looks most at cue words (above uniform attention)",
        ),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": (), "uniform": (), "gain": ()}

    def see(self, seen: Seen) -> Values:
        cues = seen.keys.classes[CUE]
        heads = seen.view.total.shape[1]
        if seen.stack == "decoder":  # a query attends to the tokens up to its own
            uniform = cues.cumsum(-1) / seen.keys.real.cumsum(-1).clamp(min=1)
        else:
            share = cues.sum(-1, keepdim=True) / seen.keys.real.sum(-1, keepdim=True)
            uniform = share.expand(-1, seen.queries.real.shape[1])
        with_cues = (cues.sum(-1) > 0)[:, None].expand(-1, heads)
        absent = torch.full_like(with_cues, float("nan"), dtype=torch.float32)
        attention = torch.where(with_cues, seen.mean(seen.mass(CUE)).float(), absent)
        expected = torch.where(with_cues, seen.mean(uniform[:, None].expand(-1, heads, -1)).float(), absent)
        return {"attention": attention, "uniform": expected, "gain": attention - expected}


def attend_to_cues(measurement: Measurement) -> xr.Dataset:
    """The attention of every head to the cue words of the texts."""
    question = CueAttention()
    with evaluating(measurement.model), torch.inference_mode(False):
        feed = feeds_of(measurement)["layers"]
        rows = np.arange(len(measurement.inputs.ids))
        return collect(measurement, [question], rows, feed, GROUP)[question.name]


def look_at_cues(
    job: Job,
    tokenizer: Any,
    read: CueData,
    cues: Sequence[str],
    counting: Counting,
    seed: int,
    out: str | Path | None,
    name: str | None,
    progress: Progress | None,
) -> xr.Dataset | None:
    """The attention to cue words; None where `why_not` says why."""
    if why_not(job.model, tokenizer):
        return None
    inputs = _inputs(tokenizer, job, read, cues, counting)
    tokens = GPU_TOKENS if input_device(job.model).type == "cuda" else CPU_TOKENS
    setting = find_setting(job.model, tokenizer, job.anatomy, inputs)
    return attend_to_cues(
        Measurement(job.model, tokenizer, job.anatomy, inputs, setting, tokens, seed, out, name, None, progress)
    )


def why_not(model: PreTrainedModel, tokenizer: Any) -> str:
    """Why the attention to cue words cannot be told; nothing where it can."""
    if getattr(model.config, "is_encoder_decoder", False):
        return "attention to cue words is left out: an encoder-decoder reads them twice"
    if not getattr(tokenizer, "is_fast", False):
        tokens = f"{type(tokenizer).__name__} does not tell the characters of its tokens"
        return f"attention to cue words is left out: {tokens}"
    return ""


def _inputs(tokenizer: Any, job: Job, read: CueData, cues: Sequence[str], counting: Counting) -> Inputs:
    """The texts as the model reads them, one for each choice of a multiple choice, with their cue words."""
    texts = list(job.examples.texts)
    looked_at: Sequence[int] = {"first": (0,), "second": (1,)}.get(read.side, range(len(texts[0])))
    if read.is_choice:
        texts = [(context, choice) for context, *each in texts for choice in each]
        looked_at = (1,)
    ids = np.repeat(job.examples.ids, len(texts) // len(job.examples.ids))
    encoded = encode_with_cues(tokenizer, texts, looked_at, cues, counting.tokens, counting.cased, job.encodings.limit)
    known = VocabularyIds.of(tokenizer)
    rows, facts = [], []
    for row, positions, words in encoded:
        described = find_facts(row, known, words)
        described.classes[CUE] = positions
        facts.append(described)
        # A model for multiple choice takes several texts an example: here one.
        rows.append({key: [values] for key, values in row.items()} if read.is_choice else row)
    lengths = np.array([one.length for one in facts])
    joined = [" | ".join(text) for text in texts]
    return Inputs(
        rows, facts, None, lengths, ids, joined, False, len(texts[0]) > 1, job.encodings.cut, job.encodings.limit
    )


def attention_arrays(attention: xr.Dataset) -> dict[str, tuple[Any, ...]]:
    """The means of the attention to cue words, with their intervals."""
    names = [f"{name}{end}" for name in CueAttention.schemas for end in ENDS]
    return {name: (attention[name].dims, attention[name].values, attention[name].attrs) for name in names}
