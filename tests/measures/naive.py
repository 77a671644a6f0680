"""The plain way to every measure: the whole map of one text, unpadded, in float64, and one formula a function.

Nothing here is shared with the measures themselves. A map is [layer, head, query, key]; a formula goes through queries
and keys one by one and gives [layer, head, ...] by variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial.distance import jensenshannon

import headcount as hc

Values = dict[str, np.ndarray]
OFFSETS = range(-8, 9)
OUTSIDE = ("[CLS]", "[SEP]", "[PAD]", "[MASK]")
NEGATIONS = (
    "neither",
    "nor",
    "not",
    "never",
    "none",
    "don't",
    "won't",
    "didn't",
    "hadn't",
    "haven't",
    "can't",
    "isn't",
    "wasn't",
    "shouldn't",
    "couldn't",
    "nothing",
    "nowhere",
    "n't",
)
FEATURES = ("noun", "verb", "pronoun", "subject", "object", "negation", "cls", "sep", "punctuation")
LINKS = ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun")


@dataclass
class Sentence:
    """Words with Universal Dependencies; heads count from 1, 0 is the root; antecedents count from 0."""

    words: list[str]
    upos: list[str]
    heads: list[int]
    deprels: list[str]
    antecedents: dict[int, int] = field(default_factory=dict)


@dataclass
class Text:
    """One text as the model takes it, and what its heads did with it when it was alone."""

    encoding: dict[str, Any]
    tokens: list[str]
    segments: list[int]
    words: list[int | None]
    sentence: Sentence | None
    maps: np.ndarray
    outputs: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)

    def at(self, *tokens: str) -> list[int]:
        return [place for place, token in enumerate(self.tokens) if token in tokens]

    @property
    def inside(self) -> list[int]:
        """The tokens of words and punctuation marks."""
        return [place for place, token in enumerate(self.tokens) if token not in OUTSIDE]

    def pieces(self, word: int) -> list[int]:
        return [
            place for place, number in enumerate(self.words) if number == word and self.tokens[place] not in OUTSIDE
        ]


def read_conllu(path: Path) -> list[Sentence]:
    sentences = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line[0].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]
        nouns = {}
        for place, row in enumerate(rows):
            for entry in row[9].split("|"):
                if entry.startswith("Antecedent="):
                    nouns[place] = int(entry.split("=")[1]) - 1
        sentences.append(
            Sentence([r[1] for r in rows], [r[3] for r in rows], [int(r[6]) for r in rows], [r[7] for r in rows], nouns)
        )
    return sentences


def see(model: Any, tokenizer: Any, text: str | tuple[str, str] | Sentence) -> Text:
    """The text alone, without padding."""
    if isinstance(text, Sentence):
        made = tokenizer(text.words, is_split_into_words=True)
    else:
        made = tokenizer(*([text] if isinstance(text, str) else text))
    encoding = {key: list(made[key]) for key in made}
    tokens = tokenizer.convert_ids_to_tokens(encoding["input_ids"])
    seen = hc.observe(model, {key: torch.tensor([value]) for key, value in encoding.items()})
    return Text(
        encoding,
        tokens,
        encoding.get("token_type_ids", [0] * len(tokens)),
        made.word_ids(),
        text if isinstance(text, Sentence) else None,
        seen.maps["encoder"][:, :, 0].double().numpy(),
        seen.outputs["encoder"][:, :, 0].double().numpy(),
    )


def mass(maps: np.ndarray, query: int, keys: list[int]) -> np.ndarray:
    """What one query gives to some keys [layer, head]."""
    total = np.zeros(maps.shape[:2])
    for key in keys:
        total += maps[:, :, query, key]
    return total


def mean(rows: list[np.ndarray], like: np.ndarray) -> np.ndarray:
    return sum(rows) / len(rows) if rows else np.full(like.shape[:2], np.nan)


def position(maps: np.ndarray) -> Values:
    length = maps.shape[2]
    attention, largest = [], []
    for offset in OFFSETS:
        queries = [query for query in range(length) if 0 <= query + offset < length]
        attention.append(mean([maps[:, :, query, query + offset] for query in queries], maps))
        often = queries if 2 * len(queries) >= length else []  # few tokens say nothing of a habit
        largest.append(mean([maps[:, :, query].argmax(-1) == query + offset for query in often], maps))
    found = {"attention": np.stack(attention, -1), "largest_at": np.stack(largest, -1)}
    for name, offset in (("previous", -1), ("same", 0), ("next", 1)):
        found[name] = attention[OFFSETS.index(offset)]
    return found


def clear(maps: np.ndarray, gap: float = 1e-5) -> np.ndarray:
    """The heads [layer, head] whose largest weight is the largest beyond doubt at every query."""
    if maps.shape[3] == 1:
        return np.ones(maps.shape[:2], dtype=bool)
    ordered = np.sort(maps, -1)
    return np.asarray((ordered[..., -1] - ordered[..., -2] > gap).all(-1))


def special(text: Text, maps: np.ndarray | None = None) -> Values:
    maps = text.maps if maps is None else maps
    every = range(len(text))
    stops, separators = text.at(".", ","), text.at("[SEP]")
    rest = [place for place in text.inside if place not in stops]
    kinds = {"first": [0], "punctuation": stops, "other": rest, "cls": text.at("[CLS]"), "sep": separators}
    found = {name: mean([mass(maps, query, keys) for query in every], maps) for name, keys in kinds.items()}
    found["sep_from_sep"] = mean([mass(maps, query, separators) for query in separators], maps)
    others = [query for query in every if query not in separators]
    found["sep_from_other"] = mean([mass(maps, query, separators) for query in others], maps)
    return found


def sentences(text: Text) -> Values:
    members = [[place for place in text.inside if text.segments[place] == number] for number in (0, 1)]
    own = [mass(text.maps, query, members[text.segments[query]]) for query in text.inside]
    across = [mass(text.maps, query, members[1 - text.segments[query]]) for query in text.inside]
    return {"own": mean(own, text.maps), "across": mean(across, text.maps)}


def entropy(maps: np.ndarray, allowed: list[int] | None = None) -> Values:
    """`allowed`: how many keys each query may attend to; all of them if None."""
    queries, keys = maps.shape[2:]
    rows = []
    for query in range(queries):
        row = np.zeros(maps.shape[:2])
        for key in range(keys):
            weight = maps[:, :, query, key]
            row -= np.where(weight > 0, weight * np.log(np.where(weight > 0, weight, 1)), 0)
        rows.append(row)
    counts = [keys] * queries if allowed is None else allowed
    uniform = sum(np.log(count) for count in counts) / queries
    return {"entropy": mean(rows, maps), "from_first": rows[0], "uniform": np.full(maps.shape[:2], uniform)}


def spread(maps: np.ndarray) -> Values:
    queries, keys = maps.shape[2:]
    confidence = [maps[:, :, query].max(-1) for query in range(queries)]
    distance = []
    for query in range(queries):
        distance.append(sum(maps[:, :, query, key] * abs(key - query) for key in range(keys)))
    return {"confidence": mean(confidence, maps), "distance": mean(distance, maps)}


def kinds(text: Text) -> dict[str, list[int]]:
    """The tokens of each feature that can be known of the text."""
    found = {"cls": text.at("[CLS]"), "sep": text.at("[SEP]"), "punctuation": text.at(".", ",")}
    sentence = text.sentence
    if sentence is None:
        return found
    words: dict[str, list[int]] = {name: [] for name in FEATURES[:6]}
    for place, (word, upos, deprel) in enumerate(zip(sentence.words, sentence.upos, sentence.deprels, strict=True)):
        base = deprel.split(":")[0]
        if upos == "NOUN" or upos == "PROPN":
            words["noun"].append(place)
        if upos == "VERB":
            words["verb"].append(place)
        if upos == "PRON":
            words["pronoun"].append(place)
        if base in ("nsubj", "csubj", "expl") or deprel == "obl:agent":
            words["subject"].append(place)
        if base in ("obj", "iobj"):
            words["object"].append(place)
        if word.lower() in NEGATIONS:
            words["negation"].append(place)
    return found | {name: [piece for word in members for piece in text.pieces(word)] for name, members in words.items()}


def features(text: Text) -> Values:
    """`attention` and `from_first` [layer, head, feature], in the order of `FEATURES` that are known."""
    found = kinds(text)
    attention, first = [], []
    for name in (name for name in FEATURES if name in found):
        best = best_first = np.full(text.maps.shape[:2], np.nan)
        for key in found[name]:
            column = sum(text.maps[:, :, query, key] for query in range(len(text))) / len(text)
            best = np.fmax(best, column)
            best_first = np.fmax(best_first, text.maps[:, :, 0, key])
        attention.append(best)
        first.append(best_first)
    return {"attention": np.stack(attention, -1), "from_first": np.stack(first, -1)}


def word_pairs(sentence: Sentence) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in LINKS}
    for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
        if deprel.split(":")[0] in ("nsubj", "csubj") and head > 0 and sentence.upos[head - 1] == "VERB":
            found["verb to subject"].append((head - 1, word))
            found["subject to verb"].append((word, head - 1))
    for pronoun, noun in sentence.antecedents.items():
        found["noun to pronoun"].append((noun, pronoun))
        found["pronoun to noun"].append((pronoun, noun))
    return found


def links(text: Text) -> Values:
    """[layer, head, link]: from a word the mean over its pieces, to a word the sum over its pieces."""
    assert text.sentence is not None
    attention, control = [], []
    for pairs in word_pairs(text.sentence).values():
        placed = [(text.pieces(one), text.pieces(other)) for one, other in pairs]
        linked = [piece for sources, _ in placed for piece in sources]
        along, elsewhere = [], []
        for sources, targets in placed:
            along.append(mean([mass(text.maps, query, targets) for query in sources], text.maps))
            offsets = [target - sources[0] for target in targets]
            others = [
                place
                for place in text.inside
                if place not in linked and all(place + offset in text.inside for offset in offsets)
            ]
            if others:
                rows = [mass(text.maps, place, [place + offset for offset in offsets]) for place in others]
                elsewhere.append(mean(rows, text.maps))
        attention.append(mean(along, text.maps))
        control.append(mean(elsewhere, text.maps))
    found = {"attention": np.stack(attention, -1), "control": np.stack(control, -1)}
    return found | {"gain": found["attention"] - found["control"]}


def repeated(text: Text) -> Values:
    def spelled(place: int) -> list[str]:
        """All pieces of the token's word."""
        return [
            text.tokens[other]
            for other in text.inside
            if text.words[other] == text.words[place] and text.segments[other] == text.segments[place]
        ]

    words = [place for place in text.inside if text.tokens[place] not in (".", ",")]
    attention, control = [], []
    for query in words:
        there = [place for place in text.inside if text.segments[place] != text.segments[query]]
        same = [place for place in there if place in words and spelled(place) == spelled(query)]
        different = [place for place in there if place in words and place not in same]
        if same and different:
            attention.append(mass(text.maps, query, same))
            control.append(mass(text.maps, query, different) / len(different) * len(same))
    found = {"attention": mean(attention, text.maps), "control": mean(control, text.maps)}
    return found | {"gain": found["attention"] - found["control"]}


