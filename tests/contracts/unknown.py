"""The table of model types without a record: a tiny model of each. docs/families.md says what its proof comes to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers as tf
import transformers.models.gpt_bigcode.modeling_gpt_bigcode  # it compiles softmax while it is imported

LAYERS, HEADS, VOCABULARY = 2, 4, 60
_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = _SMALL | {"num_key_value_heads": 2}
_SIDES = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_IMAGES = {
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 40,
    "image_size": 12,
    "patch_size": 4,
}
_SOUNDS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 40,
    "conv_dim": [8, 8],
    "conv_kernel": [10, 8],
    "conv_stride": [20, 16],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
_OLD = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 64}
_XLM = {"vocab_size": VOCABULARY, "emb_dim": 32, "n_layers": LAYERS, "n_heads": HEADS, "max_position_embeddings": 64}


@dataclass(frozen=True)
class Unknown:
    name: str
    config: str
    options: dict[str, Any] = field(default_factory=lambda: dict(_SMALL))
    model: str = "AutoModel"
    experts: bool = False  # their products have no float64

    def make_config(self) -> Any:
        return getattr(tf, self.config)(**self.options)


def _decoder(name: str, config: str, experts: bool = False, **options: Any) -> Unknown:
    return Unknown(name, config, _GROUPED | options, experts=experts)


CASES = (
    _decoder("gemma", "GemmaConfig", head_dim=16),
    _decoder("gemma2", "Gemma2Config", head_dim=16, sliding_window=4),
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
    Unknown("gpt_bigcode", "GPTBigCodeConfig", _OLD),
    Unknown("biogpt", "BioGptConfig"),
    Unknown("falcon", "FalconConfig"),
    Unknown("gptj", "GPTJConfig", _OLD | {"rotary_dim": 4}),
    Unknown("bloom", "BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": LAYERS, "n_head": HEADS}),
    Unknown("codegen", "CodeGenConfig", _OLD | {"rotary_dim": 4}),
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
    Unknown("rembert", "RemBertConfig", _SMALL | {"input_embedding_size": 16}),
    Unknown("ernie", "ErnieConfig"),
    Unknown("roformer", "RoFormerConfig"),
    Unknown("nystromformer", "NystromformerConfig", _SMALL | {"num_landmarks": 12, "segment_means_seq_len": 12}),
    Unknown("longformer", "LongformerConfig", _SMALL | {"attention_window": 4}),
    Unknown("big_bird", "BigBirdConfig", _SMALL | {"attention_type": "original_full"}),
    Unknown("esm", "EsmConfig", _SMALL | {"position_embedding_type": "rotary", "mask_token_id": 3}),
    Unknown("data2vec-text", "Data2VecTextConfig"),
    Unknown("layoutlm", "LayoutLMConfig"),
    Unknown("nomic_bert", "NomicBertConfig"),
    Unknown("led", "LEDConfig", _SIDES | {"attention_window": 4, "max_encoder_position_embeddings": 64}),
    Unknown("pegasus", "PegasusConfig", _SIDES),
    Unknown("m2m_100", "M2M100Config", _SIDES),
    Unknown("plbart", "PLBartConfig", _SIDES),
    Unknown("blenderbot", "BlenderbotConfig", _SIDES),
    Unknown("bigbird_pegasus", "BigBirdPegasusConfig", _SIDES),
    Unknown(
        "mt5",
        "MT5Config",
        {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": LAYERS, "num_heads": HEADS},
    ),
    Unknown("whisper", "WhisperConfig", _SIDES | {"max_source_positions": 12, "num_mel_bins": 8}),
    Unknown("clip", "CLIPConfig", {"text_config": _SMALL, "vision_config": _IMAGES}),
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
    kind = getattr(tf, head or case.model)
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build = kind.from_config if kind.__name__.startswith("Auto") else kind._from_config
        model = build(config, attn_implementation=kernel).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
    return model
