"""Tests of sentence-transformers models: tiny random models, compared with their own code."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.collections.collection import Collection
from softset.encoders.base import Encoder
from softset.encoders.batching import split_windows
from softset.encoders.function import FunctionEncoder
from softset.encoders.pipeline import PipelineOptions
from softset.encoders.sentence_transformers import LateInteractionEncoder, sentence_encoder
from softset.errors import FileError, InputError, MissingExtraError

torch = pytest.importorskip("torch")
package = pytest.importorskip("sentence_transformers", minversion="6")
pytestmark = pytest.mark.torch

MARKS = ["<s>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q]", "[D]"]
WORDS = ["a", "the", "red", "blue", "book", "pen", "is", "on", "##s", "##ish", ".", ",", "!", "é", "ö"]
TEXTS = ["A red book.", "pens", "the blue, reddish pens is on the books!", "a a a", "red", "É ö", "  the   penish"]
LONG = " ".join(["the red book is on a blue pen"] * 6)
EXPANSION = {"strategy": "fixed", "length": 12, "attend": False, "token": None}
written = st.lists(st.sampled_from([*WORDS[:8], "reds", "Books", "zebra", "."]), min_size=1, max_size=9).map(" ".join)


# Tiny models


def transformer(folder: Path, kind: str = "Bert", **settings):
    """Return a random model of two layers with a small vocabulary, saved to disk and loaded again."""
    import transformers
    from sentence_transformers.base.modules import Transformer

    vocabulary = {word: index for index, word in enumerate([*MARKS, *WORDS])}
    markers = {"additional_special_tokens": ["[Q]", "[D]"], "strip_accents": False}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=24, **markers).save_pretrained(folder)
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(vocabulary), max_position_embeddings=32, pad_token_id=1, initializer_range=0.5, **sizes
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    return Transformer(str(folder), **settings)


def sentence_model(folder: Path, *others, **settings):
    return package.SentenceTransformer(modules=[transformer(folder, **settings), *others], device="cpu")


def pooling(mode="mean"):
    from sentence_transformers.sentence_transformer.modules import Pooling

    return Pooling(16, pooling_mode=mode)


def late_model(folder: Path, *others, skip=(".", ","), prompts=None, **settings):
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    first = transformer(folder, **settings)
    torch.manual_seed(4)
    smaller = Dense(16, 6, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    after = [smaller, MultiVectorMask(skiplist_words=list(skip)), Normalize(module_input_name="token_embeddings")]
    prompts = {"query": "[Q] ", "document": "[D] "} if prompts is None else prompts
    return package.MultiVectorEncoder(modules=[first, *after, *others], prompts=prompts, device="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save a SentenceTransformer with mean pooling."""
    from sentence_transformers.base.modules import Normalize

    path = tmp_path_factory.mktemp("models") / "tiny"
    sentence_model(tmp_path_factory.mktemp("backbone"), pooling(), Normalize()).save(str(path))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return package.SentenceTransformer(str(folder), local_files_only=True, device="cpu")


@pytest.fixture(scope="module")
def late_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "late"
    late_model(tmp_path_factory.mktemp("backbone"), query_expansion=EXPANSION, document_length=20).save(str(path))
    return path


@pytest.fixture(scope="module")
def colbert(late_folder):
    return package.MultiVectorEncoder(str(late_folder), local_files_only=True, device="cpu")


def watched(own):
    """Return a list that grows by the ids (b, L) of every call of a model."""
    seen = []
    own.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]["input_ids"].numpy().copy()))
    return seen


def cosines(a, b):
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


# A SentenceTransformer: vectors