def bert_values(model: Any, text: Text) -> np.ndarray:
    """The value vectors [layer, head, token, size] of a BERT, from its weights and hidden states."""
    heads, size = text.outputs.shape[1], text.outputs.shape[3]
    with torch.no_grad():
        states = model.base_model(
            **{key: torch.tensor([value]) for key, value in text.encoding.items()}, output_hidden_states=True
        ).hidden_states
    found = []
    for layer, state in zip(model.base_model.encoder.layer, states[:-1], strict=True):
        linear = layer.attention.self.value
        weight, bias = linear.weight.detach().double().numpy(), linear.bias.detach().double().numpy()
        rows = [weight @ vector + bias for vector in state[0].double().numpy()]
        found.append(np.stack(rows).reshape(len(text), heads, size).transpose(1, 0, 2))
    return np.stack(found)


def bert_projections(model: Any) -> list[np.ndarray]:
    """The output projection of each layer [width, heads * size]."""
    return [layer.attention.output.dense.weight.detach().double().numpy() for layer in model.base_model.encoder.layer]


def written(outputs: np.ndarray, projections: list[np.ndarray]) -> Values:
    """From head outputs [layer, head, token, size]: lengths before and after the projection, and shares of the sum."""
    layers, heads, length, size = outputs.shape
    norm, after, share = (np.zeros((layers, heads)) for _ in range(3))
    for layer in range(layers):
        for token in range(length):
            parts = []
            for head in range(heads):
                output = outputs[layer, head, token]
                norm[layer, head] += np.sqrt((output**2).sum()) / length
                parts.append(projections[layer][:, head * size : (head + 1) * size] @ output)
            whole = sum(parts)
            for head, part in enumerate(parts):
                after[layer, head] += np.sqrt((part**2).sum()) / length
                with np.errstate(invalid="ignore"):
                    share[layer, head] += part @ whole / (whole @ whole) / length
    return {"output_norm": norm, "written": after, "share": share}


