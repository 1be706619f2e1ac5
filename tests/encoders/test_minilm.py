"""Tests of the bundled encoder: all-MiniLM-L6-v2 on onnxruntime."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset import Subspace, TokenSets, load_encoder
from softset.encoders.models import MANIFEST, model_folder
from softset.encoders.signature import parse_signature
from softset.errors import InputError
from tests.encoders.invariance import LISTS, ODD, assert_close, assert_same_alone, assert_spans_are_in_the_text

LONG = " ".join(f"word{n % 97} is number {n}." for n in range(300))  # 2,100 tokens


@pytest.fixture(scope="module")
def minilm() -> softset.Encoder:
    return load_encoder("minilm")


@settings(max_examples=40, deadline=None)
@given(LISTS, st.sampled_from([1, 7, 40, 1024, 100_000]), st.randoms(use_true_random=False))
def test_vectors_do_not_depend_on_the_batch(texts: list[str], budget: int, random) -> None:
    random.shuffle(texts)
    assert_same_alone(shared(budget), shared(1024), texts, 1e-5)


def shared(budget: int) -> softset.Encoder:
    if budget not in ENCODERS:
        ENCODERS[budget] = load_encoder("minilm", batch_tokens=budget)
    return ENCODERS[budget]


ENCODERS: dict[int, softset.Encoder] = {}


@pytest.mark.parametrize("unit", ["token", "word"])
def test_spans_index_the_original_text(unit: str) -> None:
    texts = [*ODD, "Ünïcödé  déjà-vu’s\u00a0x", "don't   stop"]
    sets = load_encoder("minilm", unit=unit).encode(texts)
    assert_spans_are_in_the_text(sets, texts)
    assert sets.empty[:2].all() and sets.tokens is not None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_spans_index_any_text(texts: list[str]) -> None:
    assert_spans_are_in_the_text(shared(1024).encode(texts), texts)


def test_results_follow_the_order_of_the_texts(minilm: softset.Encoder) -> None:
    texts = ["a much longer sentence than the others here", "short", "", "short", "two words"]
    sets = minilm.encode(texts)
    assert sets.counts.tolist() == [8, 1, 0, 1, 2]
    assert np.array_equal(sets[1], sets[3]) and sets.tokens_of(4) == ["two", "words"]
    assert len(minilm.encode([])) == 0 and minilm.embed([]).shape == (0, 384)


def test_texts_of_spaces_or_unknown_characters_are_empty_sets(minilm: softset.Encoder) -> None:
    sets = minilm.encode(["", "   ", "\u200b\x00", "𓀀", "ok 𓀀"])
    assert sets.empty.tolist() == [True, True, True, True, False]
    assert sets.unknown.tolist() == [0, 0, 0, 1, 1]
    assert sets.special is not None and sets.special.tokens_of(4) == ["[CLS]", "[UNK]", "[SEP]"]
    assert not minilm.embed(["", "𓀀"]).any() and minilm.embed(["ok"]).any()
    inside = load_encoder("minilm", special_tokens=True).encode(["", "𓀀", "ok 𓀀"])
    assert inside.empty.tolist() == [True, True, False] and inside.tokens_of(2) == ["[CLS]", "ok", "[SEP]"]


def test_special_tokens_are_separate_or_members(minilm: softset.Encoder) -> None:
    text = "A red book."
    out, inside = minilm.encode([text]), load_encoder("minilm", special_tokens=True).encode([text])
    assert out.special is not None and inside.tokens is not None
    assert np.allclose(inside[0], np.concatenate([out.special[0][:1], out[0], out.special[0][1:]]), atol=1e-6)
    assert out.special.spans is not None and out.special.spans.tolist() == [[0, 0], [11, 11]]
    assert len(inside.special or []) == 1 and not (inside.special or out).counts.any()


def test_a_typed_special_token_is_text(minilm: softset.Encoder) -> None:
    assert minilm.encode(["[SEP]"]).tokens_of(0) == ["[", "sep", "]"]


def test_words_are_the_means_of_their_tokens(minilm: softset.Encoder) -> None:
    text = "unbelievably tokenizable, isn't it? 你好 नमस्ते e\u0301te\u0301 👩‍👩‍👧"
    pieces, words = minilm.encode([text]), load_encoder("minilm", unit="word").encode([text])
    assert words.tokens_of(0)[:8] == ["unbelievably", "tokenizable", ",", "isn't", "it", "?", "नमस्ते", "e\u0301te\u0301"]
    assert words.spans is not None and [text[a:b] for a, b in words.spans.tolist()] == words.tokens_of(0)
    assert pieces.spans is not None
    for vector, (begin, end) in zip(words[0], words.spans.tolist(), strict=True):
        inside = (pieces.spans[:, 0] >= begin) & (pieces.spans[:, 1] <= end)
        assert np.allclose(vector, pieces[0][inside].mean(axis=0), atol=1e-6)
    marked = load_encoder("minilm", unit="word", special_tokens=True).encode(["Hello there"])
    assert marked.tokens_of(0) == ["[CLS]", "Hello", "there", "[SEP]"]


class TestLongTexts:
    """A text that is too long is split into windows, cut or refused, never cut silently."""

    def test_windows_cover_the_whole_text(self, minilm: softset.Encoder) -> None:
        whole = minilm.encode([LONG, "short"])
        assert whole.counts[0] > 1500 and not whole.truncated.any() and whole.tokens is not None
        assert_spans_are_in_the_text(whole, [LONG, "short"])
        assert whole.special is not None and whole.special.tokens_of(0) == ["[CLS]", "[SEP]"]
        assert np.array_equal(whole[1], minilm.encode(["short"])[0])

    def test_each_vector_comes_from_the_window_with_most_context(self) -> None:
        small = load_encoder("minilm", max_length=18)  # 16 tokens of text, of which neighbours share 4
        text = " ".join("red blue green one two three four five six seven".split() * 3)  # 30 tokens
        sets = small.encode([text])
        words = text.split()
        assert sets.tokens_of(0) == words
        windows = [(0, 16), (12, 28), (14, 30)]
        taken = [range(14), range(14, 21), range(21, 30)]
        for (start, stop), rows in zip(windows, taken, strict=True):
            alone = load_encoder("minilm").encode([" ".join(words[start:stop])])[0]
            assert np.abs(sets[0][rows.start : rows.stop] - alone[rows.start - start : rows.stop - start]).max() < 1e-5

    def test_layer_zero_uses_the_same_windows(self) -> None:
        encoder = load_encoder("minilm", layer=0, max_length=18)
        encoder.encode(["red " * 30])
        assert vars(encoder)["_causal"] is False

    def test_truncation_is_counted(self, minilm: softset.Encoder) -> None:
        whole = minilm.encode([LONG]).counts[0]
        cut = load_encoder("minilm", overflow="truncate").encode([LONG, "short"])
        assert cut.counts.tolist() == [510, 1] and cut.truncated.tolist() == [whole - 510, 0]
        assert "1,371 tokens truncated" in repr(cut)

    def test_the_error_for_long_texts_names_the_options(self) -> None:
        with pytest.raises(InputError, match=r"has \d+ tokens, but the model takes 510: .*overflow='window'"):
            load_encoder("minilm", overflow="error").encode(["fine", LONG])

    def test_a_line_of_100_000_characters(self) -> None:
        text = "abc def " * 12_500
        # What goes into the first layer is cut in windows as any layer is, and takes no time.
        assert load_encoder("minilm", layer=0).encode([text[:-1], "x" * 100_000]).counts.tolist() == [25_000, 0]
        assert load_encoder("minilm", overflow="truncate", max_length=8).encode([text]).truncated[0] == 25_000 - 6


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("one text", "a list of texts was expected, but one str was given"),
        (b"x", "one bytes was given"),
        (["a", None], "text 1 is None"),
        (["a", b"b"], "text 1 is of type bytes"),
        ([3], "text 0 is of type int"),
        (["ok", "half \ud83d of"], r"text 1 has a lone surrogate, U\+D83D, at character 5"),
        (5, "a list of texts was expected, but int was given"),
    ],
)
@pytest.mark.parametrize("name", ["minilm", "words"])
def test_objects_that_are_not_texts_are_rejected(name: str, texts: object, sentence: str) -> None:
    for call in (load_encoder(name).encode, load_encoder(name).embed):
        with pytest.raises(InputError, match=sentence):
            call(texts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layer": 7}, "layers 0 to 6"),
        ({"layer": -8}, "layers 0 to 6"),
        ({"layer": 1.5}, "a fraction"),
        ({"layer": "middle"}, "layer 'middle' is not known"),
        ({"layer": True}, "layer True is not known"),
        ({"layer": None}, "layer None is not known"),
        ({"unit": "sentence"}, "the unit 'sentence' is not known"),
        ({"overflow": "wrap"}, "the overflow 'wrap' is not known"),
        ({"max_length": 2}, "special tokens alone take 2 tokens"),
        ({"max_length": 0}, "max_length is 0, but a whole number of at least 1"),
        ({"max_length": 513}, "takes at most 512"),
        ({"batch_tokens": 0}, "batch_tokens is 0, but a whole number"),
        ({"batch_tokens": 1.5}, "batch_tokens is 1.5"),
        ({"max_length": "5"}, "max_length is '5'"),
        ({"special_tokens": "yes"}, "special_tokens is 'yes'"),
        ({"unit": None}, "the unit None"),
        ({"layer": [3]}, "layer \\[3\\] is not known"),
        ({"layer": np.array([1, 2])}, "layer array\\(\\[1, 2\\]\\) is not known"),
        ({"layer": np.array([1])}, "layer array\\(\\[1\\]\\) is not known"),
        ({"layer": object()}, "layer <object .* is not known"),
        ({"layer": float("inf")}, "a fraction"),
        ({"cache": 5}, "cache is 5, but the path of a folder"),
        ({"cache": b"x"}, "cache is b'x', but the path of a folder"),
        ({"cache": "x" * 5000}, "the cache 'x+…' is empty, too long"),
        ({"cache": "x", "cache_limit": "x"}, "the limit of the cache is 'x', but a whole number"),
        ({"cache": "x", "cache_limit": True}, "the limit of the cache is True"),
        ({"threads": 0}, "from 1 to 1024"),
        ({"threads": 100_000}, "from 1 to 1024"),
        ({"threads": True}, "from 1 to 1024"),
        ({"device": "cuda"}, "no option device"),
        ({"dtype": "bfloat16"}, "no option dtype"),
    ],
)
def test_bad_options_give_a_clear_error(options: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_encoder("minilm", **options)


def test_layers_are_numbers_fractions_or_last(minilm: softset.Encoder) -> None:
    text = ["A red book."]
    assert np.array_equal(load_encoder(layer=6).encode(text).vectors, minilm.encode(text).vectors)
    assert np.array_equal(load_encoder(layer=-1).encode(text).vectors, minilm.encode(text).vectors)
    half = [
        load_encoder(layer=layer).encode(text).vectors
        for layer in (3, -4, 0.5, "3", "0.5", np.int64(3), np.float32(0.5))
    ]
    assert all(np.array_equal(vectors, half[0]) for vectors in half)
    assert not np.allclose(half[0], minilm.encode(text).vectors, atol=0.1)


def test_a_cut_graph_equals_the_whole_graph() -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    folder = model_folder("minilm")
    assert folder is not None
    whole = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    assert [output.name for output in whole.get_outputs()] == [f"hidden_{layer}" for layer in range(7)]
    ids = np.array([[101, 1037, 2417, 2338, 1012, 102]])
    states = whole.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    for layer in range(7):
        sets = load_encoder(layer=layer, special_tokens=True).encode(["A red book."])
        assert np.abs(sets[0] - states[layer][0]).max() < 1e-5


def test_the_signature_contains_every_option_that_changes_vectors() -> None:
    facts = parse_signature(load_encoder("minilm", layer=4).signature)
    assert facts.pop("encoder").startswith("minilm@")
    assert facts == {"layer": "4", "special": "out", "unit": "token", "overflow": "window", "max_length": "512"}
    same = [load_encoder("minilm", batch_tokens=8, threads=1), load_encoder("minilm", layer=-1)]
    assert {encoder.signature for encoder in same} == {load_encoder("minilm").signature}
    others = [{"layer": 5}, {"special_tokens": True}, {"unit": "word"}, {"overflow": "truncate"}, {"max_length": 64}]
    assert len({load_encoder("minilm", **options).signature for options in others}) == 5
    assert load_encoder("minilm").encode(["a"]).signature == load_encoder("minilm").signature


def test_the_number_of_threads_does_not_change_vectors(minilm: softset.Encoder) -> None:
    texts = [*ODD, "A red book.", LONG]
    assert_close(load_encoder("minilm", threads=1).encode(texts), minilm.encode(texts), 1e-5)


def test_threads_may_share_an_encoder(minilm: softset.Encoder) -> None:
    texts = [f"sentence number {n} of many" for n in range(40)]
    expected, results = minilm.encode(texts).vectors, []
    runners = [threading.Thread(target=lambda: results.append(minilm.encode(texts).vectors)) for _ in range(4)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert len(results) == 4 and all(np.abs(vectors - expected).max() <= 1e-5 for vectors in results)


def test_a_stream_yields_the_vectors_of_encode(minilm) -> None:
    texts = ["one", "two words", "", "three small words", "one"]
    blocks = list(minilm.stream((text for text in texts), block=2))
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert_close(TokenSets.concatenate(blocks), minilm.encode(texts), 1e-5)
    with pytest.raises(InputError, match="one str was given"):
        list(minilm.stream("hello"))
    with pytest.raises(InputError, match="block is 0, but it must be at least 1"):
        list(minilm.stream(["a"], block=0))
    with pytest.raises(InputError, match="text 2 is None"):
        list(minilm.stream(["a", "b", None], block=2))


def test_a_stream_reads_one_block_at_a_time(minilm) -> None:
    def endless():
        yield from (f"line {n}" for n in range(10**9))

    assert len(next(iter(minilm.stream(endless(), block=3)))) == 3


def test_progress_ends_at_the_total(minilm: softset.Encoder) -> None:
    seen: list[tuple[int, int]] = []
    minilm.encode([f"text {n}" for n in range(300)], progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (300, 300) and [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 1
    seen.clear()
    minilm.embed(["a", "b"], progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (2, 2)


def test_related_texts_are_closer_than_unrelated_ones(minilm: softset.Encoder) -> None:
    pooled = minilm.embed(["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell."])
    unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.5 > 0.2 > unit[0] @ unit[2]
    royal = minilm.encode(["the king and the queen", "royalty", "a bicycle"])
    assert Subspace.span(royal[0]).membership(royal[1].mean(0)) > Subspace.span(royal[0]).membership(royal[2].mean(0))


@pytest.mark.parametrize("name", ["minilm", "words"])
def test_the_second_moment_predicts_the_membership_of_unrelated_tokens(name: str) -> None:
    """sqrt(tr(P S)) is near the mean membership of unrelated words; sqrt(k / d) is far below it."""
    encoder = load_encoder(name, layer=4) if name == "minilm" else load_encoder(name)
    S = encoder.second_moment  # type: ignore[attr-defined]
    assert S is not None and np.allclose(S, S.T) and abs(np.trace(S) - 1) < 1e-5 and np.linalg.eigvalsh(S)[0] > -1e-8
    texts = ["the committee has not yet decided on the annual budget", "a dog runs along the beach at sunset"]
    sets = encoder.encode(
        [*texts, "seven engineers repaired an old wooden bridge", "music is playing somewhere in town"]
    )
    measured, predicted = [], []
    for a in range(4):
        Q = Subspace.span(sets[a]).basis
        predicted.append(np.sqrt(np.trace(Q @ S @ Q.T)))
        measured += [float(m) for b in range(4) if b != a for m in Subspace.span(sets[a]).membership(sets[b])]
    isotropic = np.sqrt(np.mean(sets.counts) / encoder.dimensions)
    assert abs(np.mean(measured) - np.mean(predicted)) < 0.12 < np.mean(predicted) - isotropic


def test_the_bundled_model_matches_its_manifest() -> None:
    folder = model_folder("minilm")
    assert folder is not None
    MANIFEST.verify(folder)
    facts = MANIFEST.read(folder)
    assert "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in facts["source"]
    assert facts["licence"] == "Apache-2.0" and (folder / "model.onnx").stat().st_size < 25_000_000


def test_importing_softset_is_quick_and_loads_no_model_library() -> None:
    code = (
        "import time; start = time.perf_counter(); import softset; spent = time.perf_counter() - start; import sys;"
        "print(spent, *[one for one in ('onnxruntime', 'torch', 'tokenizers', 'numpy') if one in sys.modules])"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    outputs = [run.stdout.split() for run in runs]
    assert all(len(output) == 1 for output in outputs), outputs
    assert min(float(output[0]) for output in outputs) < 0.2


def test_encoding_loads_neither_torch_nor_transformers() -> None:
    code = (
        "import softset, sys; softset.load_encoder().encode(['a']); print({'torch', 'transformers'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.parametrize(
    "name", ["x" * 5000, "/" + "x" * 5000, "./" + "x" * 300, "a/" * 3000, "st:" + "x" * 5000, "words:" + "x" * 5000]
)
def test_an_overlong_name_gives_a_short_error(name: str) -> None:
    for given_as in (name, Path(name)):
        with pytest.raises(InputError, match=r"^the model '.{40}…' is empty, too long"):
            load_encoder(given_as)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("", "the model '' is empty"), ("a\0b", "an invalid character"), ("\ud800", "an invalid character")],
)
def test_an_impossible_name_is_rejected(name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_encoder(name)


def test_a_path_is_not_looked_up_as_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from softset.vectors.vocabulary import Vocabulary

    monkeypatch.chdir(tmp_path)
    Vocabulary.of(["red"], [[1.0, 2.0]]).save(tmp_path / "minilm")
    assert load_encoder("minilm").dimensions == 384 and load_encoder(Path("minilm")).dimensions == 2
    assert load_encoder("./minilm").dimensions == 2
    with pytest.raises(FileNotFoundError):
        load_encoder(Path("words"))
    with pytest.raises(FileNotFoundError):
        load_encoder("./absent")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("words", {"special_tokens": True}),
        ("words", {"max_length": 5}),
        (lambda texts: texts, {"unit": "word"}),
        (lambda texts: texts, {"special_tokens": True}),
    ],
)
def test_options_without_effect_are_rejected(model, options: dict) -> None:
    with pytest.raises(InputError, match=f"no option {next(iter(options))}"):
        load_encoder(model, **options)


def test_unknown_names_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    for name, sentence in (
        ("words:absent", "no word vectors and no folder named 'absent'"),
        (str(tmp_path / "file.txt"), "is a file, but the folder of a model was expected"),
        (tmp_path / "folder", "is not a model: config.json"),
    ):
        with pytest.raises(softset.SoftsetError, match=sentence):
            load_encoder(name)
    with pytest.raises(InputError, match="the model is 3, but a name"):
        load_encoder(3)
    (tmp_path / "folder" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "folder" / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(softset.SoftsetError, match=r"pytorch_model\.bin.*a pickle, which is never loaded"):
        load_encoder(tmp_path / "folder")


def test_counts_and_other_options_of_the_same_network() -> None:
    encoder = load_encoder("minilm")
    assert encoder.count_tokens(["A red book.", "Bookworms!"]) == [4, 4]
    words = encoder.with_options(unit="word")
    assert words.encode(["Bookworms!"]).tokens_of(0) == ["Bookworms", "!"]
    assert words._network is encoder._network and words.with_options(unit="token").signature == encoder.signature
