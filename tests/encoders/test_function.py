"""Tests of FunctionEncoder: accepted results, errors, and the number of calls."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.encoders.base import TEXTS_PER_BLOCK, Encoder
from softset.encoders.function import FunctionEncoder
from softset.encoders.tokensets import TokenSets
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError

TEXTS = ["a red book", "", "pens", "a red book"]


def words(texts):
    """Return one vector per word: its length and its position."""
    return [[[len(word), position] for position, word in enumerate(text.split())] for text in texts]


class Counting:
    """A function that records its calls."""

    def __init__(self, function=words):
        self.function, self.calls = function, []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return self.function(texts)


# What may be returned


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: rows,
        tuple,
        iter,
        lambda rows: [np.array(vectors, dtype=np.float32).reshape(-1, 2) for vectors in rows],
        lambda rows: [np.array(vectors, dtype=np.int8) for vectors in rows],
        lambda rows: TokenSets.from_arrays(rows, dimensions=2),
    ],
    ids=["lists", "tuple", "generator", "float32", "int8", "TokenSets"],
)
def test_all_accepted_results_give_the_same_sets(form):
    sets = FunctionEncoder(lambda texts: form(words(texts)), name="w").encode(TEXTS)
    assert sets.counts.tolist() == [3, 0, 1, 3]
    assert sets[3].tolist() == [[1, 0], [3, 1], [4, 2]] and sets[2].tolist() == [[4, 0]]
    assert sets.signature == "encoder:function(w)"


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_torch_tensors_with_gradients_are_accepted(dtype):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)

    def function(texts):
        return [
            torch.tensor(vectors, dtype=kind, requires_grad=dtype != "int64").reshape(-1, 2) for vectors in words(texts)
        ]

    sets = FunctionEncoder(function).encode(TEXTS)
    assert sets[0].tolist() == [[1, 0], [3, 1], [4, 2]]
    assert sets.vectors.dtype == (np.float64 if dtype == "float64" else np.float32)
    whole = FunctionEncoder(lambda texts: torch.ones(len(texts), 3, dtype=kind)).encode(["a", "b"])
    assert whole.counts.tolist() == [1, 1] and whole.dimensions == 3


@pytest.mark.parametrize("form", [np.array, list, lambda rows: [np.array(vectors) for vectors in rows]])
def test_one_vector_per_text_is_a_set_of_one_token(form):
    encoder = FunctionEncoder(lambda texts: form([[len(text), 1.5, 0] for text in texts]))
    sets = encoder.encode(["a", "bcd"])
    assert [vectors.tolist() for vectors in sets] == [[[1, 1.5, 0]], [[3, 1.5, 0]]]
    assert encoder.embed(["bcd"]).tolist() == [[3, 1.5, 0]]


def test_an_array_with_three_axes_gives_sets_of_equal_size():
    sets = FunctionEncoder(lambda texts: np.ones((len(texts), 4, 2))).encode(["a", "b"])
    assert sets.counts.tolist() == [4, 4]


def test_tokens_spans_and_special_tokens_are_kept():
    def function(texts):
        sets = TokenSets.from_arrays(words(texts), tokens=[text.split() for text in texts], dimensions=2)
        spans = np.arange(2 * len(sets.vectors)).reshape(-1, 2)
        aside = TokenSets.from_arrays([[[7, 7]]] * len(texts))
        counts = np.arange(len(texts))
        return TokenSets(sets.vectors, sets.offsets, sets.tokens, spans, aside, counts, counts, "theirs")

    sets = FunctionEncoder(function, name="mine").encode(["a red book", "pens"])
    assert sets.tokens_of(0) == ["a", "red", "book"] and sets.spans.tolist()[3] == [6, 7]
    assert sets.special.vectors.tolist() == [[7, 7], [7, 7]]
    assert sets.signature == sets.special.signature == "encoder:function(mine)"
    assert sets.truncated.tolist() == sets.unknown.tolist() == [0, 1]


# Names


def test_only_a_named_function_is_stable():
    class Model:
        def vectors(self, texts):
            return words(texts)

    assert FunctionEncoder(words).signature == "encoder:function(words)"
    assert FunctionEncoder(words).stable is False
    assert FunctionEncoder(words, name="mine").stable is True
    assert FunctionEncoder(words, name="a|b:c").signature == "encoder:function(a%7Cb%3Ac)"
    assert FunctionEncoder(Model().vectors).signature.endswith("Model.vectors)")
    assert FunctionEncoder(functools.partial(words)).signature == "encoder:function(partial)"
    assert FunctionEncoder(Counting()).signature == "encoder:function(Counting)"
    assert isinstance(FunctionEncoder(words), Encoder)


# How it is called


@given(st.lists(st.text("ab c", max_size=5), max_size=12))
def test_sets_do_not_depend_on_the_batch(texts):
    encoder = FunctionEncoder(words, dimensions=2)
    sets = encoder.encode(texts)
    assert len(sets) == len(texts)
    for text, vectors in zip(texts, sets, strict=True):
        assert vectors.tolist() == encoder.encode([text])[0].tolist() == words([text])[0]


def test_the_function_receives_distinct_texts_in_blocks():
    counting, calls = Counting(), []
    many = [f"text {n}" for n in range(TEXTS_PER_BLOCK + 10)]
    sets = FunctionEncoder(counting).encode(many + many[:5])
    assert [len(call) for call in counting.calls] == [TEXTS_PER_BLOCK, 10]
    assert [text for call in counting.calls for text in call] == many
    FunctionEncoder(words).encode(many, progress=lambda *done: calls.append(done))  # smaller blocks report more often
    assert calls[:2] == [(32, len(many)), (64, len(many))] and calls[-1] == (len(many), len(many))
    assert len(sets) == TEXTS_PER_BLOCK + 15 and sets[TEXTS_PER_BLOCK + 14].tolist() == sets[4].tolist()


def test_a_function_may_change_the_list_it_is_given():
    def function(texts):
        result = words(texts)
        texts.clear()
        return result

    assert FunctionEncoder(function).encode(["red book"]).counts.tolist() == [2]


def test_no_texts_need_no_call_if_the_dimension_is_known():
    counting = Counting()
    assert FunctionEncoder(counting, dimensions=2).encode([]).vectors.shape == (0, 2)
    assert counting.calls == []
    assert FunctionEncoder(counting).encode([]).vectors.shape == (0, 2)
    assert counting.calls == [["a red book"]]


# The dimension


def test_the_dimension_is_probed_once():
    counting = Counting()
    encoder = FunctionEncoder(counting)
    assert encoder.dimensions == encoder.dimensions == 2
    assert counting.calls == [["a red book"]]
    counting.calls.clear()
    encoder = FunctionEncoder(counting)
    encoder.encode(["pens"])
    assert encoder.dimensions == 2 and counting.calls == [["pens"]]


def test_texts_without_vectors_probe_the_dimension():
    counting = Counting()
    assert FunctionEncoder(counting).encode([""]).vectors.shape == (0, 2)
    assert counting.calls == [[""], ["a red book"]]
    assert FunctionEncoder(lambda texts: [np.zeros((0, 7))] * len(texts)).encode([""]).dimensions == 7


def test_a_function_without_vectors_needs_dimensions():
    with pytest.raises(ShapeError, match=r"no vector for 'a red book': give dimensions"):
        FunctionEncoder(lambda texts: [[]] * len(texts)).encode(["x"])
    assert FunctionEncoder(lambda texts: [[]] * len(texts), dimensions=3).embed(["x"]).tolist() == [[0, 0, 0]]


def test_a_changed_dimension_is_rejected():
    encoder = FunctionEncoder(lambda texts: [np.ones((1, len(text))) for text in texts])
    encoder.encode(["abc"])
    with pytest.raises(AmbientError, match=r"cannot be used: the vectors of text 1 have 2 dimensions, but 3 were"):
        encoder.encode(["abd", "ab"])
    fixed = FunctionEncoder(lambda texts: TokenSets.from_arrays(np.ones((len(texts), 1, 4))), dimensions=3)
    with pytest.raises(AmbientError, match="returned vectors of 4 dimensions, but 3 were expected"):
        fixed.encode(["a"])
    mixed = FunctionEncoder(lambda texts: [np.ones((1, len(text))) for text in texts])
    with pytest.raises(AmbientError, match="2 dimensions, but 3 were expected"):
        mixed.encode(["abc", "ab"])


# Mistakes, each in one sentence


@pytest.mark.parametrize(
    ("result", "error", "words_of_it"),
    [
        (None, InputError, "returned NoneType, but a list with one"),
        ("ab", InputError, "returned str, but"),
        ({"a": 1}, InputError, "returned dict, but"),
        (3.5, InputError, "returned float, but"),
        (np.array(1.5), InputError, "returned ndarray, but"),
        ([[[1, 2]]], ShapeError, "returned 1 set for 2 texts"),
        (np.ones((3, 4)), ShapeError, "returned 3 sets for 2 texts"),
        (TokenSets.from_arrays([[[1, 2]]]), ShapeError, "returned 1 set for 2 texts"),
        ([[[1, 2]], [[1, 2], [3]]], ShapeError, "cannot be used: the vectors of text 1 are not an array"),
        ([[[1, 2]], [[[1, 2]]]], ShapeError, r"cannot be used: the vectors of text 1 have shape \(1, 1, 2\)"),
        ([[[1, 2]], 5], ShapeError, r"cannot be used: the vectors of text 1 have shape \(\)"),
        ([[[1, 2]], [["a", "b"]]], InputError, "cannot be used: the vectors of text 1 are of type <U1"),
        ([[[1, 2]], [[1, 2], [np.nan, 1]]], NotFiniteError, "cannot be used: the vector of token 1 of text 1 has"),
        ([[[1, 2]], [[1, 2, 3]]], AmbientError, "cannot be used: the vectors of text 1 have 3 dimensions, but 2"),
    ],
)
def test_bad_results_are_rejected(result, error, words_of_it):
    with pytest.raises(error, match=words_of_it):
        FunctionEncoder(lambda _: result).encode(["a red book", "pen"])


def test_token_sets_with_infinite_numbers_are_rejected():
    def function(texts):
        sets = TokenSets.from_arrays([[[1, 2]]] * len(texts))
        sets.vectors[1, 0] = np.inf
        return sets

    with pytest.raises(NotFiniteError, match="returned a number that is not finite"):
        FunctionEncoder(function).encode(["book", "pen", "ink"])


def test_a_failed_call_does_not_fix_the_dimension():
    results = iter([[[[1, np.nan]]], [[[1, 2, 3]]]])
    encoder = FunctionEncoder(lambda _: next(results))
    with pytest.raises(NotFiniteError):
        encoder.encode(["a"])
    assert encoder.encode(["a"]).dimensions == 3


def test_errors_of_the_function_are_not_changed():
    def function(texts):
        raise TypeError("mine")

    def late(texts):
        yield [[1, 2]]
        raise TypeError("mine")

    for failing in (function, late):
        with pytest.raises(TypeError, match=r"^mine$"):
            FunctionEncoder(failing).encode(["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "words_of_it"),
    [
        ({"function": 3}, "a function from texts to vectors was expected, but int was given"),
        ({"function": words, "name": ""}, "name is ''"),
        ({"function": words, "dimensions": 0}, "dimensions is 0, but a whole number of at least 1"),
        ({"function": words, "dimensions": 2.5}, "dimensions is 2.5, but"),
    ],
)
def test_bad_arguments_are_rejected(arguments, words_of_it):
    with pytest.raises(InputError, match=words_of_it):
        FunctionEncoder(**arguments)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_empty_text_does_not_change_the_precision_of_the_others(dtype):
    encoder = FunctionEncoder(lambda texts: [np.ones((len(text), 2), dtype=dtype) if text else [] for text in texts])
    for texts in (["ab"], ["ab", ""], ["", "ab"], [""] * 1 + [f"{n}" for n in range(1500)]):
        assert encoder.encode(texts).vectors.dtype == dtype, texts[:3]
    blocks = [f" {n}" for n in range(1024)]
    late = FunctionEncoder(lambda texts: [np.ones((text.count("x"), 2), dtype=dtype) for text in texts], dimensions=2)
    assert late.encode([*blocks, "x"]).vectors.dtype == dtype, "also where a whole block is empty"
