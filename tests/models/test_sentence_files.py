"""Do folders of sentence-transformers load as they are, and what is saved, pruned or not, in sentence-transformers?"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.data.kinds.pooling import Pooling, read_pooling
from headcount.data.kinds.sentence_files import makes_vectors, read_sentence_files
from headcount.data.tasks import find_task
from headcount.errors import ModelUnavailable, UnsuitableModel
from headcount.models.sentence_files import library_class
from tests import planted
from tests.pruning import jobs

TEXTS = [*jobs.TEXTS]


def sentence_transformers() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("sentence_transformers")


def plain_model(folder: Path) -> Path:
    """What `save_pretrained` writes of a model without a head."""
    planted.tokenizer(folder / "words").save_pretrained(folder)
    shutil.rmtree(folder / "words")
    jobs.random_model("BertModel").float().save_pretrained(folder)
    return folder


def written(folder: Path, pooling: str = "mean", **options: Any) -> Path:
    """A folder that the library itself wrote, with its normalisation."""
    library = sentence_transformers()
    from sentence_transformers.sentence_transformer import modules

    parts = [modules.Transformer(str(plain_model(folder / "plain"))), modules.Pooling(32, pooling), modules.Normalize()]
    library.SentenceTransformer(modules=parts, device="cpu", **options).save(str(folder / "sentences"))
    return folder / "sentences"


def library_vectors(folder: Path, **options: Any) -> np.ndarray:
    model = sentence_transformers().SentenceTransformer(str(folder), device="cpu", **options)
    return model.encode(TEXTS, batch_size=3)


def our_cosines(folder: Path) -> np.ndarray:
    model, tokenizer = hc.load(folder)
    table = jobs.pairs()
    found = hc.sweep(model, tokenizer, table, task="similarity", by="layer")
    return (
        found["logits_baseline"].values[:, 0] if "logits_baseline" in found else found["baseline_logits"].values[:, 0]
    )


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_the_vectors_are_those_of_the_library(pooling: str, tmp_path: Path) -> None:
    folder = written(tmp_path, pooling, prompts={"query": "so good "}, default_prompt_name="query")
    vectors = library_vectors(folder)
    expected = (vectors * vectors[::-1]).sum(1)
    np.testing.assert_allclose(our_cosines(folder), expected, atol=2e-6)


def test_the_pruned_folder_loads_in_the_library_and_gives_the_same_vectors(tmp_path: Path) -> None:
    folder = written(tmp_path)
    model, tokenizer = hc.load(folder)
    with hc.ablated(model, ["L0H1", "L2H0-2"], how="zero"):
        expected = states(model, tokenizer)
    hc.prune(model, ["L0H1", "L2H0-2"])
    hc.save(model, tokenizer, tmp_path / "small")
    found = library_vectors(tmp_path / "small", trust_remote_code=True)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert abs(found - library_vectors(folder)).max() > 1e-3, "the heads did something"
    assert "SentenceTransformer(folder, trust_remote_code=True)" in (tmp_path / "small" / "README.md").read_text()


@torch.no_grad()
def states(model: Any, tokenizer: Any) -> np.ndarray:
    found = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in TEXTS]
    return np.stack([(vector / vector.norm()).numpy() for vector in found])


def test_a_plain_folder_says_how_the_library_loads_it(tmp_path: Path) -> None:
    """A model without the library's files is one of vectors, too: their mean."""
    model, tokenizer = hc.load(plain_model(tmp_path / "plain"))
    hc.save(hc.prune(model, ["L0H1", "L1H2", "L1H3"]), tokenizer, tmp_path / "small")
    card = (tmp_path / "small" / "README.md").read_text()
    assert "`SentenceTransformer(folder, trust_remote_code=True)` gives vectors of texts, by mean pooling" in card
    with torch.no_grad():
        states = model(**(inputs := tokenizer(TEXTS[0], return_tensors="pt"))).last_hidden_state
    assert inputs["attention_mask"].all()
    vectors = library_vectors(tmp_path / "small", trust_remote_code=True)
    np.testing.assert_allclose(vectors[0], states[0].mean(0).numpy(), atol=1e-5)


def test_heads_and_units_that_are_gone(tmp_path: Path) -> None:
    """As --what both removes them."""
    folder, parts = written(tmp_path, "cls"), ["L0H1", "L1H0", "L0U3-30", "L2U0-9"]
    model, tokenizer = hc.load(folder)
    with hc.ablated(model, parts, how="zero"):
        expected = library_like(model, tokenizer)
    hc.prune(model, parts)
    hc.save(model, tokenizer, tmp_path / "small")
    np.testing.assert_allclose(library_vectors(tmp_path / "small", trust_remote_code=True), expected, atol=2e-6)


