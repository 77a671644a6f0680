"""Options of tiny configs: the same few numbers, under the names that families give them."""

from __future__ import annotations

from typing import Any

HEADS, VOCABULARY = 4, 60
WORDS = {"vocab_size": VOCABULARY}
SPECIAL_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def blocks(layers: int) -> dict[str, Any]:
    """The layers of BERT, Llama, ViT, wav2vec 2.0 and most others."""
    return {"hidden_size": 32, "num_hidden_layers": layers, "num_attention_heads": HEADS, "intermediate_size": 40}


def text(layers: int) -> dict[str, Any]:
    """An encoder or a decoder of texts, as most families name its parts."""
    return WORDS | blocks(layers) | SPECIAL_TOKENS | {"max_position_embeddings": 64}


def encoder_decoder(layers: int) -> dict[str, Any]:
    """BART and its like."""
    sides = {
        f"{side}_{name}": number
        for side in ("encoder", "decoder")
        for name, number in (("layers", layers), ("attention_heads", HEADS), ("ffn_dim", 40))
    }
    tokens = SPECIAL_TOKENS | {"decoder_start_token_id": 1}
    return WORDS | sides | tokens | {"d_model": 32, "max_position_embeddings": 64}


def images(layers: int) -> dict[str, Any]:
    """ViT and its like: nine patches."""
    return blocks(layers) | {"image_size": 12, "patch_size": 4}


def gpt(layers: int) -> dict[str, Any]:
    """GPT-2 and its like."""
    return WORDS | {"n_embd": 32, "n_layer": layers, "n_head": HEADS, "n_positions": 64}


def t5(layers: int) -> dict[str, Any]:
    return WORDS | {"d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": layers, "num_heads": HEADS}