def test_token_vectors_equal_those_of_the_model(model):
    sets = sentence_encoder(model).encode(TEXTS)
    theirs = model.encode(TEXTS, output_value="token_embeddings", batch_size=2)
    for index, vectors in enumerate(sets):
        ids = np.array(model.tokenizer(TEXTS[index])["input_ids"])
        known = np.isin(ids, model.tokenizer.all_special_ids, invert=True)
        assert len(vectors) == known.sum() > 0
        np.testing.assert_allclose(vectors, theirs[index].numpy()[known], atol=1e-5)
    assert sets.unknown.tolist() == [0, 0, 1, 0, 0, 0, 0]  # reddish: there is no ##d
    assert sets.dimensions == 16 and sets.vectors.dtype == np.float32


def test_special_tokens_can_be_members(model):
    sets = sentence_encoder(model, options=PipelineOptions(special_tokens=True)).encode(TEXTS)
    for index, theirs in enumerate(model.encode(TEXTS, output_value="token_embeddings")):
        names = model.tokenizer.convert_ids_to_tokens(model.tokenizer(TEXTS[index])["input_ids"])
        known = [name != "[UNK]" for name in names]  # those are not members
        np.testing.assert_allclose(sets[index], theirs.numpy()[known], atol=1e-5)
        assert sets.tokens_of(index)[0] == names[0] and sets.tokens_of(index)[-1] == names[-1]


@settings(max_examples=12)
@given(texts=st.lists(written, max_size=5), budget=st.integers(1, 60))
def test_sets_do_not_depend_on_the_batch(model, texts, budget):
    encoder = sentence_encoder(model, options=PipelineOptions(batch_tokens=budget))
    together, pooled = encoder.encode(texts), encoder.embed(texts)
    for index, text in enumerate(texts):
        np.testing.assert_allclose(together[index], encoder.encode([text])[0], atol=1e-5)
        np.testing.assert_allclose(pooled[index], encoder.embed([text])[0], atol=1e-5)


def test_models_with_offset_positions_have_the_right_limit(tmp_path):
    roberta = sentence_model(tmp_path, pooling(), kind="Roberta")
    roberta.max_seq_length = int(1e30)  # the value of transformers for an unknown limit
    encoder, seen = sentence_encoder(roberta), watched(roberta)
    assert "max_length:30" in encoder.signature  # RoBERTa does not use the first padding + 1 of its 32 positions
    sets, alone = encoder.encode([*TEXTS, LONG]), encoder.encode([TEXTS[1]])
    np.testing.assert_allclose(sets[1], alone[0], atol=1e-5)
    assert {int(ids[0, -1]) for ids in seen if len(ids) > 1} == {MARKS.index("[PAD]")}
    np.testing.assert_allclose(
        sets[0], roberta.encode(TEXTS[:1], output_value="token_embeddings")[0][1:-1].numpy(), atol=1e-5
    )


def test_modules_that_mix_tokens_run_one_text_per_batch(tmp_path):
    from sentence_transformers.sentence_transformer.modules import CNN

    mixing = sentence_model(tmp_path, CNN(16, out_channels=4, kernel_sizes=[1, 3, 5]))
    encoder = sentence_encoder(mixing)
    sets = encoder.encode(TEXTS)
    assert sets.dimensions == 12
    for index, text in enumerate(TEXTS[:2]):
        own = mixing.encode([text], output_value="token_embeddings")[0]
        np.testing.assert_allclose(sets[index], own[1:-1].numpy(), atol=1e-5)
    np.testing.assert_allclose(
        encoder.embed(TEXTS)[3], _mean_with_special_tokens(sets, 3), atol=1e-5
    )  # it has no pooling


def _mean_with_special_tokens(sets, index):
    return np.concatenate([sets[index], sets.special[index]]).mean(axis=0)


def test_half_precision_does_not_depend_on_the_batch(folder):
    half = package.SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.bfloat16})
    encoder, seen = sentence_encoder(half), watched(half)
    assert "|dtype:bfloat16" in encoder.signature
    sets = encoder.encode(TEXTS)
    assert {len(ids) for ids in seen} == {1}
    assert sets.vectors.dtype == np.float32
    assert all((sets[index] == encoder.encode([text])[0]).all() for index, text in enumerate(TEXTS))


