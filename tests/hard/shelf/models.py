"""Tiny models of every kind, and damaged ones."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers as tk
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from tests.contracts.zoo import tiny
from tests.hard.shelf.base import Shelf, damaged, item
from tests.training import toy

NAMED = {"id2label": {0: "negative", 1: "positive"}, "label2id": {"negative": 0, "positive": 1}}
QUERY = "bert.encoder.layer.1.attention.self.query.weight"
BERTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "bare": (tf.BertModel, {}),
    "classifier": (tf.BertForSequenceClassification, NAMED),
    "unnamed": (tf.BertForSequenceClassification, {}),
    "three-classes": (tf.BertForSequenceClassification, {"num_labels": 3}),
    "regressor": (tf.BertForSequenceClassification, {"num_labels": 1}),
    "masked": (tf.BertForMaskedLM, {}),
    "tagger": (tf.BertForTokenClassification, {"id2label": {0: "NOUN", 1: "VERB"}, "label2id": {"NOUN": 0, "VERB": 1}}),
    "odd-tagger": (tf.BertForTokenClassification, {"id2label": {0: "O", 1: "B-PER"}, "label2id": {"O": 0, "B-PER": 1}}),
    "choices": (tf.BertForMultipleChoice, {}),
}


def _enter(name: str, kind: Any, options: dict[str, Any]) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> None:
        toy.save_checkpoint(folder, kind, **options)


for _name, (_kind, _options) in BERTS.items():
    _enter(_name, _kind, _options)


def bare_tokenizer(folder: Path, end: bool = False) -> None:
    """The toy's words without special tokens around a text, or with [SEP] behind it."""
    inner = tk.Tokenizer(tk.models.WordLevel({word: number for number, word in enumerate(toy.WORDS)}, "[UNK]"))
    inner.pre_tokenizer = tk.pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    if end:
        inner.post_processor = tk.processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64, **special)
    tokenizer.save_pretrained(folder)


def _gpt2(kind: Any, folder: Path, **options: Any) -> None:
    torch.manual_seed(5)
    kind(
        tf.GPT2Config(
            vocab_size=len(toy.WORDS),
            n_embd=16,
            n_layer=2,
            n_head=2,
            n_positions=64,
            bos_token_id=2,
            eos_token_id=3,
            **options,
        )
    ).save_pretrained(folder)
    bare_tokenizer(folder)


@item("causal")
def _causal(shelf: Shelf, folder: Path) -> None:
    _gpt2(tf.GPT2LMHeadModel, folder)


@item("no-padding")
def _no_padding(shelf: Shelf, folder: Path) -> None:
    _gpt2(tf.GPT2ForSequenceClassification, folder, num_labels=2)


@item("translator")
def _translator(shelf: Shelf, folder: Path) -> None:
    torch.manual_seed(5)
    config = tf.BartConfig(
        vocab_size=len(toy.WORDS),
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    model = tf.BartForConditionalGeneration(config)
    model.generation_config.forced_eos_token_id = None
    model.save_pretrained(folder)
    bare_tokenizer(folder, end=True)


@item("vision")
def _vision(shelf: Shelf, folder: Path) -> None:
    tiny("vit", head="AutoModelForImageClassification").save_pretrained(folder)
    tf.ViTImageProcessor(size={"height": 12, "width": 12}).save_pretrained(folder)


@item("albert")
def _albert(shelf: Shelf, folder: Path) -> None:
    """Its layers share their weights: a head cannot be cut from one of them."""
    tiny("albert", head="AutoModelForSequenceClassification").save_pretrained(folder)
    toy.save_tokenizer(folder)


@item("unknown-family")
def _unknown_family(shelf: Shelf, folder: Path) -> None:
    """A model that transformers knows and Headcount does not: it has no attention."""
    config = tf.MambaConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, state_size=4)
    tf.MambaForCausalLM(config).save_pretrained(folder)
    bare_tokenizer(folder)


