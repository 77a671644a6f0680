"""The table of model types without a record: a tiny model of each. docs/families.md says what its proof comes to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import transformers as tf
import transformers.models.gpt_bigcode.modeling_gpt_bigcode  # it compiles softmax while it is imported

from tests.contracts import configs
from tests.contracts.configs import HEADS, VOCABULARY
from tests.contracts.zoo import build

LAYERS = 2
_TEXT = configs.text(LAYERS)
_GROUPED = _TEXT | {"num_key_value_heads": 2}
_SIDES = configs.encoder_decoder(LAYERS)
_IMAGES = configs.images(LAYERS)
_SOUNDS = (
    configs.WORDS
    | configs.blocks(LAYERS)
    | {
        "conv_dim": [8, 8],
        "conv_kernel": [10, 8],
        "conv_stride": [20, 16],
        "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 4,
        "num_conv_pos_embedding_groups": 2,
    }
)
_GPT = configs.gpt(LAYERS)
_XLM = configs.WORDS | {"emb_dim": 32, "n_layers": LAYERS, "n_heads": HEADS, "max_position_embeddings": 64}


@dataclass(frozen=True)
class Unknown:
    name: str
    config: str
    options: dict[str, Any] = field(default_factory=lambda: dict(_TEXT))
    model: str = "AutoModel"
    experts: bool = False  # their products have no float64
    kernel: str | None = None  # None: the type's own default

    def make_config(self) -> Any:
        return getattr(tf, self.config)(**self.options)


def _decoder(name: str, config: str, experts: bool = False, kernel: str | None = None, **options: Any) -> Unknown:
    return Unknown(name, config, _GROUPED | options, experts=experts, kernel=kernel)


CASES = (
    _decoder("gemma", "GemmaConfig", head_dim=16),
    # In transformers 5.17 sdpa leaves out its softcap without a word, and the model is refused.
    _decoder("gemma2", "Gemma2Config", head_dim=16, sliding_window=4, kernel="eager"),
    _decoder("gemma3_text", "Gemma3TextConfig", head_dim=16, sliding_window=4),
    _decoder("phi", "PhiConfig"),
    _decoder("phi3", "Phi3Config"),
    _decoder("olmo", "OlmoConfig"),
    _decoder("olmo2", "Olmo2Config"),
    _decoder("granite", "GraniteConfig"),
    _decoder("cohere", "CohereConfig"),
    _decoder("cohere2", "Cohere2Config", head_dim=8, sliding_window=4),
    _decoder("stablelm", "StableLmConfig"),
    _decoder("starcoder2", "Starcoder2Config"),
    _decoder("smollm3", "SmolLM3Config"),
    _decoder("nemotron", "NemotronConfig"),
    _decoder("helium", "HeliumConfig", head_dim=8),
    _decoder("glm", "GlmConfig", head_dim=8),
    _decoder("persimmon", "PersimmonConfig"),
    _decoder("mixtral", "MixtralConfig", True, num_local_experts=4, num_experts_per_tok=2),
    _decoder(
        "qwen3_moe", "Qwen3MoeConfig", True, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, head_dim=8
    ),
    _decoder("gpt_oss", "GptOssConfig", True, num_local_experts=4, num_experts_per_tok=2, head_dim=8, sliding_window=4),
    Unknown("gpt_bigcode", "GPTBigCodeConfig", _GPT),
    Unknown("biogpt", "BioGptConfig"),
    Unknown("falcon", "FalconConfig"),
    Unknown("gptj", "GPTJConfig", _GPT | {"rotary_dim": 4}),
    Unknown("bloom", "BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": LAYERS, "n_head": HEADS}),
    Unknown("codegen", "CodeGenConfig", _GPT | {"rotary_dim": 4}),
    Unknown(
        "gpt_neo",
        "GPTNeoConfig",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "attention_types": [[["global", "local"], 1]],
        },
    ),
    Unknown("xlm", "XLMConfig", _XLM),
    Unknown("flaubert", "FlaubertConfig", _XLM),
    Unknown("rembert", "RemBertConfig", _TEXT | {"input_embedding_size": 16}),
    Unknown("ernie", "ErnieConfig"),
    Unknown("roformer", "RoFormerConfig"),
    Unknown("nystromformer", "NystromformerConfig", _TEXT | {"num_landmarks": 12, "segment_means_seq_len": 12}),
    Unknown("longformer", "LongformerConfig", _TEXT | {"attention_window": 4}),
    Unknown("big_bird", "BigBirdConfig", _TEXT | {"attention_type": "original_full"}),
    Unknown("esm", "EsmConfig", _TEXT | {"position_embedding_type": "rotary", "mask_token_id": 3}),
    Unknown("data2vec-text", "Data2VecTextConfig"),
    Unknown("layoutlm", "LayoutLMConfig"),
    Unknown("nomic_bert", "NomicBertConfig"),
    Unknown("led", "LEDConfig", _SIDES | {"attention_window": 4, "max_encoder_position_embeddings": 64}),
    Unknown("pegasus", "PegasusConfig", _SIDES),
    Unknown("m2m_100", "M2M100Config", _SIDES),
    Unknown("plbart", "PLBartConfig", _SIDES),
    Unknown("blenderbot", "BlenderbotConfig", _SIDES),
    Unknown("bigbird_pegasus", "BigBirdPegasusConfig", _SIDES),
    Unknown("mt5", "MT5Config", configs.t5(LAYERS)),
    Unknown("whisper", "WhisperConfig", _SIDES | {"max_source_positions": 12, "num_mel_bins": 8}),
    Unknown("clip", "CLIPConfig", {"text_config": _TEXT, "vision_config": _IMAGES}),
    Unknown("clip_text_model", "CLIPTextConfig"),
    Unknown("clip_vision_model", "CLIPVisionConfig", _IMAGES),
    Unknown("siglip_text_model", "SiglipTextConfig", model="SiglipTextModel"),
    Unknown("siglip_vision_model", "SiglipVisionConfig", _IMAGES),
    Unknown("dinov2", "Dinov2Config", _IMAGES),
    Unknown("deit", "DeiTConfig", _IMAGES),
    Unknown("beit", "BeitConfig", _IMAGES),
    Unknown(
        "swin",
        "SwinConfig",
        {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
    ),
    Unknown("wav2vec2", "Wav2Vec2Config", _SOUNDS),
    Unknown("hubert", "HubertConfig", _SOUNDS),
    Unknown(
        "funnel",
        "FunnelConfig",
        model="FunnelModel",
        options={
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "n_head": HEADS,
            "d_head": 8,
            "d_inner": 40,
            "block_sizes": [1, 1],
        },
    ),
    Unknown(
        "xlnet",
        "XLNetConfig",
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": LAYERS, "n_head": HEADS, "d_inner": 40},
    ),
    Unknown("fnet", "FNetConfig"),
    _decoder("jamba", "JambaConfig", num_experts=2, attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False),
    _decoder("bitnet", "BitNetConfig"),
    _decoder(
        "qwen3_next",
        "Qwen3NextConfig",
        head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        layer_types=["full_attention", "full_attention"],
    ),
)
BY_NAME = {case.name: case for case in CASES}


def make(name: str, kernel: str | None = None, head: str | None = None, **options: Any) -> Any:
    """A fresh tiny model with large weights, so that attention is far from uniform; `kernel` None: its own default."""
    case = BY_NAME[name]
    config = case.make_config()
    for key, value in options.items():
        setattr(config, key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(getattr(tf, head or case.model), config, kernel or case.kernel, spread=0.2)