def test_training_mode_does_not_change_vectors(model):
    encoder = sentence_encoder(model)
    before = encoder.encode(TEXTS).vectors
    model.train()
    assert (encoder.encode(TEXTS).vectors == before).all()


# A SentenceTransformer: texts


def test_spans_index_the_original_text(model):
    sets = sentence_encoder(model).encode(TEXTS)
    for index, text in enumerate(TEXTS):
        rows = slice(sets.offsets[index], sets.offsets[index + 1])
        spelled = [text[begin:end].lower() for begin, end in sets.spans[rows]]
        assert spelled == [token.removeprefix("##") for token in sets.tokens_of(index)]
    assert sets.tokens_of(6) == ["the", "pen", "##ish"]


def test_long_texts_are_encoded_in_windows(model):
    words = LONG.split()
    sets = sentence_encoder(model).encode([LONG, "red"])
    assert sets.tokens_of(0) == words and sets.truncated.tolist() == [0, 0]
    last = list(split_windows(len(words), 22))[-1]
    alone = sentence_encoder(model).encode([" ".join(words[last.start :])])[0]
    np.testing.assert_allclose(sets[0][last.begin :], alone[last.begin - last.start :], atol=1e-5)
    cut = sentence_encoder(model, options=PipelineOptions(overflow="truncate")).encode([LONG])
    np.testing.assert_allclose(
        cut[0], model.encode([LONG], output_value="token_embeddings")[0][1:-1].numpy(), atol=1e-5
    )
    assert cut.truncated.tolist() == [len(words) - 22]
    with pytest.raises(InputError, match=r"has 48 tokens, but the model takes 22"):
        sentence_encoder(model, options=PipelineOptions(overflow="error")).encode([LONG])


def test_unit_and_max_length_are_supported(model):
    encoder = sentence_encoder(model, options=PipelineOptions(unit="word", max_length=6))
    assert encoder.encode(["the penish books"]).tokens_of(0) == ["the", "penish", "books"]
    assert "unit:word" in encoder.signature and "max_length:6" in encoder.signature


def test_the_tokenizer_of_the_model_is_not_changed(model):
    model.encode(TEXTS)  # it cuts and pads now
    own = model.tokenizer.backend_tokenizer
    before = own.to_str(), own.truncation, own.padding, own.encode_special_tokens
    encoder = sentence_encoder(model)
    encoder.encode(TEXTS), encoder.embed(TEXTS)
    assert (own.to_str(), own.truncation, own.padding, own.encode_special_tokens) == before
    assert own.truncation is not None and own.padding is not None and not own.encode_special_tokens


# A SentenceTransformer: one vector per text


def test_sentence_vectors_equal_those_of_the_model(model):
    vectors = sentence_encoder(model).embed([*TEXTS, TEXTS[0]])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(cosines(vectors, model.encode([*TEXTS, TEXTS[0]])), 1, atol=1e-5)


@pytest.mark.parametrize("mode", ["cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"])
def test_sentence_vectors_follow_the_pooling_of_the_model(tmp_path, mode):
    own = sentence_model(tmp_path, pooling(mode))
    np.testing.assert_allclose(sentence_encoder(own).embed(TEXTS), own.encode(TEXTS), atol=1e-5)


def test_collections_put_the_prompts_of_a_model_before_texts(folder, tmp_path):
    own = package.SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    own.prompts = {"query": "the red ", "passage": "a "}
    encoder = sentence_encoder(own)
    assert encoder.prompts == {"query": "the red ", "document": "a "}
    books = Collection.create(tmp_path / "c", ["book", "cat"], encoder=encoder)
    assert books.embedder.query_prompt == "the red " and "|query:the red|document:a" in books.signature
    assert np.allclose(books.take([0, 1]), encoder.embed(["a book", "a cat"]), atol=1e-6)
    assert np.allclose(books.resolve("cat").vector, encoder.embed(["the red cat"])[0], atol=1e-6)


