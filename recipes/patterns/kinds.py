"""The kinds of rules that were tried, each fitted to some maps and asked for the chances of patterns of others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight
from torch import Tensor, nn

from headcount.patterns.naming import PATTERNS
from headcount.patterns.shapes import LIGHTS, SHAPES
from recipes.patterns.labelled import VARIED, Maps
from recipes.patterns.shape import draw_pictures

MEMBERS = 5
"""Perceptrons whose logits are averaged."""


class Kind(Protocol):
    def fit(self, maps: Maps, rows: np.ndarray) -> Kind: ...
    def chances(self, maps: Maps, rows: np.ndarray) -> np.ndarray: ...


def weigh(maps: Maps, rows: np.ndarray, balanced: bool) -> np.ndarray:
    """The weights of maps in a fit: those that were varied at random count less, rare patterns more."""
    weight = np.where(maps.family[rows] == VARIED, 0.3, 1.0)
    return weight * compute_sample_weight("balanced", maps.labels[rows]) if balanced else weight


@dataclass
class Scale:
    """Shapes with mean 0 and deviation 1, cut off at 4."""

    count: int
    centre: np.ndarray = field(init=False)
    scale: np.ndarray = field(init=False)

    def fit(self, shapes: np.ndarray) -> Scale:
        self.centre = shapes[:, : self.count].mean(0)
        self.scale = shapes[:, : self.count].std(0).clip(1e-6)
        return self

    def __call__(self, shapes: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = ((shapes[:, : self.count] - self.centre) / self.scale).clip(-4, 4)
        return scaled


@dataclass
class Linear:
    """Logistic regression on the first shapes, or on these and their products."""

    count: int
    penalty: float
    balanced: bool
    products: bool = False

    def columns(self, shapes: np.ndarray) -> np.ndarray:
        scaled = self.scale(shapes)
        if not self.products:
            return scaled
        first, second = np.triu_indices(self.count)
        return np.concatenate([scaled, (scaled[:, first] * scaled[:, second]).clip(-8, 8)], 1)

    def fit(self, maps: Maps, rows: np.ndarray) -> Linear:
        self.scale = Scale(self.count).fit(maps.shapes[rows])
        columns, weight = self.columns(maps.shapes[rows]), weigh(maps, rows, self.balanced)
        model = LogisticRegression(C=self.penalty, max_iter=500, tol=1e-3)
        self.model = model.fit(columns, maps.labels[rows], sample_weight=weight)
        return self

    def chances(self, maps: Maps, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.model.predict_proba(self.columns(maps.shapes[rows]))
        return found


@dataclass
class Trees:
    """Gradient-boosted trees on the shapes."""

    def fit(self, maps: Maps, rows: np.ndarray) -> Trees:
        model = HistGradientBoostingClassifier(
            learning_rate=0.08,
            max_iter=80,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            l2_regularization=1.0,
            early_stopping=False,
            max_bins=64,
            random_state=0,
        )
        self.model = model.fit(maps.shapes[rows], maps.labels[rows], sample_weight=weigh(maps, rows, True))
        return self

    def chances(self, maps: Maps, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.model.predict_proba(maps.shapes[rows])
        return found


@dataclass
class Perceptron:
    """The mean logits of five small perceptrons on the shapes, each with one hidden layer."""

    hidden: int = 32
    epochs: int = 40
    batch: int = 256

    def logits(self, columns: Tensor, drop: float = 0.0) -> Tensor:
        inside = torch.relu(torch.einsum("nf,kfh->knh", columns, self.weights[0]) + self.weights[1][:, None])
        inside = nn.functional.dropout(inside, drop, training=drop > 0)
        return torch.einsum("knh,khc->knc", inside, self.weights[2]) + self.weights[3][:, None]

    def fit(self, maps: Maps, rows: np.ndarray) -> Perceptron:
        torch.manual_seed(0)
        self.scale = Scale(len(SHAPES)).fit(maps.shapes[rows])
        columns = torch.tensor(self.scale(maps.shapes[rows]), dtype=torch.float32)
        labels = torch.tensor(maps.labels[rows])
        weight = torch.tensor(weigh(maps, rows, True), dtype=torch.float32)
        size, outputs = columns.shape[1], len(PATTERNS)
        self.weights = [
            torch.randn(MEMBERS, size, self.hidden) / size**0.5,
            torch.zeros(MEMBERS, self.hidden),
            torch.randn(MEMBERS, self.hidden, outputs) / self.hidden**0.5,
            torch.zeros(MEMBERS, outputs),
        ]
        for one in self.weights:
            one.requires_grad_()
        optimizer = torch.optim.AdamW(self.weights, lr=0.01, weight_decay=0.05)

        def loss(chosen: Tensor) -> Tensor:
            logits = self.logits(columns[chosen], drop=0.3)
            each = nn.functional.cross_entropy(
                logits.flatten(0, 1), labels[chosen].repeat(MEMBERS), reduction="none", label_smoothing=0.03
            )
            return (each.view(MEMBERS, -1) * weight[chosen]).mean(1).sum()

        train(optimizer, 0.01, len(columns), self.batch, self.epochs, loss)
        self.weights = [one.detach() for one in self.weights]
        return self

    def chances(self, maps: Maps, rows: np.ndarray) -> np.ndarray:
        columns = torch.tensor(self.scale(maps.shapes[rows]), dtype=torch.float32)
        found: np.ndarray = self.logits(columns).double().mean(0).softmax(-1).numpy()
        return found


@dataclass
class Network:
    """Six convolutions on the pictures themselves, as the paper had a small network."""

    epochs: int = 25
    batch: int = 64

    def fit(self, maps: Maps, rows: np.ndarray) -> Network:
        torch.manual_seed(0)
        planes = draw_planes(maps, rows)
        self.model = _Convolutions(planes.shape[1])
        labels = torch.tensor(maps.labels[rows])
        counts = torch.bincount(labels, minlength=len(PATTERNS)).float()
        weight = (counts.sum() / len(PATTERNS) / counts.clamp(min=1)).sqrt()
        encoder = torch.tensor(maps.stack[rows] == "encoder")
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-3, weight_decay=0.02)

        def loss(chosen: Tensor) -> Tensor:
            seen = planes[chosen].clone()
            turned = encoder[chosen] & (torch.rand(len(chosen)) < 0.5)  # a text read backwards has the same pattern
            seen[turned] = seen[turned].flip(2, 3)
            seen[:, :3] = (seen[:, :3] * (0.7 + 0.6 * torch.rand(len(chosen), 1, 1, 1))).clamp(max=1.2)
            return nn.functional.cross_entropy(self.model(seen), labels[chosen], weight=weight, label_smoothing=0.05)

        self.model.train()
        train(optimizer, 4e-3, len(planes), self.batch, self.epochs, loss)
        self.model.eval()
        return self

    def chances(self, maps: Maps, rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found: np.ndarray = self.model(draw_planes(maps, rows)).double().softmax(-1).numpy()
        return found


class _Convolutions(nn.Module):
    def __init__(self, planes: int) -> None:
        super().__init__()

        def layer(before: int, after: int, size: int = 3, stride: int = 1) -> list[nn.Module]:
            return [nn.Conv2d(before, after, size, stride, size // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

        self.layers = nn.Sequential(
            *layer(planes, 16, 5, 2),
            *layer(16, 24),
            nn.MaxPool2d(2),
            *layer(24, 32),
            *layer(32, 32),
            nn.MaxPool2d(2),
            *layer(32, 48),
            *layer(48, 48),
        )
        self.out, self.drop = nn.Linear(96, len(PATTERNS)), nn.Dropout(0.3)

    def forward(self, planes: Tensor) -> Tensor:
        seen = self.layers(planes)
        found: Tensor = self.out(self.drop(torch.cat([seen.mean((2, 3)), seen.amax((2, 3))], 1)))
        return found


def draw_planes(maps: Maps, rows: np.ndarray) -> Tensor:
    """[map, plane, SIDE, SIDE]: the light, the roots, the light without three columns, open cells, the offset."""
    pictures = maps.pictures[rows]
    open_ = torch.stack([_open(int(maps.tokens[row]), str(maps.stack[row])) for row in rows])
    side = pictures.shape[-1]
    place = torch.arange(side)
    offset = place[None] - place[:, None]
    mean = (pictures * open_).sum(1) / open_.sum(1).clamp(min=1)
    kept = torch.ones_like(mean).scatter(-1, mean.topk(3, -1).indices, 0)[:, None]
    bare = pictures * torch.maximum(kept.expand_as(pictures), (offset.abs() <= 2).float().expand_as(pictures))

    def lit(weights: Tensor, least: float) -> Tensor:
        bright = weights.flatten(1).topk(16, -1).values[:, -1].clamp(min=least)
        return (weights / bright[:, None, None]).clamp(max=1)

    planes = [lit(pictures, 1.5 / side), pictures.sqrt(), lit(bare, 1 / side), open_, (offset / side).expand_as(bare)]
    return torch.stack(planes, 1)


def _open(tokens: int, stack: str) -> Tensor:
    allowed = torch.ones(tokens, tokens) if stack == "encoder" else torch.ones(tokens, tokens).tril()
    return (draw_pictures((allowed / allowed.sum(-1, keepdim=True))[None])[0] > 0).float()


def train(
    optimizer: torch.optim.Optimizer, rate: float, count: int, batch: int, epochs: int, loss: Callable[[Tensor], Tensor]
) -> None:
    """Some epochs of whole batches in random order, under a one-cycle schedule."""
    schedule: Any = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * (count // batch))
    for _ in range(epochs):
        order = torch.randperm(count)
        for start in range(0, count - batch + 1, batch):
            value = loss(order[start : start + batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()


def candidates() -> dict[str, tuple[Callable[[], Kind], bool]]:
    """By name: how to make each kind, and whether it is fitted to maps that were varied at random, too."""
    found: dict[str, tuple[Callable[[], Kind], bool]] = {}
    for count in (len(LIGHTS), len(SHAPES)):
        for penalty in (0.03, 0.3):
            for balanced in (False, True):
                for varied in (False, True)[: 1 if count == len(LIGHTS) else 2]:
                    words = f"linear, {count} shapes, C {penalty}{', balanced' * balanced}{', varied' * varied}"
                    found[words] = (lambda c=count, p=penalty, b=balanced: Linear(c, p, b), varied)
    found["products, balanced, varied"] = (lambda: Linear(len(SHAPES), 0.003, True, products=True), True)
    found["trees, balanced, varied"] = (Trees, True)
    found["perceptrons, balanced, varied"] = (Perceptron, True)
    found["convolutions"] = (Network, False)
    return found


MEANS = {
    "trees and perceptrons": ("trees, balanced, varied", "perceptrons, balanced, varied"),
    "convolutions and perceptrons": ("convolutions", "perceptrons, balanced, varied"),
    "convolutions, trees and perceptrons": (
        "convolutions",
        "trees, balanced, varied",
        "perceptrons, balanced, varied",
    ),
}
"""Kinds that are the geometric mean of others."""


def join(each: list[np.ndarray]) -> np.ndarray:
    """The geometric mean of chances, which sum to 1 again."""
    mean = np.exp(np.mean([np.log(one.clip(1e-4)) for one in each], 0))
    whole: np.ndarray = mean / mean.sum(-1, keepdims=True)
    return whole


def chances_without(kind: str, maps: Maps, left: Collection[str], asked: Maps, part: np.ndarray) -> np.ndarray:
    """What a kind that was fitted to maps of all families but those `left` out says of some of other maps."""
    if kind in MEANS:
        return join([chances_without(one, maps, left, asked, part) for one in MEANS[kind]])
    make, varied = candidates()[kind]
    out = [*left] if varied else [*left, VARIED]
    return make().fit(maps, np.flatnonzero(~np.isin(maps.family, out))).chances(asked, part)
