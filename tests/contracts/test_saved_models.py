"""Does a saved model load everywhere: with Headcount, without it, with plain transformers where it can?"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

import headcount as hc
from headcount.errors import ModelUnavailable
from headcount.models.anatomy import read_anatomy
from headcount.models.checkpoint import MODELLING
from headcount.models.load import load_model
from headcount.models.matching_weights import NEW_WEIGHTS
from headcount.models.surgery import removed_heads
from tests.closeness import assert_same
from tests.contracts import naive
from tests.contracts.pruned import PRUNABLE, aligned, clean_environment, own_outputs, uneven, whole, without
from tests.contracts.zoo import BY_NAME, Case, exact, inputs, run
from tests.measures.tiny import _spread
from tests.training import toy

KINDS = {
    "bert": "SequenceClassification",
    "roberta": "TokenClassification",
    "xlm-roberta": "MultipleChoice",
    "camembert": "MaskedLM",
    "electra": "PreTraining",
    "distilbert": "SequenceClassification",
    "modernbert": "MaskedLM",
    "mpnet": "SequenceClassification",
    "deberta-v2": "TokenClassification",
    "gpt2": "CausalLM",
    "opt": "CausalLM",
    "gpt_neox": "CausalLM",
    "llama": "CausalLM",
    "qwen2": "SequenceClassification",
    "qwen3": "CausalLM",
    "mistral": "CausalLM",
    "t5": "Seq2SeqLM",
    "bart": "SequenceClassification",
    "mbart": "Seq2SeqLM",
    "marian": "Seq2SeqLM",
    "vit": "ImageClassification",
}
PLAIN = ("llama", "mistral", "qwen2", "qwen3")
"""Their configs name the size of a head beside the number of heads."""
BLOCKER = """
import sys


class NoHeadcount:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "headcount":
            raise ImportError("headcount is not installed here")


sys.meta_path.insert(0, NoHeadcount())
try:
    import headcount
except ImportError:
    pass
else:
    raise SystemExit("headcount can be imported: the test would prove nothing")
"""
OTHER_PROCESS = """
import json
import warnings
from pathlib import Path

import torch
import transformers as tf

warnings.simplefilter("error")
warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")
tf.logging.set_verbosity_error()
tf.utils.logging.disable_progress_bar()
place = Path(sys.argv[1])
report = {}
for name, (auto, options) in json.loads((place / "cases.json").read_text()).items():
    try:
        known = torch.load(place / f"{name}.pt", weights_only=True)
        if auto is None:
            import headcount

            model = headcount.load(place / name, **options)[0]
        else:
            model = getattr(tf, auto).from_pretrained(place / name, **options).eval()
        for parameter in model.parameters():
            parameter.data = parameter.data.clone()  # aligned: see tests/contracts/pruned.py
        with torch.no_grad():
            found = model(**known["batch"])[0]
        report[name] = "same" if torch.equal(found, known["output"]) else str((found - known["output"]).abs().max())
        if "tokens" in known:
            tokens = model.generate(**known["prompt"], max_new_tokens=6, min_new_tokens=6, do_sample=False)
            report[name] += "" if torch.equal(tokens, known["tokens"]) else ", other tokens"
    except Exception as error:
        report[name] = f"{type(error).__name__}: {error}"
