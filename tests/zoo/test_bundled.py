"""The bundled files are what was shipped, the texts well formed, the models as good as their card says."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import InvalidOption, ModelUnavailable
from headcount.models.fingerprint import model_name
from headcount.zoo import bundled as zoo

PAIRS = [json.loads(line) for line in zoo.bundled_pairs().read_text(encoding="utf-8").splitlines()]


def test_files_are_what_was_shipped() -> None:
    lines = (zoo.DATA / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = {name: checksum for checksum, name in (line.split("  ") for line in lines)}
    assert listed == {name: hashlib.sha256((zoo.DATA / name).read_bytes()).hexdigest() for name in listed}
    size = sum(path.stat().st_size for path in zoo.DATA.rglob("*.safetensors"))
    assert size <= 32 * 2**20


def test_pairs_are_balanced_and_varied() -> None:
    assert len(PAIRS) >= 400
    labels = Counter(pair["label"] for pair in PAIRS)
    assert labels["entailment"] == labels["not_entailment"]
    kinds = Counter(pair["kind"] for pair in PAIRS)
    assert kinds["overlap"] >= 60
    assert kinds["paraphrase"] >= 50
    assert len({pair["question"] for pair in PAIRS}) == len({pair["sentence"] for pair in PAIRS}) == len(PAIRS)
    assert len({pair["topic"] for pair in PAIRS}) >= 30
    assert Counter(pair["label"] for pair in PAIRS[:200])["entailment"] == 100


def test_overlap_pairs_share_more_words_than_paraphrases() -> None:
    def share(pair: dict[str, str]) -> float:
        question, sentence = (set(pair[key].lower().strip("?.").split()) for key in ("question", "sentence"))
        return len(question & sentence) / len(question)

    means = (
        pd.DataFrame([{"kind": pair["kind"], "share": share(pair)} for pair in PAIRS]).groupby("kind")["share"].mean()
    )
    assert means["overlap"] > means["plain"] > means["paraphrase"]


def test_sentences_are_well_formed() -> None:
    blocks = zoo.bundled_sentences().read_text(encoding="utf-8").strip().split("\n\n")
    assert len(blocks) >= 200
    roles: Counter[str] = Counter()
    for block in blocks:
        words = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        text = next(line for line in block.splitlines() if line.startswith("# text = ")).removeprefix("# text = ")
        assert all(len(word) == 10 for word in words), block
        assert [word[0] for word in words] == [str(number) for number in range(1, len(words) + 1)]
        heads = {int(word[0]): int(word[6]) for word in words}
        assert list(heads.values()).count(0) == 1
        for number in heads:
            seen = set()
            while number:
                assert number not in seen, f"a cycle in {text}"
                seen.add(number)
                number = heads[number]
        built = "".join(word[1] + ("" if "SpaceAfter=No" in word[9] else " ") for word in words).strip()
        assert built == text
        roles.update(word[7].split(":")[0] for word in words)
        roles["antecedent"] += any("Antecedent=" in word[9] for word in words)
        roles["negation"] += any(
            word[2].lower() in ("not", "never", "no", "none", "nothing", "nor", "neither") for word in words
        )
    assert roles["antecedent"] >= 80
    assert roles["negation"] >= 40
    assert roles["obj"] >= 100
    assert roles["nsubj"] >= 150


def test_checkpoints_load_with_plain_from_pretrained() -> None:
    pretrained = tf.AutoModelForPreTraining.from_pretrained(hc.bundled("pretrained"))
    assert (pretrained.config.num_hidden_layers, pretrained.config.num_attention_heads) == (12, 12)
    model = tf.AutoModelForSequenceClassification.from_pretrained(hc.bundled("qnli"))
    assert model.config.id2label == {0: "entailment", 1: "not_entailment"}
    tokenizer = tf.AutoTokenizer.from_pretrained(hc.bundled("qnli"))
    assert tokenizer("Who?", "He.")["token_type_ids"][-1] == 1


def test_names_that_do_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidOption, match="pretrained, qnli"):
        hc.bundled("large")
    monkeypatch.setattr(zoo, "DATA", tmp_path)
    with pytest.raises(ModelUnavailable, match="install headcount again"):
        hc.bundled("qnli")


@pytest.fixture(scope="module")
def accuracy() -> float:
    model, tokenizer = hc.load(hc.bundled("qnli"))
    model.float()
    right = 0
    with torch.no_grad():
        for start in range(0, len(PAIRS), 32):
            part = PAIRS[start : start + 32]
            batch = tokenizer(
                [p["question"] for p in part], [p["sentence"] for p in part], padding=True, return_tensors="pt"
            )
            found = model(**batch).logits.argmax(-1).tolist()
            right += sum(model.config.id2label[n] == pair["label"] for n, pair in zip(found, part, strict=True))
    return right / len(PAIRS)


def test_the_accuracy_is_that_of_the_card(accuracy: float) -> None:
    card = (zoo.DATA.parent / "CARD.md").read_text(encoding="utf-8")
    assert f"{accuracy:.1%}".replace("%", " %") in card
    assert accuracy >= 0.7


def test_bundled_names_work_from_python_as_on_the_command_line() -> None:
    model, tokenizer = hc.load("bundled:qnli")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert tokenizer("Who?", "She.")["token_type_ids"][-1] == 1
    found = hc.sweep(
        model.float(),
        tokenizer,
        "bundled:pairs",
        task="qnli",
        by="layer",
        limit=4,
        how="mean",
        reference="bundled:pairs",
    )
    assert found.sizes["example"] == 4


def test_models_by_name(tmp_path: Path) -> None:
    for name in ("qnli", "pretrained"):
        folder = zoo.find_model(f"bundled:{name}")
        assert folder == hc.bundled(name)
        assert (Path(folder) / "model.safetensors").is_file()
    for name in ("bert-base-uncased", str(tmp_path), "qnli", "my/bundled:qnli"):
        assert zoo.find_model(name) == name
    for name in ("bundled:", "bundled:nonsense", "bundled:../qnli", "bundled:pairs"):
        with pytest.raises(InvalidOption, match="got the bundled model .*; expected one of pretrained, qnli"):
            zoo.find_model(name)


def test_data_by_name(tmp_path: Path) -> None:
    pairs = zoo.find_data("bundled:pairs")
    assert pairs == str(hc.bundled_pairs())
    assert {"question", "sentence"} <= set(json.loads(Path(pairs).read_text(encoding="utf-8").splitlines()[0]))
    assert zoo.find_data("bundled:sentences") == str(hc.bundled_sentences())
    assert zoo.find_data("bundled:sentences").endswith(".conllu")
    for name in ("texts.csv", str(tmp_path), "pairs", "my/bundled:pairs"):
        assert zoo.find_data(name) == name
    for name in ("bundled:", "bundled:nonsense", "bundled:qnli", "bundled:Pairs"):
        with pytest.raises(InvalidOption, match=f"got the data '{name}'; expected bundled:pairs, bundled:sentences"):
            zoo.find_data(name)


def test_a_bundled_model_is_named_as_it_is_typed() -> None:
    assert zoo.spell_model(zoo.bundled("qnli")) == "bundled:qnli"
    assert zoo.spell_model("some/qnli") == "some/qnli"
    assert model_name(hc.load("bundled:qnli")[0]) == "bundled:qnli"