def _grouped(kind: Any, config: Any, folder: Path, **options: Any) -> None:
    torch.manual_seed(5)
    sizes = {"vocab_size": len(toy.WORDS), "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    kind(config(**sizes, bos_token_id=2, eos_token_id=3, pad_token_id=0, **options)).save_pretrained(folder)
    bare_tokenizer(folder)


@item("experts")
def _experts(shelf: Shelf, folder: Path) -> None:
    """A mixture of experts, whose units cannot be removed."""
    _grouped(tf.MixtralForCausalLM, tf.MixtralConfig, folder, num_local_experts=2, num_experts_per_tok=1)


@item("no-units")
def _no_units(shelf: Shelf, folder: Path) -> None:
    """A model without a record: its heads are proved, its feed-forward layers are not known."""
    _grouped(tf.PhiForCausalLM, tf.PhiConfig, folder)


@item("more-heads")
def _more_heads(shelf: Shelf, folder: Path) -> None:
    """Four heads a layer where the other models have two."""
    config = tf.BertConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    tf.BertForMaskedLM(config).save_pretrained(folder)
    toy.save_tokenizer(folder)


@item("more-words")
def _more_words(shelf: Shelf, folder: Path) -> None:
    config = tf.BertConfig(
        vocab_size=70,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    tf.BertForMaskedLM(config).save_pretrained(folder)
    toy.save_tokenizer(folder)


@item("pruned")
def _pruned(shelf: Shelf, folder: Path) -> Path:
    import headcount as hc

    model, tokenizer = hc.load(shelf["classifier"])
    hc.save(hc.prune(model, "L0H1"), tokenizer, folder / "pruned")
    return folder / "pruned"


@item("run")
def _run(shelf: Shelf, folder: Path) -> None:
    """What finetune --checkpoints leaves: models along the way, here without a training."""
    for step, name in ((0, "classifier"), (4, "classifier-2")):
        shutil.copytree(shelf[name], folder / "checkpoints" / f"step-{step:06}")


@item("one-checkpoint")
def _one_checkpoint(shelf: Shelf, folder: Path) -> None:
    shutil.copytree(shelf["classifier"], folder / "checkpoints" / "step-000000")


def config(**changes: Any) -> Callable[[Path], None]:
    """Other entries in config.json; None takes one out."""

    def change(folder: Path) -> None:
        place = folder / "config.json"
        entries = json.loads(place.read_text()) | changes
        place.write_text(json.dumps({key: value for key, value in entries.items() if value is not None}))

    return change


def tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    """Other weights."""

    def rewrite(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return rewrite


def write(name: str, content: bytes | str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def remove(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names]


def as_folder(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return change


def _halve(folder: Path) -> None:
    place = folder / "model.safetensors"
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])


def _spoil(value: float) -> Callable[[Path], None]:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights[QUERY][0, 0] = value

    return tensors(change)


class _Runs:
    """Writes a file when it is unpickled: what a malicious checkpoint could do."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return (Path.write_text, (self.place, "ran"))


def _as_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"bert": _Runs(folder / "RAN")}))


def _with_code(folder: Path) -> None:
    """A model that comes with code, which writes a file when it is imported."""
    code = f"open({str(folder / 'RAN')!r}, 'w').write('ran')\n"
    (folder / "modeling_own.py").write_text(code + "class OwnConfig: pass\nclass Own: pass\n")
    config(
        model_type="own",
        auto_map={"AutoConfig": "modeling_own.OwnConfig", "AutoModel": "modeling_own.Own"},
        architectures=["Own"],
    )(folder)


def _index(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    names = {QUERY: "model-00001-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))


def _record(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Another record of removed heads in config.json."""

    def rewrite(folder: Path) -> None:
        entries = json.loads((folder / "config.json").read_text())
        change(entries["headcount"])
        (folder / "config.json").write_text(json.dumps(entries))

    return rewrite


damaged("classifier-2", "classifier", tensors(lambda weights: weights[QUERY].mul_(1.5)))
damaged("no-config", "classifier", remove("config.json"))
damaged("no-weights", "classifier", remove("model.safetensors"))
damaged("config-not-json", "classifier", write("config.json", '{"model_type": "bert",'))
damaged("config-a-list", "classifier", write("config.json", "[]"))
damaged("config-utf16", "classifier", write("config.json", "{}".encode("utf-16")))
damaged("config-a-folder", "classifier", as_folder("config.json"))
damaged("config-empty", "classifier", write("config.json", ""))
damaged("no-type", "classifier", config(model_type=None, architectures=None))
damaged("unknown-type", "classifier", config(model_type="frobnicator"))
damaged("unknown-class", "classifier", config(architectures=["BertForFrobnication"]))
damaged("heads-do-not-divide", "classifier", config(num_attention_heads=5))
damaged("zero-heads", "classifier", config(num_attention_heads=0))
damaged("negative-heads", "classifier", config(num_attention_heads=-2))
damaged("heads-a-word", "classifier", config(num_attention_heads="two"))
damaged("size-a-word", "classifier", config(hidden_size="wide"))
damaged("more-layers", "classifier", config(num_hidden_layers=4))
damaged("fewer-layers", "classifier", config(num_hidden_layers=1))
damaged("other-width", "classifier", config(hidden_size=64))
damaged("weights-cut-short", "classifier", _halve)
damaged("weights-empty", "classifier", write("model.safetensors", b""))
damaged("weights-garbage", "classifier", write("model.safetensors", b"\x00" * 4096))
damaged("weights-a-page", "classifier", write("model.safetensors", "<html>Not found</html>" * 20))
damaged("weights-a-pointer", "classifier", write("model.safetensors", "version https://git-lfs.github.com/spec/v1\n"))
damaged("weights-a-folder", "classifier", as_folder("model.safetensors"))
damaged("shard-missing", "classifier", _index)
damaged("a-pickle", "classifier", _as_pickle)
damaged("with-code", "classifier", _with_code)
damaged("nan", "classifier", _spoil(float("nan")))
damaged("infinite", "classifier", _spoil(float("inf")))
damaged("nan-masked", "masked", _spoil(float("nan")))
damaged("tensor-missing", "classifier", tensors(lambda weights: weights.pop(QUERY)))
damaged("tensor-missing-masked", "masked", tensors(lambda weights: weights.pop(QUERY)))
damaged("tensor-cut", "classifier", tensors(lambda weights: weights.update({QUERY: weights[QUERY][:4].clone()})))
damaged("tensor-too-many", "classifier", tensors(lambda weights: weights.update({"bert.extra": torch.ones(2)})))
damaged("no-tokenizer", "classifier", remove("tokenizer.json", "tokenizer_config.json", "vocab.txt"))
damaged("tokenizer-damaged", "classifier", write("tokenizer.json", '{"version": "1.0"'))
damaged("tokenizer-too-large", "classifier", config(vocab_size=20))
damaged("newer-record", "pruned", _record(lambda record: record.update(format=99)))
damaged("record-disagrees", "pruned", _record(lambda record: record["stacks"][0].update(kept=[[0, 1], [0]])))
damaged("record-impossible", "pruned", _record(lambda record: record["stacks"][0].update(kept=[[7], [0, 1]])))


@item("empty-folder")
def _empty_folder(shelf: Shelf, folder: Path) -> None:
    pass


@item("loop")
def _loop(shelf: Shelf, folder: Path) -> Path:
    """A link that leads to itself."""
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


MAPS: dict[str, str] = {
    "map-no-json": "{",
    "map-a-list": "[1, 2]",
    "map-empty": "{}",
    "map-no-device": '{"bert": "abacus", "classifier": "cpu"}',
    "map-some": '{"bert": "disk"}',
    "map-other": '{"bert": "disk", "classifier": "cpu", "nonsense": "cpu"}',
}
"""Device maps: of the classifier, or of nothing."""


def _enter_map(name: str, content: str) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        (folder / f"{name}.json").write_text(content)
        return folder / f"{name}.json"


for _map, _content in MAPS.items():
    _enter_map(_map, _content)