def test_prompts_are_not_applied(tmp_path):
    own = sentence_model(tmp_path, pooling())
    own.prompts, own.default_prompt_name = {"query": "the red "}, "query"
    np.testing.assert_allclose(sentence_encoder(own).embed(TEXTS), own.encode(TEXTS, prompt=""), atol=1e-5)
    assert not np.allclose(own.encode(TEXTS), own.encode(TEXTS, prompt=""), atol=1e-2)


def test_sentence_vectors_of_long_texts_are_the_mean_over_windows(model):
    words, calls = LONG.split(), []
    vectors = sentence_encoder(model).embed(["red", LONG], progress=lambda *done: calls.append(done))
    expected = sum(
        (window.end - window.begin) / len(words) * model.encode(" ".join(words[window.start : window.stop]))
        for window in split_windows(len(words), 22)
    )
    np.testing.assert_allclose(vectors[1], expected, atol=1e-5)
    assert set(calls) == {(2, 2)}
    cut = sentence_encoder(model, options=PipelineOptions(overflow="truncate")).embed([LONG])
    np.testing.assert_allclose(cut, model.encode([LONG]), atol=1e-5)


def test_empty_texts_are_empty_sets_and_zero(model):
    encoder = sentence_encoder(model)
    assert encoder.encode(["", "  \n", "zebra", "red"]).counts.tolist() == [0, 0, 0, 1]
    pooled = encoder.embed(["", "  \n", "zebra", "red"])
    assert not pooled[:3].any() and pooled[3].any()
    assert encoder.embed([]).shape == (0, 16) and encoder.encode([]).vectors.shape == (0, 16)


def test_sentence_vectors_of_another_dimension_are_rejected(tmp_path):
    from sentence_transformers.base.modules import Dense

    own = sentence_model(tmp_path, pooling(), Dense(16, 5))
    encoder = sentence_encoder(own)
    assert encoder.encode(TEXTS).dimensions == 16
    with pytest.raises(InputError, match=r"vectors have 5 dimensions and its token vectors 16.*FunctionEncoder"):
        encoder.embed(TEXTS)
    np.testing.assert_allclose(FunctionEncoder(own.encode).embed(TEXTS), own.encode(TEXTS), atol=1e-5)


# What they are called


def test_a_folder_and_its_loaded_model_are_the_same_encoder(folder, model):
    by_path, by_object = sentence_encoder(folder), sentence_encoder(model)
    assert by_path.signature == by_object.signature == sentence_encoder(str(folder)).signature
    assert (by_path.encode(TEXTS).vectors == by_object.encode(TEXTS).vectors).all()
    assert isinstance(by_path, Encoder)
    assert by_path.encode(["red"]).signature == by_path.signature
    head, _, options = by_path.signature.partition("|")
    assert head.startswith("encoder:st(tiny)@") and len(head.partition("@")[2]) == 8
    assert options == "special:out|unit:token|overflow:window|max_length:24"
    assert sentence_encoder(folder, name="mine").signature == by_path.signature.replace("tiny", "mine")


def test_the_checksum_differs_for_different_models(folder, tmp_path):
    def checksum(change):
        changed = package.SentenceTransformer(str(folder), device="cpu")
        change(changed)
        return sentence_encoder(changed).signature.partition("@")[2][:8]

    def nothing(changed):
        changed.encode(TEXTS)

    def a_weight(changed):
        next(changed.parameters()).data[0, 0] += 1e-3

    def the_pooling(changed):
        changed[1].pooling_mode = "cls"

    def the_spelling(changed):
        from tokenizers.normalizers import BertNormalizer

        changed.tokenizer.backend_tokenizer.normalizer = BertNormalizer(lowercase=False)

    checksums = [checksum(change) for change in (nothing, nothing, a_weight, the_pooling, the_spelling)]
    assert checksums[0] == checksums[1] and len(set(checksums)) == 4
    assert sentence_encoder(sentence_model(tmp_path / "named", pooling())).signature.startswith("encoder:st(named)@")


