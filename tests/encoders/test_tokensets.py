"""Tests of TokenSets: slicing, concatenation, files, and bad input."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from softset import SoftsetError, TokenSets, load_encoder
from softset.encoders.cache import CachedEncoder
from softset.encoders.function import FunctionEncoder
from softset.encoders.tokensets import hash_texts
from softset.errors import AmbientError, FileError, InputError, NotFiniteError, ShapeError


def ragged(counts: list[int], d: int = 3, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.normal(size=(count, d)).astype(np.float32) for count in counts]


def full_sets() -> TokenSets:
    """Return sets that have all parts: tokens, spans, special tokens, counts."""
    tokens = [["a", "ä\u0301"], [], ["你好", "b", "a"]]
    sets = TokenSets.from_arrays(ragged([2, 0, 3]), tokens=tokens, signature="encoder:x@1")
    special = TokenSets.from_arrays(
        ragged([1, 1, 2], seed=1), tokens=[["[C]"], ["[C]"], ["[C]", "?"]], signature="encoder:x@1"
    )
    spans = np.arange(10, dtype=np.int32).reshape(5, 2)
    return TokenSets(
        sets.vectors,
        sets.offsets,
        sets.tokens,
        spans,
        special,
        np.array([0, 4, 0]),
        np.array([1, 0, 2]),
        sets.signature,
    )


def assert_same(a: TokenSets, b: TokenSets) -> None:
    assert a.vectors.dtype == b.vectors.dtype and np.array_equal(a.vectors, b.vectors)
    assert np.array_equal(a.offsets, b.offsets) and a.signature == b.signature
    assert np.array_equal(a.truncated, b.truncated) and np.array_equal(a.unknown, b.unknown)
    for x, y in ((a.tokens, b.tokens), (a.spans, b.spans)):
        assert (x is None) == (y is None) and (x is None or np.array_equal(x, y))
    assert (a.special is None) == (b.special is None)
    if a.special is not None and b.special is not None:
        assert_same(a.special, b.special)


def test_iteration_yields_the_arrays_in_order() -> None:
    arrays = ragged([2, 0, 5, 1])
    sets = TokenSets.from_arrays(arrays)
    assert (
        len(sets) == 4 and sets.counts.tolist() == [2, 0, 5, 1] and sets.empty.tolist() == [False, True, False, False]
    )
    for vectors, array in zip(sets, arrays, strict=True):
        assert np.array_equal(vectors, array)
    assert np.array_equal(sets[-1], arrays[-1])
    assert sets[0].base is not None, "a text's vectors are a view, not a copy"


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_take_equals_indexing_a_list(counts: list[int], data: st.DataObject) -> None:
    arrays = ragged(counts)
    sets = TokenSets.from_arrays(arrays, dimensions=3)
    places = data.draw(st.lists(st.integers(-len(counts), len(counts) - 1)))
    taken = sets.take(places)
    assert len(taken) == len(places)
    assert all(np.array_equal(vectors, arrays[index]) for vectors, index in zip(taken, places, strict=True))
    low, high = sorted(data.draw(st.tuples(*[st.integers(-len(counts), len(counts) - 1)] * 2)))
    spread = sets.take(range(low, high))
    assert all(np.array_equal(x, arrays[index]) for x, index in zip(spread, range(low, high), strict=True))
    part = data.draw(st.slices(len(counts)))
    assert all(np.array_equal(x, y) for x, y in zip(sets[part], arrays[part], strict=True))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts))))
    assert [len(vectors) for vectors in sets[mask]] == [
        count for count, chosen in zip(counts, mask, strict=True) if chosen
    ]


def test_all_arrays_are_sliced_together() -> None:
    sets = full_sets()
    for part in (sets[1:], sets[[1, 2]]):
        assert (
            part.tokens_of(1) == ["你好", "b", "a"]
            and part.truncated.tolist() == [4, 0]
            and part.unknown.tolist() == [0, 2]
        )
        assert part.spans is not None and part.spans.tolist() == [[4, 5], [6, 7], [8, 9]]
        assert part.special is not None and part.special.tokens_of(1) == ["[C]", "?"]
    assert_same(sets[:1] + sets[1:], sets)
    assert_same(TokenSets.concatenate([sets[[2]], sets[[0]]]), sets[[2, 0]])
    assert_same(sets[2:1], sets[[]])
    assert np.shares_memory(sets[1:].vectors, sets.vectors)


def test_means_are_zero_for_empty_texts() -> None:
    arrays = ragged([2, 0, 3, 0])
    means = TokenSets.from_arrays(arrays).means()
    assert means.dtype == np.float32
    assert np.allclose(means[[0, 2]], [arrays[0].mean(0), arrays[2].mean(0)], atol=1e-7) and not means[[1, 3]].any()
    assert TokenSets.from_arrays([[]], dimensions=2).means().tolist() == [[0, 0]]


@pytest.mark.parametrize("name", ["sets", "sets.safetensors"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_saved_sets_are_equal_and_memory_mapped_when_opened(tmp_path: Path, name: str, dtype: str) -> None:
    sets = full_sets().astype(dtype)
    sets.save(tmp_path / name)
    opened = TokenSets.open(tmp_path / name)
    assert_same(opened, sets)
    assert isinstance(opened.vectors, np.memmap)
    bare = TokenSets.from_arrays(ragged([0, 0]), dimensions=3)
    bare.save(tmp_path / f"empty-{name}")
    assert_same(TokenSets.open(tmp_path / f"empty-{name}"), bare)


def test_saving_does_not_overwrite_and_is_atomic(tmp_path: Path) -> None:
    full_sets().save(tmp_path / "sets")
    with pytest.raises(FileExistsError):
        full_sets().save(tmp_path / "sets")
    assert [path.name for path in tmp_path.iterdir()] == ["sets"]


def test_broken_folders_are_rejected(tmp_path: Path) -> None:
    full_sets().save(tmp_path / "sets")
    vectors = tmp_path / "sets" / "vectors.npy"
    content = vectors.read_bytes()
    vectors.write_bytes(content[:-1])
    with pytest.raises(FileError, match="missing or has the wrong size: encode the texts again"):
        TokenSets.open(tmp_path / "sets")
    vectors.write_bytes(b"x" * len(content))
    with pytest.raises(FileError, match=r"vectors\.npy is not an array of numbers or text: save it again"):
        TokenSets.open(tmp_path / "sets")
    (tmp_path / "other").mkdir()
    with pytest.raises(FileError, match=r"no meta\.json"):
        TokenSets.open(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        TokenSets.open(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("offsets", np.array([0, 9, 2, 5])),
        ("offsets", np.array([0, 2, 2, 6])),
        ("vectors", np.zeros((5, 0), np.float32)),
        ("vectors", np.zeros((5, 3), np.int32)),
        ("codes", np.array([0, 1, 2, 3, 99], np.int32)),
        ("codes", np.array([0, 1, 2, 3, -1], np.int32)),
        ("ends", np.array([1, 2, 3, 1000])),
        ("vocabulary", np.array([255] * 12, np.uint8)),
        ("spans", np.zeros((4, 2), np.int32)),
        ("truncated", np.array([0, 0])),
        ("unknown", np.array([0, -1, 0])),
        ("special_offsets", np.array([0, 4])),
    ],
)
def test_inconsistent_arrays_are_rejected(tmp_path: Path, name: str, array: np.ndarray) -> None:
    from softset.encoders.tokensets_file import arrays_from_sets

    save_file(
        {**arrays_from_sets(full_sets()), name: array}, tmp_path / "x.safetensors", metadata={"softset": "TokenSets"}
    )
    with pytest.raises(FileError, match="holds inconsistent arrays"):
        TokenSets.open(tmp_path / "x.safetensors")


def test_files_of_another_kind_are_rejected(tmp_path: Path) -> None:
    save_file({"vectors": np.zeros((1, 2))}, tmp_path / "x.safetensors")
    with pytest.raises(FileError, match="that softset did not write"):
        TokenSets.open(tmp_path / "x.safetensors")
    (tmp_path / "y.safetensors").write_bytes(b"{}")
    with pytest.raises(FileError, match="not a complete safetensors file"):
        TokenSets.open(tmp_path / "y.safetensors")
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "meta.json").write_text(json.dumps({"softset": "WordVectors", "version": 1, "files": {}}))
    with pytest.raises(FileError, match="not a folder of token sets of version 1"):
        TokenSets.open(tmp_path / "z")


@pytest.mark.parametrize(
    ("arrays", "kind", "sentence"),
    [
        ([[[1, 2]], [[1, 2, 3]]], AmbientError, "text 1 have 3 dimensions, but 2 were expected"),
        ([[[1, 2]], [1, 2]], ShapeError, r"text 1 have shape \(2,\)"),
        ([[[1, 2], [3]]], ShapeError, "text 0 are not an array"),
        ([[[1, 2]], [[1, np.nan]]], NotFiniteError, "token 0 of text 1"),
        ([[["a", "b"]]], InputError, "real numbers were expected"),
        ([[], []], ShapeError, "give dimensions="),
        ([], ShapeError, "give dimensions="),
    ],
)
def test_bad_arrays_give_a_clear_error(arrays: list, kind: type[SoftsetError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        TokenSets.from_arrays(arrays)


def test_other_bad_input_gives_a_clear_error() -> None:
    sets = TokenSets.from_arrays([[[1.0, 2.0]]])
    with pytest.raises(ShapeError, match="text 0 has 1 vector, but 2 tokens"):
        TokenSets.from_arrays([[[1.0, 2.0]]], tokens=[["a", "b"]])
    with pytest.raises(ShapeError, match="tokens for 2 texts, but vectors for 1"):
        TokenSets.from_arrays([[[1.0, 2.0]]], tokens=[["a"], ["b"]])
    with pytest.raises(AmbientError, match=r"different dimensions \(2 and 3\)"):
        _ = sets + TokenSets.from_arrays([[[1.0, 2.0, 3.0]]])
    with pytest.raises(InputError, match="two encoders"):
        _ = sets + TokenSets.from_arrays([[[1.0, 2.0]]], signature="other")
    with pytest.raises(InputError, match="have vectors but no tokens"):
        sets.tokens_of(0)
    with pytest.raises(IndexError, match="there is 1 text, so there is no text 1"):
        _ = sets[1]
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        sets.take([0, 7])
    with pytest.raises(IndexError, match="index 1 is out of bounds"):
        sets.take(range(10))
    with pytest.raises(IndexError, match="boolean index did not match"):
        sets.take(np.array([True, False]))
    with pytest.raises(IndexError, match="must be of integer"):
        sets.take([0.5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="int32 cannot hold"):
        sets.astype("int32")
    with pytest.raises(NotFiniteError, match="too large for float16"):
        TokenSets.from_arrays([[[1e6]]]).astype("float16")
    with pytest.raises(InputError, match="nothing to concatenate"):
        TokenSets.concatenate([])
    with pytest.raises(TypeError):
        _ = sets + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (7, "a token of text 1 is 7, but a str without surrogates was expected"),
        (None, "a token of text 1 is None"),
        (b"x", "a token of text 1 is b'x'"),
        ("half \ud83d", r"a token of text 1 is 'half \\ud83d', but a str without surrogates"),
    ],
)
def test_tokens_that_cannot_be_saved_are_rejected(token: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TokenSets.from_arrays(ragged([1, 2]), tokens=[["a"], ["b", token]])  # type: ignore[list-item]
    fine = TokenSets.from_arrays(ragged([1, 2]), tokens=[["a"], ["\u4f60", np.str_("\U0001f600")]])
    assert fine.tokens_of(1) == ["\u4f60", "\U0001f600"]


def test_own_vectors_keep_their_precision() -> None:
    assert TokenSets.from_arrays([np.ones((1, 2))]).vectors.dtype == np.float64
    assert TokenSets.from_arrays([np.ones((1, 2), np.float16)]).vectors.dtype == np.float16
    assert TokenSets.from_arrays([[[1, 2]]]).vectors.dtype == np.float32


def test_hashes_of_texts_are_kept(tmp_path: Path) -> None:
    """They tell texts apart whose tokens are all unknown."""
    texts = ["red zebra", "qwerty", "", "asdfgh", "red zebra", "a\u00adb \u65e5\u672c"]
    expected = hash_texts(texts)
    assert len(set(expected.tolist())) == 5
    words = load_encoder("words")
    encoders = [
        words,
        load_encoder("words", cache=tmp_path / "cache"),
        load_encoder("words", cache=tmp_path / "cache"),  # reads from the cache
        load_encoder("minilm", unit="word"),
        FunctionEncoder(lambda batch: TokenSets.from_arrays([[[1.0]]] * len(batch)), name="ones"),
    ]
    for encoder in encoders:
        sets = encoder.encode(texts)
        assert np.array_equal(sets.text_hashes, expected)
        assert np.array_equal(np.concatenate([part.text_hashes for part in encoder.stream(texts, block=2)]), expected)
    sets = words.encode(texts)
    order = np.array([4, 1, 1, 0])
    for selected in (sets.take(order), sets[order], sets[list(order)]):
        assert np.array_equal(selected.text_hashes, expected[order])
    assert np.array_equal(sets[1:3].text_hashes, expected[1:3])
    assert np.array_equal(sets[::-2].text_hashes, expected[::-2])
    assert np.array_equal(sets.astype("float16").text_hashes, expected)
    assert np.array_equal((sets[:2] + sets[2:]).text_hashes, expected)
    assert np.array_equal(TokenSets.concatenate([sets, sets]).text_hashes, np.tile(expected, 2))
    assert np.array_equal(TokenSets.concatenate(sets[start : start + 4] for start in (0, 4)).text_hashes, expected)
    assert (sets + replace(sets, text_hashes=None)).text_hashes is None, "hashes of some texts cannot be compared"
    for name in ("sets", "sets.safetensors"):
        sets.save(tmp_path / name)
        assert np.array_equal(TokenSets.open(tmp_path / name).text_hashes, expected)
    assert np.array_equal(pickle.loads(pickle.dumps(sets)).text_hashes, expected)


def test_a_cache_without_hashes_of_texts_gets_them(tmp_path: Path) -> None:
    """Earlier versions stored none."""

    class Plain(FunctionEncoder):
        def encode(self, texts, *, progress=None):
            return replace(super().encode(texts, progress=progress), text_hashes=None)

    ones = Plain(lambda batch: [np.ones((1, 2))] * len(batch), name="ones")
    for _ in range(2):
        sets = CachedEncoder(ones, tmp_path).encode(["red", "blue"])
        assert np.array_equal(sets.text_hashes, hash_texts(["red", "blue"]))