(place / "report.json").write_text(json.dumps(report))
"""


class Places:
    """Saved models with what they give, for another process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cases = folder, {}  # type: ignore[var-annotated]

    def add(self, name: str, model: Any, batch: dict[str, torch.Tensor], auto: str | None, **options: Any) -> Path:
        with torch.no_grad():
            known: dict[str, Any] = {"batch": batch, "output": model(**batch)[0]}
            if model.can_generate():
                known["prompt"] = {key: batch[key] for key in ("input_ids", "attention_mask")}
                known["tokens"] = model.generate(**known["prompt"], max_new_tokens=6, min_new_tokens=6, do_sample=False)
        torch.save(known, self.folder / f"{name}.pt")
        self.cases[name] = (auto, options)
        return self.folder / name

    def ask(self, blocked: bool) -> dict[str, str]:
        """What another process says of each, and nothing on its output."""
        (self.folder / "cases.json").write_text(json.dumps(self.cases))
        script = (BLOCKER if blocked else "import sys\n") + OTHER_PROCESS
        done = subprocess.run(
            [sys.executable, "-c", script, str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
            env=clean_environment(HF_MODULES_CACHE=str(self.folder / "modules")),
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        report: dict[str, str] = json.loads((self.folder / "report.json").read_text())
        return report


def headed(case: Case) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model with a task's head, whole, and a batch for it."""
    config = {"pad_token_id": 0} if case.name == "gpt2" else {}
    model = whole(case.name, case.kernels[0], f"AutoModelFor{KINDS[case.name]}")
    for key, value in config.items():
        setattr(model.config, key, value)
    batch = inputs(case, "none" if case.kind == "vision" else "left" if case.kind == "decoder" else "right")
    if KINDS[case.name] == "MultipleChoice":
        batch = {key: torch.stack([tensor, tensor.flip(0)], 1) for key, tensor in batch.items()}
    if case.kind == "pair" and KINDS[case.name] == "SequenceClassification":
        batch.pop("decoder_input_ids")
        batch["input_ids"][:, 2] = 2  # the end of a text, once in each
    return model, batch


def test_without_headcount(tmp_path: Path) -> None:
    """Every family, with the code of its folder, in a process that cannot import Headcount: bit for bit the same."""
    places = Places(tmp_path)
    for case in PRUNABLE:
        model, batch = headed(case)
        hc.prune(model, uneven(case))
        hc.save(model, None, tmp_path / case.name)
        assert (tmp_path / case.name / MODELLING).is_file()
        places.add(case.name, model, batch, f"AutoModelFor{KINDS[case.name]}", trust_remote_code=True)
        assert f"AutoModelFor{KINDS[case.name]}.from_pretrained(folder, trust_remote_code=True)" in (
            tmp_path / case.name / "README.md"
        ).read_text(encoding="utf-8")
    for name in PLAIN:  # as many heads in every layer: plain transformers, no foreign code
        model, batch = as_many_in_every_layer(name)
        hc.save(model, None, tmp_path / f"plain-{name}")
        places.add(f"plain-{name}", model, batch, "AutoModelForCausalLM")
    assert places.ask(blocked=True) == dict.fromkeys(places.cases, "same")


def test_with_headcount_in_another_process(tmp_path: Path) -> None:
    places = Places(tmp_path)
    tokenizer = toy.save_tokenizer(tmp_path)
    for case in PRUNABLE:
        model, batch = headed(case)
        hc.prune(model, uneven(case))
        hc.save(model, tokenizer, places.add(case.name, model, batch, None))
    assert places.ask(blocked=False) == dict.fromkeys(places.cases, "same")


def as_many_in_every_layer(name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """Two of four heads left in every layer, not the same ones."""
    case = BY_NAME[name]
    model = whole(name, "sdpa", "AutoModelForCausalLM")
    hc.prune(model, ["L0H0", "L0H2", "L1H1", "L1H3", "L2H0", "L2H3"])
    return model, inputs(case, "left")


@pytest.mark.parametrize("name", PLAIN)
def test_as_many_heads_in_every_layer_is_a_plain_model(name: str, tmp_path: Path) -> None:
    model, batch = as_many_in_every_layer(name)
    folder = hc.save(model, None, tmp_path / "plain")
    assert not list(folder.glob("*.py"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert "auto_map" not in config
    assert config["num_attention_heads"] == 2
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "`transformers.AutoModelForCausalLM.from_pretrained(folder)` loads it" in card
    assert "trust_remote_code" not in card
    assert "L0H0, L0H2, L1H1, L1H3, L2H0, L2H3" in card
    loaded = aligned(load_model(folder))
    assert read_anatomy(loaded).layout.stacks == {"decoder": ((1, 3), (0, 2), (1, 2))}
    assert torch.equal(own_outputs(loaded, batch), own_outputs(model, batch))
    with hc.ablated(loaded, "L1H2"), hc.ablated(model, "L1H2"):
        assert torch.equal(own_outputs(loaded, batch), own_outputs(model, batch))


def test_as_many_heads_in_every_layer_of_an_image_model(tmp_path: Path) -> None:
    """Its config can name the size of a head, too."""
    case = BY_NAME["vit"]
    model, batch = whole("vit", "sdpa", "AutoModelForImageClassification"), inputs(case)
    folder = hc.save(hc.prune(model, ["L0H0", "L1H2", "L2H3"]), None, tmp_path / "plain")
    assert not list(folder.glob("*.py"))
    tf.utils.logging.disable_progress_bar()
    plain = aligned(tf.AutoModelForImageClassification.from_pretrained(folder).eval())
    tf.utils.logging.enable_progress_bar()
    loaded = aligned(load_model(folder))
    assert read_anatomy(loaded).layout == read_anatomy(model).layout
    for one in (plain, loaded):
        assert torch.equal(own_outputs(one, batch), own_outputs(model, batch))


def without_groups(name: str) -> Any:
    """Each head has keys and values of its own."""
    case = BY_NAME[name]
    config = getattr(tf, case.config)(**(case.options | {"num_key_value_heads": 4}))
    return _spread(tf.AutoModelForCausalLM.from_config(config), 0.35)


@pytest.mark.parametrize("name", PLAIN)
def test_a_number_of_heads_that_does_not_divide_the_width(name: str, tmp_path: Path) -> None:
    """Three of four heads in every layer, and a width of 32: LlamaConfig refuses it, the others do not mind."""
    model, batch = without_groups(name), inputs(BY_NAME[name], "left")
    hc.prune(model, ["L0H0", "L1H2", "L2H3"])
    hc.save(model, None, tmp_path / "saved")
    assert torch.equal(own_outputs(aligned(load_model(tmp_path / "saved")), batch), own_outputs(model, batch))


@pytest.mark.parametrize(
    "heads",
    [
        pytest.param(["L0H1"], id="one"),
        pytest.param(["L0H1", "L1H0", "L2H1"], id="one of each layer"),
    ],
)
def test_a_plain_model_cut_again(heads: list[str], tmp_path: Path) -> None:
    model, batch = as_many_in_every_layer("llama")
    once = aligned(load_model(hc.save(model, None, tmp_path / "once")))
    hc.prune(once, heads)
    twice = aligned(load_model(hc.save(once, None, tmp_path / "twice")))
    assert read_anatomy(twice).layout == read_anatomy(once).layout
    for first, second in zip(read_anatomy(once), read_anatomy(twice), strict=True):
        assert first.groups == second.groups
    assert torch.equal(own_outputs(twice, batch), own_outputs(once, batch))
    hc.prune(twice, "L1H2")


def test_a_plain_model_that_transformers_loaded_has_the_original_numbers(tmp_path: Path) -> None:
    """L0H1 must never mean another head."""
    model, batch = as_many_in_every_layer("llama")
    folder = hc.save(model, None, tmp_path / "plain")
    tf.utils.logging.disable_progress_bar()
    plain = aligned(tf.AutoModelForCausalLM.from_pretrained(folder).eval())
    tf.utils.logging.enable_progress_bar()
    assert torch.equal(own_outputs(plain, batch), own_outputs(model, batch))
    assert read_anatomy(plain).layout == read_anatomy(model).layout


REMOTE = """
import json
import sys
from pathlib import Path

import torch
import transformers as tf

import headcount as hc
from headcount.models.load import load_model
from tests.closeness import ROUNDED, assert_same
from tests.contracts.pruned import aligned

tf.logging.set_verbosity_error()
tf.utils.logging.disable_progress_bar()
place, report = Path(sys.argv[1]), {}
for name in sys.argv[2:]:
    try:
        known = torch.load(place / f"{name}.pt", weights_only=True)
        model = aligned(tf.AutoModel.from_pretrained(place / name, trust_remote_code=True).eval())
        report[name] = "other heads"
        layout = hc.read_anatomy(model).layout
        assert {stack: [list(one) for one in layers] for stack, layers in layout.stacks.items()} == known["kept"]
        report[name] = "not ablated"
        with torch.no_grad(), hc.ablated(model, known["next"]):
            assert_same(model(**known["batch"])[0], known["output"], ROUNDED)
        report[name] = "not cut again"
        hc.prune(model, known["next"])
        with torch.no_grad():
            assert_same(model(**known["batch"])[0], known["output"], ROUNDED)
        report[name] = "not saved again"
        again = aligned(load_model(hc.save(model, None, place / f"{name}-again")))
        with torch.no_grad():
            assert torch.equal(again(**known["batch"])[0], model(**known["batch"])[0])
        report[name] = "good"
    except Exception as error:
        report[name] = f"{report.get(name, 'not loaded')}: {type(error).__name__}: {str(error)[:200]}"
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def with_the_folders_code(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What can be done with models that transformers loaded with the code of their folders."""
    place, names = tmp_path_factory.mktemp("remote"), ("bert", "t5", "llama")
    for name in names:
        case = BY_NAME[name]
        model, batch = whole(name).double(), inputs(case, "right")
        hc.save(hc.prune(model, uneven(case)), None, place / name)
        chosen = "encoder.L0H2" if case.kind == "pair" else "L0H2"
        kept = {stack: [list(one) for one in layers] for stack, layers in read_anatomy(model).layout.stacks.items()}
        with torch.no_grad():
            output = hc.prune(model, chosen)(**batch)[0]
        torch.save({"batch": batch, "output": output, "next": chosen, "kept": kept}, place / f"{name}.pt")
    done = subprocess.run(
        [sys.executable, "-c", REMOTE, str(place), *names],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment(HF_MODULES_CACHE=str(place / "modules")),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, str] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    "name",
    [
        "bert",
        *(pytest.param(name) for name in ("t5", "llama")),
    ],
)
def test_what_the_folders_code_loaded_can_be_cut_again(with_the_folders_code: dict[str, str], name: str) -> None:
    """transformers loads it with the code of the folder, and then Headcount is there after all."""
    assert with_the_folders_code[name] == "good"


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "deberta-v2"])
def test_plain_save_pretrained(name: str, tmp_path: Path) -> None:
    """A folder that transformers wrote of a pruned model, without Headcount's save."""
    case = BY_NAME[name]
    model, batch = whole(name, case.kernels[0]), inputs(case, "right")
    hc.prune(model, uneven(case))
    tf.utils.logging.disable_progress_bar()
    model.save_pretrained(tmp_path)
    tf.utils.logging.enable_progress_bar()
    loaded = aligned(load_model(tmp_path, attn_implementation=case.kernels[0]))
    assert read_anatomy(loaded).layout == read_anatomy(model).layout
    assert torch.equal(run(loaded, batch), run(model, batch))
    assert getattr(loaded, NEW_WEIGHTS) == []


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen3"])
def test_plain_save_pretrained_of_as_many_heads_in_every_layer(name: str, tmp_path: Path) -> None:
    model, batch = as_many_in_every_layer(name)
    tf.utils.logging.disable_progress_bar()
    model.save_pretrained(tmp_path)
    tf.utils.logging.enable_progress_bar()
    loaded = aligned(load_model(tmp_path))
    assert read_anatomy(loaded).layout == read_anatomy(model).layout
    assert torch.equal(own_outputs(loaded, batch), own_outputs(model, batch))


def test_saved_loaded_cut_and_saved_again(tmp_path: Path) -> None:
    for name in ("bert", "llama", "t5", "gpt2"):
        case = BY_NAME[name]
        model, batch, gone = whole(name).double(), inputs(case, "right"), []
        pruned = copy.deepcopy(model)
        for number, word in enumerate(("L0H2", "L1H1", "L2", "L1H3")):
            gone += case.spell(word)
            hc.prune(pruned, case.spell(word))
            pruned = aligned(load_model(hc.save(pruned, None, tmp_path / f"{name}-{number}")))
            with without(model, gone):
                assert_same(run(pruned, batch), run(model, batch), case.within)
        assert set(read_anatomy(pruned).layout.stacks.values()) == {((0, 1, 3), (0, 2), ())}


@pytest.mark.parametrize(
    ("name", "saved", "head"),
    [
        ("bert", "AutoModel", "classification"),
        ("bert", "AutoModelForMaskedLM", "token-classification"),
        ("gpt2", "AutoModelForCausalLM", "classification"),
        ("t5", "AutoModel", "translation"),
        *(pytest.param(*row) for row in (("t5", "AutoModelForSeq2SeqLM", "token-classification"),)),
    ],
)
def test_another_head_is_put_on(name: str, saved: str, head: str, tmp_path: Path) -> None:
    case = BY_NAME[name]
    model = whole(name, "sdpa", saved)
    hc.prune(model, [*case.spell("L0H1"), *case.spell("L2H0-1")])
    hc.save(model, None, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved", head=head)
    assert any("classifier" in key or "score" in key for key in getattr(loaded, NEW_WEIGHTS)) or head == "translation"
    layers = read_anatomy(loaded).layout.stacks
    assert set(layers.values()) == {((0, 2, 3), (0, 1, 2, 3), (2, 3))}


def test_a_decoder_without_its_embeddings_is_no_language_model(tmp_path: Path) -> None:
    """BART keeps the embeddings of both sides once, where its decoder alone does not look: they would be random."""
    model = whole("bart", "sdpa", "AutoModel")
    hc.prune(model, BY_NAME["bart"].spell("L0H1"))
    hc.save(model, None, tmp_path / "saved")
    with pytest.raises(ModelUnavailable, match=r"1 tensor \(model.decoder.embed_tokens.weight\) is missing"):
        load_model(tmp_path / "saved", head="causal-lm")


def test_options_of_from_pretrained(tmp_path: Path) -> None:
    model, batch = whole("bert"), inputs(BY_NAME["bert"], "right")
    hc.prune(model, ["L0H1", "L1"])
    hc.save(model, None, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved", dtype=torch.bfloat16, attn_implementation="eager")
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.bfloat16}
    assert loaded.config._attn_implementation == "eager"
    assert (run(loaded, batch) - run(model, batch)).abs().max() < 0.1
    trusting = aligned(load_model(tmp_path / "saved", trust_remote_code=True))
    assert type(trusting) is tf.BertModel
    assert torch.equal(run(trusting, batch), run(model, batch))


def test_the_bundled_model(tmp_path: Path) -> None:
    """A trained classifier with its tokenizer, there and back."""
    model, tokenizer = hc.load(hc.bundled("qnli"))
    aligned(model)
    batch = dict(tokenizer(["Who wrote it?"], ["She wrote it in 1901."], return_tensors="pt"))
    heads = ["L0H1-4", "L3", "L7H0-10", "L11H5"]
    with without(exactly := copy.deepcopy(model).double(), heads):
        expected = own_outputs(exactly, batch)
    folder = hc.save(hc.prune(model, heads, batch=batch), tokenizer, tmp_path / "qnli")
    assert_same(own_outputs(copy.deepcopy(model).double(), batch), expected)
    loaded, words = hc.load(folder)
    aligned(loaded)
    assert torch.equal(own_outputs(loaded, batch), own_outputs(model, batch))
    assert words("a b")["input_ids"] == tokenizer("a b")["input_ids"]
    assert loaded.config.id2label == model.config.id2label
    assert f"{144 - 28} of 144 attention heads" in (folder / "README.md").read_text(encoding="utf-8")
    sizes = [
        sum(path.stat().st_size for path in Path(one).glob("*.safetensors")) for one in (folder, hc.bundled("qnli"))
    ]
    assert sizes[0] < sizes[1]


def test_finetuning_goes_on_without_the_heads(tmp_path: Path) -> None:
    toy.save_checkpoint(tmp_path / "whole")
    toy.save_splits(tmp_path / "data", toy.pairs(32))
    model, tokenizer = hc.load(tmp_path / "whole")
    hc.save(hc.prune(model, ["L0H1", "L1"]), tokenizer, tmp_path / "pruned")
    table = hc.finetune(tmp_path / "pruned", "mrpc", tmp_path / "data", tmp_path / "runs", settings=toy.SHORT)
    trained, _ = hc.load(table["model"].item())
    assert read_anatomy(trained).layout.stacks == {"encoder": ((0,), ())}
    start, end = load_file(tmp_path / "pruned" / "model.safetensors"), trained.bert.state_dict()
    moved = {key for key, tensor in start.items() if key in end and not torch.equal(tensor, end[key])}
    assert "encoder.layer.0.attention.self.query.weight" in moved


def by_hand(name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A whole model, and its weights as transformers 4 left them after `prune_heads({0: [1], 2: [0, 3]})`."""
    model = exact(name)
    weights = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    for layer, gone in ((0, [1]), (2, [0, 3])):
        rows = torch.tensor([8 * head + at for head in range(4) if head not in gone for at in range(8)])
        if name == "gpt2":
            part = torch.cat([rows, 32 + rows, 64 + rows])
            for key in (f"h.{layer}.attn.c_attn.weight", f"h.{layer}.attn.c_attn.bias"):
                weights[key] = weights[key][..., part].contiguous()
            key = f"h.{layer}.attn.c_proj.weight"
            weights[key] = weights[key][rows].contiguous()
            continue
        inner, output = {
            "bert": (f"encoder.layer.{layer}.attention.self.{{}}", f"encoder.layer.{layer}.attention.output.dense"),
            "distilbert": (
                f"transformer.layer.{layer}.attention.{{}}_lin",
                f"transformer.layer.{layer}.attention.out_lin",
            ),
        }[name]
        for part_name in ("query", "key", "value"):
            stem = inner.format(part_name if name == "bert" else part_name[0])
            for key in (f"{stem}.weight", f"{stem}.bias"):
                weights[key] = weights[key][rows].contiguous()
        weights[f"{output}.weight"] = weights[f"{output}.weight"][:, rows].contiguous()
    return model, weights


@pytest.mark.parametrize("name", ["bert", "gpt2", "distilbert"])
def test_heads_that_transformers_4_pruned(name: str, tmp_path: Path) -> None:
    model, weights = by_hand(name)
    model.config.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": [type(model).__name__], "pruned_heads": {"0": [1], "2": [0, 3]}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded, batch = aligned(load_model(tmp_path)), inputs(BY_NAME[name], "right")
    assert list(read_anatomy(loaded).layout.stacks.values()) == [((0, 2, 3), (0, 1, 2, 3), (1, 2))]
    zeroed = naive.with_zero_columns(model, ["L0H1", "L2H0", "L2H3"])
    assert_same(run(loaded, batch), run(zeroed, batch))
    # It goes on from there, by the original numbers, and comes back from Headcount's own folder.
    hc.prune(loaded, "L2H1")
    zeroed = naive.with_zero_columns(zeroed, ["L2H1"])
    assert_same(run(loaded, batch), run(zeroed, batch))
    again = aligned(load_model(hc.save(loaded, None, tmp_path / "again")))
    assert torch.equal(run(again, batch), run(loaded, batch))
    assert list(removed_heads(again.config.headcount).values()) == [{0: [1], 2: [0, 1, 3]}]


def test_two_models_of_one_config(tmp_path: Path) -> None:
    """The cut of one is not the cut of the other."""
    config = tf.BertConfig(**BY_NAME["bert"].options)
    first, second = (_spread(tf.BertModel(config)) for _ in range(2))
    hc.prune(first, "L0H1")
    batch = inputs(BY_NAME["bert"])
    for number, model in enumerate((first, second)):
        loaded = aligned(load_model(hc.save(model, None, tmp_path / str(number))))
        assert torch.equal(run(loaded, batch), run(model, batch))
        assert read_anatomy(loaded).layout == read_anatomy(model).layout