def near_zero(maps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Attention on values [layer, head, key, size] shorter than a quarter of the median; mean over queries."""
    found = np.zeros(maps.shape[:2])
    for layer, head in np.ndindex(*maps.shape[:2]):
        lengths = [np.sqrt((value**2).sum()) for value in values[layer, head]]
        median = np.median(lengths)
        for key, length in enumerate(lengths):
            if length < median / 4:
                found[layer, head] += maps[layer, head, :, key].mean()
    return found


def contribution(model: Any, text: Text) -> Values:
    values = bert_values(model, text)
    lengths = np.sqrt((values**2).sum(-1))
    found = written(text.outputs, bert_projections(model))
    found["near_zero"] = near_zero(text.maps, values)
    found["sep_value"] = sum(lengths[:, :, place] for place in text.at("[SEP]")) / len(text.at("[SEP]"))
    found["sep_value"] /= sum(lengths[:, :, place] for place in range(len(text))) / len(text)
    return found


def masked(text: Text, tokenizer: Any, seed: int, number: int) -> tuple[dict[str, Any], dict[int, int]]:
    """The encoding with 15 % of its words masked, at least one, and the token that stood at each of these places."""
    count = max(1, round(0.15 * len(text.inside)))
    chosen = np.random.default_rng([seed, number]).permutation(text.inside)[:count]
    ids = list(text.encoding["input_ids"])
    hidden = {int(place): ids[place] for place in chosen}
    for place in hidden:
        ids[place] = tokenizer.mask_token_id
    return text.encoding | {"input_ids": ids}, hidden


def word_loss(logits: torch.Tensor, wanted: dict[int, int]) -> torch.Tensor:
    """The mean over places of -log p(token), from logits [place, vocabulary]."""
    losses = [logits[place].logsumexp(-1) - logits[place, token] for place, token in wanted.items()]
    return torch.stack(losses).mean()


def map_gradients(model: Any, encoding: dict[str, Any], wanted: dict[int, int]) -> dict[str, np.ndarray]:
    def objective(result: Any) -> torch.Tensor:
        logits = result.prediction_logits if "prediction_logits" in result else result.logits
        return word_loss(logits[0], wanted)

    inputs = {key: torch.tensor([value]) for key, value in encoding.items()}
    found = hc.observe(model, inputs, gradients=True, objective=objective).map_gradients
    return {stack: gradient[:, :, 0].double().numpy() for stack, gradient in found.items()}


def gradients(gradient: np.ndarray, kinds: dict[str, list[int]], causal: bool = False) -> Values:
    """The mean size of the gradient over all queries and the keys of each kind that they may attend to."""
    found = {}
    for name, keys in kinds.items():
        entries = [
            abs(gradient[:, :, query, key])
            for query in range(gradient.shape[2])
            for key in keys
            if not causal or key <= query
        ]
        found[name] = mean(entries, gradient)
    return found


def gradient_kinds(text: Text) -> dict[str, list[int]]:
    stops = text.at(".", ",")
    rest = [place for place in text.inside if place not in stops]
    return {"sep": text.at("[SEP]"), "punctuation": stops, "other": rest}


def distances(maps: np.ndarray) -> np.ndarray:
    """[layer, head, layer, head]: the Jensen-Shannon divergence in nats, mean over the queries."""
    layers, heads, queries, keys = maps.shape
    flat = maps.reshape(layers * heads, queries, keys)
    found = np.zeros((len(flat), len(flat)))
    for one, other in np.ndindex(*found.shape):
        if one < other:
            with np.errstate(invalid="ignore"):  # of rows that are the same, the root of what is rounded below zero
                root = jensenshannon(flat[one], flat[other], axis=-1)
            found[one, other] = found[other, one] = (np.nan_to_num(root) ** 2).mean()
    return found.reshape(layers, heads, layers, heads)


def induction(maps: np.ndarray, tokens: list[int]) -> Values:
    """`tokens`: the ids, -1 for special ones."""
    return _earlier(maps, tokens, 1)


def duplicate(maps: np.ndarray, tokens: list[int]) -> Values:
    return _earlier(maps, tokens, 0)


def _earlier(maps: np.ndarray, tokens: list[int], distance: int) -> Values:
    attention, control = [], []
    for query, token in enumerate(tokens):
        if token == -1:
            continue
        candidates = [key for key in range(1, query) if tokens[key] != -1]
        same = [key for key in candidates if key - distance >= 0 and tokens[key - distance] == token]
        rest = [key for key in candidates if key not in same]
        if same and rest:
            attention.append(mass(maps, query, same))
            control.append(mass(maps, query, rest) / len(rest) * len(same))
    found = {"attention": mean(attention, maps), "control": mean(control, maps)}
    return found | {"gain": found["attention"] - found["control"]}


@dataclass
class LogitReader:
    """How a decoder makes logits of a text's last states [token, width]: a norm, then the output embedding."""

    states: np.ndarray
    gain: np.ndarray
    eps: float
    centred: bool
    embedding: np.ndarray

    def above_mean(self, vector: np.ndarray, query: int, token: int) -> float:
        """What a part of a state adds to a token's logit above the mean logit, at the scale of the query's state."""
        state = self.states[query]
        if self.centred:
            state, vector = state - state.mean(), vector - vector.mean()
        normed = vector * self.gain / np.sqrt((state**2).mean() + self.eps)
        logits = self.embedding @ normed
        return float(logits[token] - logits.mean())


def direct_effect(
    outputs: np.ndarray, projections: list[np.ndarray], reader: LogitReader, ids: list[int], asked: list[int]
) -> Values:
    """From head outputs [layer, head, token, size]; `asked` are the tokens whose successor is due."""
    layers, heads, _, size = outputs.shape
    found = {name: np.zeros((layers, heads)) for name in ("effect", "control")}
    for layer, head in np.ndindex(layers, heads):
        part = projections[layer][:, head * size : (head + 1) * size]
        effects, controls = [], []
        for query in asked:
            wrote = part @ outputs[layer, head, query]
            right = ids[query + 1]
            effects.append(reader.above_mean(wrote, query, right))
            controls.append(mean_number([reader.above_mean(wrote, query, other) for other in ids if other != right]))
        found["effect"][layer, head], found["control"][layer, head] = mean_number(effects), mean_number(controls)
    return found | {"gain": found["effect"] - found["control"]}


def copying(
    maps: np.ndarray, values: np.ndarray, projections: list[np.ndarray], reader: LogitReader, ids: list[int]
) -> Values:
    """Of a text without special tokens, from values [layer, head, key, size]."""
    layers, heads, length, size = values.shape
    names = ("rise", "control", "rank")
    found = {name: np.full((layers, heads), np.nan) for name in names}
    for layer, head in np.ndindex(layers, heads):
        part = projections[layer][:, head * size : (head + 1) * size]
        rises, controls, ranks, weights = [], [], [], []
        for query in range(2, length):
            rise = control = 0.0
            for key in range(1, query):
                weight, wrote = maps[layer, head, query, key], part @ values[layer, head, key]
                own = reader.above_mean(wrote, query, ids[key])
                others = [reader.above_mean(wrote, query, other) for other in ids if other != ids[key]]
                rise += weight * own
                control += weight * mean_number(others)
                distinct = [reader.above_mean(wrote, query, other) for other in {*ids} - {ids[key]}]
                if distinct:
                    ranks.append(weight * mean_number([own > other for other in distinct]))
                    weights.append(weight)
            rises.append(rise)
            controls.append(control)
        found["rise"][layer, head], found["control"][layer, head] = mean_number(rises), mean_number(controls)
        if weights:
            found["rank"][layer, head] = sum(ranks) / sum(weights)
    return found | {"gain": found["rise"] - found["control"]}


def mean_number(numbers: list[Any]) -> float:
    return sum(numbers) / len(numbers) if numbers else float("nan")


def retrieval(maps: np.ndarray, ids: list[int], needle: list[int], answer: list[int]) -> Values:
    """`needle` and `answer`: the positions of the answer in the needle, and at the end."""
    score, attention, chance = [], [], []
    for due in answer:
        query = due - 1
        right = [key for key in needle if key <= query and ids[key] == ids[due]]
        score.append(np.isin(maps[:, :, query].argmax(-1), right).astype(float))
        attention.append(mass(maps, query, right))
        chance.append(np.full(maps.shape[:2], len(right) / due))
    return {"score": mean(score, maps), "attention": mean(attention, maps), "chance": mean(chance, maps)}
