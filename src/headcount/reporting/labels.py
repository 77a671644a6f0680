"""What people read: the names, units and directions of the numbers that a study holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Label:
    """How a variable is called, its unit, and what its colours mean."""

    title: str
    unit: str
    says: str


SHARE = "share of attention"
_LABELS = {
    ("position", "previous"): Label("Attention to the previous token", SHARE, "1: looks at nothing else"),
    ("position", "next"): Label("Attention to the next token", SHARE, "1: looks at nothing else"),
    ("position", "same"): Label("Attention to the token itself", SHARE, "1: looks at nothing else"),
    ("position", "best_share"): Label("Tokens that look to one offset", "share of tokens", "0.9 or more: positional"),
    ("position", "best_offset"): Label("The offset looked at most", "tokens", "-1: the previous token, +1: the next"),
    ("position", "positional"): Label("Positional head", "", "nine tokens of ten look to the same offset"),
    ("special", "cls"): Label("Attention to [CLS]", SHARE, "1: looks at nothing else"),
    ("special", "sep"): Label("Attention to [SEP]", SHARE, "1: looks at nothing else"),
    ("special", "sep_from_sep"): Label("Attention from [SEP] to [SEP]", SHARE, "1: looks at nothing else"),
    ("special", "sep_from_other"): Label("Attention from words to [SEP]", SHARE, "1: looks at nothing else"),
    ("special", "punctuation"): Label("Attention to full stops and commas", SHARE, "1: looks at nothing else"),
    ("special", "first"): Label("Attention to the first token", SHARE, "1: looks at nothing else"),
    ("special", "other"): Label("Attention to words", SHARE, "all but special tokens, full stops and commas"),
    ("entropy", "entropy"): Label("Entropy of the attention", "nats", "low: looks at few tokens, high: at many alike"),
    ("entropy", "from_first"): Label("Entropy of the first token's attention", "nats", "low: looks at few tokens"),
    ("entropy", "uniform"): Label("Entropy of looking everywhere alike", "nats", "what the texts' lengths allow"),
    ("entropy", "share_of_uniform"): Label("Entropy beside looking everywhere alike", "share", "1: looks everywhere"),
    ("entropy", "broad"): Label("Broad head", "", "at least 0.8 of the entropy of looking everywhere alike"),
    ("spread", "focused"): Label("Focused head", "", "sure of one token most of the time"),
    ("spread", "confidence"): Label("Confidence", "mean largest weight", "1: always looks at one token"),
    ("spread", "distance"): Label("How far it looks", "tokens", "high: far away"),
    ("sentences", "across"): Label("Attention to the other text of the pair", SHARE, "high: ties the two together"),
    ("sentences", "own"): Label("Attention to the own text of the pair", SHARE, "high: stays in its text"),
    ("repeated", "attention"): Label("Attention to the same word in the other text", SHARE, "high: ties them"),
    ("repeated", "gain"): Label("The same word in the other text, over other words", SHARE, "above 0: more"),
    ("repeated", "control"): Label("Other words of the other text", SHARE, "what the same words are held against"),
    ("rare", "attention"): Label("Attention to the rarest word", SHARE, "high: looks for rare words"),
    ("rare", "gain"): Label("The rarest word, over other words", SHARE, "above 0: more than other words get"),
    ("rare", "control"): Label("Words but the rarest", SHARE, "what the rarest word is held against"),
    ("rare", "largest"): Label("Tokens that look at the rarest word most", "share of tokens", "high: rare words"),
    ("contribution", "share"): Label("What it writes, of its layer", "share", "high: writes most of its layer's sum"),
    ("contribution", "written"): Label("Length of what it writes", "length", "high: changes the stream much"),
    ("contribution", "output_norm"): Label("Length of its output", "length", "before the output projection"),
    ("contribution", "near_zero"): Label("Attention on near-zero values", SHARE, "high: looks at nothing"),
    ("contribution", "sep_value"): Label("Length of [SEP]'s value", "1: the mean", "low: looking there does nothing"),
    ("gradients", "sep"): Label("Loss by attention to [SEP]", "gradient", "low: the loss does not hang on it"),
    ("gradients", "punctuation"): Label("Loss by attention to punctuation", "gradient", "low: does not hang on it"),
    ("gradients", "other"): Label("Loss by attention to words", "gradient", "low: the loss does not hang on it"),
    ("links", "gain"): Label("over the same offset elsewhere", SHARE, "above 0: follows the relation itself"),
    ("links", "attention"): Label("attention", SHARE, "high: follows the relation"),
    ("links", "control"): Label("same offset elsewhere", SHARE, "what the relation is held against"),
    ("features", "attention"): Label("attention to a word of this kind", SHARE, "the largest weight on one"),
    ("features", "from_first"): Label("attention from the first token", SHARE, "the largest weight on one"),
    ("distances", "cluster"): Label("Group of heads with like maps", "group", "heads of one group look alike"),
    ("patterns", "share"): Label("maps with this pattern", "share of texts", "1: in every text"),
    ("patterns", "sure"): Label("How sure the rule is of the pattern", "probability", "low: the maps could be either"),
    ("patterns", "shapes"): Label("shape of its maps", "light", "what the name of the pattern rests on"),
    ("cosine", "maps"): Label("Likeness of the maps before and after", "cosine", "1: unchanged by fine-tuning"),
    ("cosine", "outputs"): Label("Likeness of the outputs before and after", "cosine", "1: unchanged by fine-tuning"),
    ("importance", "michel"): Label("Importance", "mean |slope of the loss|", "high: the loss hangs on it"),
    ("importance", "michel_normed"): Label("Importance, by layer", "1: all of its layer", "high: the loss hangs on it"),
    ("importance", "taylor"): Label("Expected rise of the loss without it", "loss", "above 0: the head is needed"),
    ("importance", "gate"): Label("Importance, signs cancelling", "|mean slope|", "high: the loss hangs on it"),
    ("importance", "gate_normed"): Label("Importance, signs cancelling, by layer", "1: all", "high: needed"),
    ("importance", "norm"): Label("Length of its output (importance)", "length", "high: says much"),
    ("importance", "norm_normed"): Label("Length of its output, by layer", "1: all of its layer", "high: says much"),
}
SIGNED = {
    ("repeated", "gain"),
    ("rare", "gain"),
    ("links", "gain"),
    ("importance", "taylor"),
    ("position", "best_offset"),
}
"""Those with a meaning on both sides of 0."""
CHOICES = {("distances", "cluster"), ("position", "positional"), ("entropy", "broad"), ("spread", "focused")}
"""Those that name a kind, not an amount."""


def find_label(measure: str, variable: str) -> Label:
    """The label of a variable, or one made of its names.

    >>> find_label("special", "sep").title, find_label("new", "thing").title
    ('Attention to [SEP]', 'new: thing')
    """
    return _LABELS.get((measure, variable), Label(f"{measure}: {variable.replace('_', ' ')}", "", ""))