def test_names_are_looked_up_in_the_download_cache_only(folder, monkeypatch):
    asked = []

    def snapshot(name, *, local_files_only):
        asked.append((name, local_files_only))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert sentence_encoder("tiny-model").signature.startswith("encoder:st(tiny-model)@")
    assert sentence_encoder("someone/tiny-model").signature.startswith("encoder:st(tiny-model)@")
    assert asked == [("sentence-transformers/tiny-model", True), ("someone/tiny-model", True)]


# A MultiVectorEncoder


@pytest.mark.parametrize("role", ["document", "query"])
def test_late_interaction_sets_equal_those_of_the_model(colbert, role):
    texts = [*TEXTS, LONG]
    sets = sentence_encoder(colbert, role=role).encode([*texts, TEXTS[0]])
    theirs = getattr(colbert, f"encode_{role}")(texts, convert_to_numpy=True)
    for vectors, own in zip(sets, [*theirs, theirs[0]], strict=True):
        np.testing.assert_allclose(vectors, own, atol=1e-5)
    assert sets.dimensions == 6 and sets.vectors.dtype == np.float32


def test_late_interaction_sets_have_tokens(colbert):
    documents = sentence_encoder(colbert).encode(["A red book.", LONG])
    assert documents.tokens_of(0) == ["[CLS]", "[D]", "a", "red", "book", "[SEP]"]
    assert documents.counts.tolist() == [6, 20] and documents.truncated.tolist() == [0, len(LONG.split()) + 3 - 20]
    query = sentence_encoder(colbert, role="query").encode(["A red book."])
    assert query.tokens_of(0) == ["[CLS]", "[Q]", "a", "red", "book", ".", "[SEP]", *["[MASK]"] * 5]
    assert query.truncated.tolist() == [0]


@settings(max_examples=10)
@given(texts=st.lists(written, max_size=5), budget=st.integers(1, 60), role=st.sampled_from(["document", "query"]))
def test_late_interaction_does_not_depend_on_the_batch(colbert, texts, budget, role):
    encoder = sentence_encoder(colbert, role=role, options=PipelineOptions(batch_tokens=budget))
    for text, vectors in zip(texts, encoder.encode(texts), strict=True):
        np.testing.assert_allclose(vectors, encoder.encode([text])[0], atol=1e-5)


def test_queries_are_expanded_to_the_minimum_length(tmp_path):
    growing = late_model(tmp_path, query_expansion={"strategy": "min", "length": 8, "attend": True, "token": None})
    sets = sentence_encoder(growing, role="query").encode(TEXTS)
    assert sets.counts.min() == 8 < sets.counts.max()
    for text, vectors in zip(TEXTS, sets, strict=True):
        np.testing.assert_allclose(vectors, growing.encode_query([text], convert_to_numpy=True)[0], atol=1e-5)


def test_late_interaction_batches_have_no_padding(tmp_path):
    from sentence_transformers.sentence_transformer.modules import CNN

    mixing = late_model(tmp_path, CNN(6, out_channels=2, kernel_sizes=[1, 5]))
    sets = sentence_encoder(mixing).encode(TEXTS)
    assert sets.dimensions == 4
    for text, vectors in zip(TEXTS, sets, strict=True):
        np.testing.assert_allclose(vectors, mixing.encode_document([text], convert_to_numpy=True)[0], atol=1e-5)


def test_merged_tokens_have_no_names(tmp_path):
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    merging = late_model(tmp_path, HierarchicalTokenPooling(2.0))
    sets = sentence_encoder(merging).encode(TEXTS)
    assert sets.tokens is None
    for vectors, own in zip(sets, merging.encode_document(TEXTS, convert_to_numpy=True), strict=True):
        np.testing.assert_allclose(vectors, own, atol=1e-5)
    assert sentence_encoder(merging, role="query").encode(["red"]).tokens_of(0) == ["[CLS]", "[Q]", "red", "[SEP]"]