@torch.no_grad()
def library_like(model: Any, tokenizer: Any) -> np.ndarray:
    """The first tokens' vectors, of length 1."""
    found = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0] for text in TEXTS]
    return np.stack([(vector / vector.norm()).numpy() for vector in found])


def test_what_was_saved_has_the_same_pooling(tmp_path: Path) -> None:
    """Loaded and saved twice, and copied along the way."""
    import copy

    folder = written(tmp_path, "cls")
    for number in range(2):
        model, tokenizer = hc.load(folder)
        folder = hc.save(copy.deepcopy(model), tokenizer, tmp_path / f"again{number}")
    assert find_task("similarity").for_model(hc.load(folder)[0]).kind.of_model.mode == "first"
    np.testing.assert_array_equal(library_vectors(folder), library_vectors(tmp_path / "sentences"))


def earlier(folder: Path, pooling: dict[str, Any], modules: tuple[str, ...] = ("Pooling",)) -> Path:
    """A folder as versions before 5 wrote it, with the model in a subfolder."""
    plain_model(folder / "0_Transformer")
    names = [("", "0_Transformer", "Transformer")] + [("", f"{n}_{name}", name) for n, name in enumerate(modules, 1)]
    listed = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{name}"}
        for n, (_, path, name) in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "0_Transformer" / "sentence_bert_config.json").write_text('{"max_seq_length": 4, "do_lower_case": true}')
    for _, path, name in names[1:]:
        (folder / path).mkdir()
        (folder / path / "config.json").write_text(json.dumps(pooling if name == "Pooling" else {}))
    return folder


MEAN = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def test_earlier_folders(tmp_path: Path) -> None:
    folder = earlier(tmp_path / "old", MEAN)
    model, tokenizer = hc.load(folder)
    pooling = find_task("similarity").for_model(model).kind.of_model
    assert pooling == Pooling("mean", longest=4, lower=True, known=True)
    table = jobs.pairs()
    assert hc.sweep(model, tokenizer, table, task="similarity", by="layer").attrs["cut"] > 0
    saved = hc.save(model, tokenizer, tmp_path / "new")
    assert read_pooling(read_sentence_files(saved)) == pooling
    assert json.loads((saved / "modules.json").read_text())[0]["path"] == ""
    assert (saved / "sentence_bert_config.json").is_file()
    library_vectors(saved)


@pytest.mark.parametrize(
    ("pooling", "modules", "message"),
    [
        ({"pooling_mode": "max"}, ("Pooling",), "says pooling max; expected mean, cls or lasttoken"),
        ({"pooling_mode": ["cls", "mean"]}, ("Pooling",), "says pooling cls and mean; expected"),
        (MEAN, ("Pooling", "Dense"), "vectors pass through Dense"),
    ],
)
def test_vectors_that_are_made_in_another_way(
    pooling: dict[str, Any], modules: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    model, tokenizer = hc.load(earlier(tmp_path / "old", pooling, modules))
    with pytest.raises(UnsuitableModel, match=message):
        hc.sweep(model, tokenizer, jobs.pairs(), task="similarity")
    found = hc.sweep(model, tokenizer, jobs.pairs(), task="similarity,pooling=mean", by="layer")
    assert "as pooling= says" in found.attrs["notes"][0]


def test_damaged_files(tmp_path: Path) -> None:
    folder = earlier(tmp_path / "old", MEAN)
    (folder / "modules.json").write_text("[{")
    with pytest.raises(ModelUnavailable, match=r"modules\.json cannot be read as JSON; restore the file"):
        hc.load(folder)


def test_a_cross_encoder_is_no_model_of_vectors(tmp_path: Path) -> None:
    folder = earlier(tmp_path / "old", MEAN, ())
    files = read_sentence_files(folder / "0_Transformer")
    assert not makes_vectors(files)
    assert read_pooling(files) == Pooling()
    assert library_class(hc.load(folder, head="similarity")[0]) is None, "the files are those of a model with a head"


def test_prompts_that_do_not_count(tmp_path: Path) -> None:
    folder = written(tmp_path, prompts={"query": "so good "}, default_prompt_name="query")
    config = json.loads((folder / "1_Pooling" / "config.json").read_text())
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({**config, "include_prompt": False}))
    vectors = library_vectors(folder)
    np.testing.assert_allclose(our_cosines(folder), (vectors * vectors[::-1]).sum(1), atol=2e-6)
