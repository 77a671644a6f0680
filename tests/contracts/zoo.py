"""The table of families: a tiny model of each, with weights large enough that attention is far from uniform."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers as tf

from tests.closeness import EXACT, ROUNDED
from tests.contracts import configs
from tests.contracts.configs import HEADS, VOCABULARY

LAYERS, LENGTH = 3, 9
_TEXT = configs.text(LAYERS)
_SIDES = configs.encoder_decoder(LAYERS) | {"forced_eos_token_id": None}


@dataclass(frozen=True)
class Case:
    name: str
    config: str
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "encoder"  # encoder | decoder | pair (encoder-decoder) | vision
    kernels: tuple[str, ...] = ("sdpa", "eager")
    spread: float = 0.35  # of the weights; T5 does not scale its scores, so that large ones make it ill-conditioned
    float32_inside: bool = False  # RMSNorm, and ModernBERT's rotary embeddings, are float32 in a float64 model, too

    def make_config(self) -> Any:
        return getattr(tf, self.config)(**self.options)

    @property
    def stacks(self) -> tuple[str, ...]:
        return {"pair": ("encoder", "decoder", "cross"), "decoder": ("decoder",)}.get(self.kind, ("encoder",))

    @property
    def within(self) -> float:
        """How near two computations of the model in float64 must come."""
        return ROUNDED if self.float32_inside else EXACT

    def spell(self, word: str) -> list[str]:
        """The word for every stack of the model."""
        return [f"{stack}.{word}" if self.kind == "pair" else word for stack in self.stacks]


def _words(name: str, config: str, float32_inside: bool = False, **options: Any) -> Case:
    return Case(name, config, _TEXT | options, float32_inside=float32_inside)


def _decoder(name: str, config: str, float32_inside: bool = True, **options: Any) -> Case:
    return Case(name, config, _TEXT | options, kind="decoder", float32_inside=float32_inside)


CASES = (
    _words("bert", "BertConfig"),
    _words("roberta", "RobertaConfig"),
    _words("xlm-roberta", "XLMRobertaConfig"),
    _words("camembert", "CamembertConfig"),
    _words("electra", "ElectraConfig", embedding_size=16),
    _words("albert", "AlbertConfig", embedding_size=16),
    Case(
        "distilbert",
        "DistilBertConfig",
        {"vocab_size": VOCABULARY, "dim": 32, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 40},
    ),
    _words(
        "modernbert",
        "ModernBertConfig",
        float32_inside=True,
        global_attn_every_n_layers=2,
        local_attention=4,
        cls_token_id=1,
        sep_token_id=2,
    ),
    Case("mpnet", "MPNetConfig", _TEXT | {"pad_token_id": 1, "bos_token_id": 0}, kernels=("eager",)),
    Case(
        "deberta-v2",
        "DebertaV2Config",
        _TEXT
        | {
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["c2p", "p2c"],
            "conv_kernel_size": 3,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
        },
        kernels=("eager",),
    ),
    Case(
        "gpt2",
        "GPT2Config",
        configs.gpt(LAYERS) | {"bos_token_id": 1, "eos_token_id": 2},
        kind="decoder",
    ),
    Case(
        "opt",
        "OPTConfig",
        {key: value for key, value in _TEXT.items() if key != "intermediate_size"}
        | {"ffn_dim": 40, "word_embed_proj_dim": 32, "activation_function": "gelu"},
        kind="decoder",
    ),
    _decoder("gpt_neox", "GPTNeoXConfig", float32_inside=False),
    _decoder("llama", "LlamaConfig", num_key_value_heads=2),
    _decoder("qwen2", "Qwen2Config", num_key_value_heads=2),
    _decoder("qwen3", "Qwen3Config", num_key_value_heads=1, head_dim=8),
    _decoder("mistral", "MistralConfig", num_key_value_heads=2, sliding_window=4, head_dim=8),
    Case(
        "t5",
        "T5Config",
        configs.t5(LAYERS)
        | {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 1, "feed_forward_proj": "gated-gelu"},
        kind="pair",
        spread=0.2,
        float32_inside=True,
    ),
    Case("bart", "BartConfig", _SIDES, kind="pair"),
    Case("mbart", "MBartConfig", _SIDES, kind="pair"),
    Case("marian", "MarianConfig", _SIDES, kind="pair"),
    Case("vit", "ViTConfig", configs.images(LAYERS), kind="vision"),
)
BY_NAME = {case.name: case for case in CASES}


def build(model_class: Any, config: Any, kernel: str | None, spread: float) -> Any:
    """A fresh model with the same weights every time; `kernel` None: the family's own default."""
    torch.manual_seed(7)
    from_config = model_class.from_config if model_class.__name__.startswith("Auto") else model_class._from_config
    model = from_config(config, attn_implementation=kernel).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, spread)
    return model


@functools.cache
def _model(name: str, kernel: str, head: str) -> Any:
    case = BY_NAME[name]
    config = case.make_config()
    config.num_labels = 3
    return build(getattr(tf, head), config, kernel, case.spread)


def tiny(name: str, kernel: str = "sdpa", head: str = "AutoModel") -> Any:
    """A fresh tiny model of the family, the same weights every time."""
    return copy.deepcopy(_model(name, kernel, head))


def exact(name: str, kernel: str = "sdpa", head: str = "AutoModel") -> Any:
    """The same model in float64, for promises about arithmetic: what is equal there is equal on every CPU."""
    return tiny(name, kernel, head).double()


def inputs(case: Case, padding: str = "none", batch: int = 3, seed: int = 1) -> dict[str, torch.Tensor]:
    """A batch for the model; with padding the examples have different lengths."""
    generator = torch.Generator().manual_seed(seed)
    if case.kind == "vision":
        return {"pixel_values": torch.randn(batch, 3, 12, 12, generator=generator)}
    ids = torch.randint(3, VOCABULARY, (batch, LENGTH), generator=generator)
    mask = torch.ones_like(ids)
    if padding != "none":
        for row in range(1, batch):
            gone = 2 * row
            if padding == "right":
                mask[row, LENGTH - gone :] = 0
            else:
                mask[row, :gone] = 0
        ids = ids.masked_fill(mask == 0, case.options.get("pad_token_id", 0))
    batch_inputs = {"input_ids": ids, "attention_mask": mask}
    if case.kind == "pair":
        batch_inputs["decoder_input_ids"] = torch.randint(3, VOCABULARY, (batch, 6), generator=generator)
    return batch_inputs


def run(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The last hidden state at real positions: what padding positions hold means nothing."""
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    if "attention_mask" in batch and "decoder_input_ids" not in batch:
        return hidden[batch["attention_mask"].bool()]
    return hidden.flatten(0, 1)


def all_cases() -> list[tuple[Case, str, str]]:
    """Every family with every kernel and every padding that it can have."""
    found = []
    for case in CASES:
        for kernel in case.kernels:
            for padding in ("none",) if case.kind == "vision" else ("none", "right", "left"):
                found.append((case, kernel, padding))
    return found