@pytest.mark.parametrize(
    ("prompts", "default", "role", "tokens"),
    [
        ({"passage": "the "}, None, "document", ["[CLS]", "red", "[SEP]"]),  # "document" is there, and is nothing
        ({"document": "the ", "corpus": "a "}, None, "document", ["[CLS]", "the", "red", "[SEP]"]),
        ({"mine": "blue "}, "mine", "query", ["[CLS]", "red", "[SEP]"]),
    ],
)
def test_prompts_are_chosen_as_the_model_does(tmp_path, prompts, default, role, tokens):
    own = late_model(tmp_path, prompts=prompts)
    own.default_prompt_name = default
    sets = sentence_encoder(own, role=role).encode(["red"])
    assert sets.tokens_of(0) == tokens
    np.testing.assert_allclose(sets[0], getattr(own, f"encode_{role}")(["red"], convert_to_numpy=True)[0], atol=1e-5)
    del own.prompts["document"], own.prompts["query"]
    sets = sentence_encoder(own, role=role).encode(["red"])
    np.testing.assert_allclose(sets[0], getattr(own, f"encode_{role}")(["red"], convert_to_numpy=True)[0], atol=1e-5)


def test_blank_texts_are_empty_and_progress_is_reported(colbert):
    calls = []
    encoder = sentence_encoder(colbert)
    sets = encoder.encode(["", "red", " \n", "a pen"], progress=lambda *done: calls.append(done))
    assert sets.counts.tolist() == [0, 4, 0, 5] and sets.tokens_of(0) == []
    assert calls == [(3, 4), (4, 4)]
    assert not encoder.embed([""]).any() and encoder.encode([]).vectors.shape == (0, 6)
    np.testing.assert_allclose(encoder.embed(["red"])[0], sets[1].mean(axis=0), atol=1e-6)


def test_a_late_interaction_folder_and_its_loaded_model_are_the_same_encoder(late_folder, colbert):
    by_path, by_object = sentence_encoder(late_folder), sentence_encoder(colbert)
    assert by_path.signature == by_object.signature
    assert by_path.signature.startswith("encoder:st(late)@")
    assert by_path.signature.endswith("|role:document|prompt:%5BD%5D |max_length:24")
    assert (by_path.encode(TEXTS).vectors == by_object.encode(TEXTS).vectors).all()
    assert sentence_encoder(colbert, role="query").signature != by_object.signature


@pytest.mark.parametrize(
    ("file", "setting"),
    [
        ("config_sentence_transformers.json", {"model_type": "ColBERT"}),
        ("config.json", {"architectures": ["HF_ColBERT"]}),
    ],
)
def test_colbert_folders_are_supported(late_folder, tmp_path, file, setting):
    path = shutil.copytree(late_folder, tmp_path / "other")
    facts = json.loads((path / "config_sentence_transformers.json").read_text())
    del facts["model_type"]
    (path / "config_sentence_transformers.json").write_text(json.dumps(facts))
    (path / file).write_text(json.dumps({**json.loads((path / file).read_text()), **setting}))
    assert isinstance(sentence_encoder(path), LateInteractionEncoder)


def test_the_checksum_includes_the_skip_list(tmp_path):
    plain, other = (late_model(tmp_path / str(number), skip=skip) for number, skip in enumerate([[], ["."]]))
    signatures = {sentence_encoder(each, name="late").signature for each in (plain, other)}
    assert len(signatures) == 2


def test_late_interaction_in_half_precision(late_folder):
    half = package.MultiVectorEncoder(str(late_folder), device="cpu", model_kwargs={"dtype": torch.bfloat16})
    encoder, seen = sentence_encoder(half), watched(half)
    sets = encoder.encode(TEXTS)
    assert {len(ids) for ids in seen} == {1}
    assert encoder.signature.endswith("|dtype:bfloat16")
    assert all((sets[index] == encoder.encode([text])[0]).all() for index, text in enumerate(TEXTS))


