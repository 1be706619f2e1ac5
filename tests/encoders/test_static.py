"""Tests of word vectors and model2vec as encoders."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors.numpy import save_file

from softset import SoftsetError, load_encoder, load_words
from softset.encoders.static import WordsEncoder
from softset.vectors.registry import import_vectors
from softset.vectors.vocabulary import Vocabulary
from tests.encoders.invariance import LISTS, ODD, assert_same_alone, assert_spans_are_in_the_text

WORDS = ["[PAD]", "[UNK]", "red", "book", "king", "##dom", ",", "do"]


def model2vec_folder(folder: Path, extra: dict[str, np.ndarray] | None = None) -> Path:
    """Make a tiny model2vec folder with its own tokenizer, whose special tokens must not be used."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(single="red $A", special_tokens=[("red", 2)])
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    save_file({"embeddings": vectors, **(extra or {})}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "model2vec", "normalize": true, "hidden_dim": 6}')
    return folder


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = model2vec_folder(tmp_path_factory.mktemp("models") / "tiny")
    return {"words": load_encoder("words"), "model2vec": load_encoder(folder, batch_tokens=20)}


@pytest.mark.parametrize("name", ["words", "model2vec"])
def test_vectors_do_not_depend_on_the_batch(static: dict[str, Any], name: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(LISTS)
    def check(texts: list[str]) -> None:
        assert_same_alone(static[name], static[name], texts, 0.0)

    check()


@pytest.mark.parametrize("name", ["words", "model2vec"])
def test_spans_index_the_original_text(static: dict[str, Any], name: str) -> None:
    texts = [*ODD, "A red book, King's kingdom"]
    sets = static[name].encode(texts)
    assert_spans_are_in_the_text(sets, texts)
    assert sets.empty[:2].all() and not sets.empty[-1]


def test_words_get_the_vectors_of_the_vocabulary() -> None:
    words, encoder = load_words(), load_encoder("words")
    text = "A red book, state-of-the-art: New qwertyzzz don\u2019t"
    sets = encoder.encode([text])
    assert sets.tokens_of(0) == ["A", "red", "book", "state-of-the-art", "New", "don\u2019t"]
    assert sets.unknown.tolist() == [1] and sets.special is None
    assert np.array_equal(sets[0][1], words["red"])
    parts = np.mean([words[part] for part in ("state", "of", "the", "art")], axis=0)
    assert np.allclose(sets[0][3], parts, atol=1e-6)  # a plain mean, while phrases in queries weigh rare words more
    unit = sets[0] / np.linalg.norm(sets[0], axis=1, keepdims=True)
    assert np.allclose(encoder.embed([text])[0], unit.mean(axis=0), atol=1e-6)


def test_combining_characters_stay_in_their_words() -> None:
    texts = ["e\u0301te\u0301", "नमस्ते", "שָׁלוֹם", "كِتَاب", "你好"]
    encoder = WordsEncoder(Vocabulary.of(texts, np.eye(len(texts))))
    sets = encoder.encode(texts)
    assert np.array_equal(sets.vectors, np.eye(5, dtype=np.float32)) and not sets.unknown.any()


def test_imported_vectors_and_folders_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "v.txt").write_text("red 1 0\nbook 0 2\n")
    import_vectors(tmp_path / "v.txt", "mine")
    by_name = load_encoder("words:mine")
    assert by_name.encode(["red book"]).vectors.tolist() == [[1, 0], [0, 2]]
    Vocabulary.read(tmp_path / "v.txt").save(tmp_path / "folder")
    assert load_encoder(tmp_path / "folder").encode(["book"]).vectors.tolist() == [[0, 2]]
    own = load_encoder(Vocabulary.read(tmp_path / "v.txt"))
    assert own.encode(["red"]).vectors.tolist() == [[1, 0]]
    assert "@" in by_name.signature and "@" not in own.signature
    with pytest.raises(SoftsetError, match="import the word vectors"):
        load_encoder(Vocabulary.read(tmp_path / "v.txt"), cache=tmp_path / "kept")
    assert getattr(by_name, "second_moment", 0) is None


@pytest.mark.parametrize("options", [{"layer": 2}, {"device": "cpu"}, {"dtype": "float16"}])
def test_options_without_effect_are_rejected(tmp_path: Path, options: dict[str, Any]) -> None:
    for model in ("words", model2vec_folder(tmp_path / "tiny")):
        with pytest.raises(SoftsetError, match=f"no option {next(iter(options))}"):
            load_encoder(model, **options)


def test_model2vec_tokens_get_their_rows(tmp_path: Path) -> None:
    encoder = load_encoder(model2vec_folder(tmp_path / "tiny"))
    sets = encoder.encode(["Red kingdom, zebra"])
    assert sets.tokens_of(0) == ["red", "king", "##dom", ","] and sets.unknown.tolist() == [1]
    table = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    assert np.array_equal(sets[0], table[[2, 4, 5, 6]])
    assert np.allclose(encoder.embed(["Red kingdom, zebra"])[0], table[[2, 4, 5, 6]].mean(axis=0), atol=1e-7)
    words = load_encoder(tmp_path / "tiny", unit="word").encode(["Red kingdom"])
    assert words.tokens_of(0) == ["Red", "kingdom"] and np.allclose(words[0][1], table[[4, 5]].mean(0), atol=1e-7)
    long = encoder.encode(["red " * 2000])
    assert long.counts.tolist() == [2000], "a table has no longest text"


def test_model2vec_agrees_with_its_own_package(tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    n = len(WORDS)
    extra = {"mapping": np.arange(n)[::-1].copy(), "weights": np.linspace(0.5, 2, n)}
    for parts in ({}, extra):
        folder = model2vec_folder(tmp_path / "tiny", parts)
        theirs = model2vec.StaticModel.from_pretrained(folder)
        texts = ["Red kingdom, do", "zebra", "", "king king red"]
        ours = load_encoder(folder).embed(texts)
        expected = theirs.encode(texts)
        lengths = np.linalg.norm(ours, axis=1, keepdims=True)
        assert np.allclose(ours / np.where(lengths > 0, lengths, 1), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "is not a model|no model.safetensors"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "is not a valid tokenizer"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "is not a JSON object"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not a complete JSON file"),
        (lambda folder: save_file({"embeddings": np.zeros((3, 2))}, folder / "model.safetensors"), "3 rows"),
        (
            lambda folder: save_file({"embeddings": np.full((8, 2), np.nan)}, folder / "model.safetensors"),
            "not finite",
        ),
    ],
)
def test_broken_model2vec_folders_give_a_clear_error(tmp_path: Path, change: Any, sentence: str) -> None:
    folder = model2vec_folder(tmp_path / "tiny")
    change(folder)
    with pytest.raises(SoftsetError, match=sentence):
        load_encoder(folder)


def test_other_options_keep_the_pooling(tmp_path: Path) -> None:
    encoder = load_encoder(model2vec_folder(tmp_path / "tiny"))
    texts = ["red zebra book", "blue"]
    assert np.array_equal(encoder.with_options(unit="token").embed(texts), encoder.embed(texts))
    assert type(encoder.with_options(unit="word")) is type(encoder)