# Rejected input


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="pip install sentence-transformers"):
        sentence_encoder("tiny")


@pytest.mark.parametrize(
    "options", [{"special_tokens": True}, {"unit": "word"}, {"max_length": 9}, {"overflow": "error"}]
)
def test_late_interaction_models_reject_pipeline_options(colbert, options):
    with pytest.raises(InputError, match="defines its own token sets: its only option is batch_tokens"):
        sentence_encoder(colbert, options=PipelineOptions(**options, batch_tokens=7))


def test_unknown_roles_and_models_are_rejected(model):
    with pytest.raises(InputError, match='the role \'answer\' is not known: use "document" or "query"'):
        sentence_encoder(model, role="answer")
    with pytest.raises(InputError, match="Linear was given, but a SentenceTransformer"):
        sentence_encoder(torch.nn.Linear(2, 2))


def test_models_without_token_vectors_are_rejected(tmp_path):
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    first = transformer(tmp_path)
    static = StaticEmbedding(first.tokenizer.backend_tokenizer, embedding_dim=4)
    with pytest.raises(InputError, match=r"tokenizer is of type Tokenizer.*FunctionEncoder\(model.encode\)"):
        sentence_encoder(package.SentenceTransformer(modules=[static]))
    first.module_output_name = "sentence_embedding"
    with pytest.raises(InputError, match="the model's Transformer gives no vector for each token"):
        sentence_encoder(package.SentenceTransformer(modules=[first]))
    routed = Router.for_query_document(query_modules=[first], document_modules=[static])
    with pytest.raises(InputError, match="different modules for queries and documents"):
        sentence_encoder(package.SentenceTransformer(modules=[routed]))


def test_models_with_a_chat_template_are_rejected(tmp_path):
    own = sentence_model(tmp_path, pooling())
    own[0].modality_config["message"] = own[0].modality_config["text"]
    with pytest.raises(InputError, match="adds the tokens of a chat template"):
        sentence_encoder(own)


def test_an_unknown_module_gives_a_clear_error(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    modules = json.loads((tmp_path / "m" / "modules.json").read_text())
    modules[-1]["type"] = "no_such_package.Module"
    (tmp_path / "m" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(FileError, match=r"m cannot be opened by sentence-transformers \(.*no_such_package"):
        sentence_encoder(tmp_path / "m")


def test_an_error_in_pooling_gives_a_clear_error(folder, monkeypatch):
    encoder = sentence_encoder(folder)

    def fails(*_):
        raise RuntimeError("out of memory\nadvice")

    monkeypatch.setattr(encoder._network, "sentence_vectors", fails)
    with pytest.raises(FileError, match=r"cannot be run on 1 text of 6 tokens \(out of memory\): try a smaller"):
        encoder.embed(["A red book."])


def test_bad_folders_give_a_clear_error(folder, tmp_path):
    with pytest.raises(FileError, match="is neither a folder nor a downloaded model"):
        sentence_encoder(tmp_path / "nothing" / "there")
    with pytest.raises(FileError, match="cannot be opened by sentence-transformers"):
        sentence_encoder(shutil.copytree(folder, tmp_path / "broken", ignore=lambda *_: ["config.json"]))
    sparse = shutil.copytree(folder, tmp_path / "sparse")
    (sparse / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "SparseEncoder"}))
    with pytest.raises(FileError, match="holds a SparseEncoder, but"):
        sentence_encoder(sparse)


def test_pickles_are_not_opened(folder, tmp_path):
    pickled = shutil.copytree(folder, tmp_path / "pickled")
    (pickled / "1_Pooling" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(FileError, match=r"pytorch_model.bin is a pickle, which can run code"):
        sentence_encoder(pickled)
    shutil.copy(folder / "model.safetensors", pickled / "1_Pooling")
    assert sentence_encoder(pickled).dimensions == 16
