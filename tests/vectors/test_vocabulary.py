"""Vocabulary: lookup, phrases, derived vocabularies, preprocessing."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from softset import WordVectors, load_words
from softset.errors import InputError, NotFiniteError, ShapeError, UnknownWordError
from softset.vectors.matching import similar_spellings
from softset.vectors.preprocessing import Preprocessing
from softset.vectors.rows import phrase_vector

WORDS = ["the", "New_York", "new", "york", "red", "Apple", "apple", "ice-cream", "café", "new york city"]


def small() -> WordVectors:
    return WordVectors.of(WORDS, np.arange(1, 31, dtype="f4").reshape(10, 3) ** 1.1)


def test_lookup() -> None:
    words = small()
    assert np.array_equal(words["red"], words.matrix[4])
    assert words[["red", "the"]].shape == (2, 3)
    assert words[[]].shape == (0, 3)
    assert "red" in words and "RED" in words and "blue" not in words and 3 not in words
    assert len(words) == 10 and words.words[-1] == "new york city"
    assert words.words[2:4] == ["new", "york"] and list(words.words) == WORDS
    with pytest.raises(IndexError):
        _ = words.words[10]


@pytest.mark.parametrize(
    ("text", "entries", "how"),
    [
        ("red", ("red",), "exact match"),
        ("RED", ("red",), "as red"),
        ("Apple", ("Apple",), "exact match"),
        ("apple", ("apple",), "exact match"),
        ("APPLE", ("apple",), "as apple"),
        ("New York", ("New_York",), "as New_York"),
        ("new york", ("new", "york"), "the weighted mean of new, york"),
        ("ice cream", ("ice-cream",), "as ice-cream"),
        ("new york city", ("new york city",), "exact match"),
        ("New  York  City", ("new york city",), "as new york city"),
        ("Red Apple", ("red", "Apple"), "the weighted mean of red, Apple"),
        ("red-apple", ("red", "apple"), "the weighted mean of red, apple"),
        ("new's", None, ""),
    ],
)
def test_match_prefers_the_exact_form_then_lower_case_then_the_weighted_mean(
    text: str, entries: tuple[str, ...], how: str
) -> None:
    words = small()
    if entries is None:
        assert text not in words
        return
    match = words.match(text)
    assert match.entries == entries and match.resolved_as == how
    mean = phrase_vector(words.take(match.indices), match.indices, len(words))
    np.testing.assert_allclose(words[text], mean, rtol=1e-6)


@pytest.mark.parametrize(
    ("phrase", "wanted", "unwanted"),
    [
        ("out of office", {"desk", "headquarters"}, {"the", "into", "up"}),
        ("the beatles", {"lennon", "mccartney"}, {"of", "entire"}),
        ("great britain", {"england", "ireland"}, {"fantastic", "good"}),
        ("not good", {"great", "nice", "bad"}, {"should", "would", "still"}),
        ("hot dog", {"dogs", "puppy"}, set()),
        ("bank of america", {"banking", "american"}, {"the"}),
    ],
)
def test_frequent_words_do_not_dominate_phrases(phrase: str, wanted: set[str], unwanted: set[str]) -> None:
    hits = {hit.id for hit in load_words().find(phrase, top=10, variants=True)}
    assert wanted <= hits and not unwanted & hits


def test_words_of_phrases_are_weighted_by_smooth_inverse_frequency() -> None:
    """The weights of ranks 1, 10 and 1,000 of 20,000 words, with p = 1 / (r H) and the exact harmonic number H."""
    words = WordVectors.of([f"w{i}" for i in range(20_000)], np.eye(3)[np.clip(np.arange(20_000), 0, 10) // 5])
    harmonic = sum(1 / rank for rank in range(1, 20_001))
    weights = np.array([0.001 / (0.001 + 1 / (rank * harmonic)) for rank in (1, 10, 1000)])
    np.testing.assert_allclose(words["w0 w9 w999"], weights / weights.sum(), atol=1e-5)
    assert np.array_equal(words["w9"], words.matrix[9])
    resolved = words.resolve_many(["w0 w9 w999", "w9"])
    assert np.array_equal(resolved["w0 w9 w999"].vector, words["w0 w9 w999"])
    assert words.resolve_many([]) == {} and words.vectors([]) == []


def test_phrases_in_a_difference_find_what_gensim_finds_for_their_words() -> None:
    """gensim's most_similar for new, york, los, angeles without california gives, among its 15 best, these cities."""
    cities = {"nyc", "chicago", "ny", "miami", "toronto", "dallas", "boston", "manhattan", "seattle", "brooklyn"}
    found = load_words().most_similar(["new york", "los angeles"], ["california"], topn=15)
    assert len(cities & {word for word, _ in found}) >= 9


def test_unknown_words_are_reported_with_suggestions() -> None:
    with pytest.raises(
        UnknownWordError, match="'aple' has no vector here; words with a similar spelling: apple"
    ) as caught:
        _ = small()["aple"]
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, ValueError)
    with pytest.raises(UnknownWordError, match=r"'zzzz' has no vector here$"):
        _ = small()["red zzzz"]
    for odd in ("", " ", "\ud800", "a" * 10_000):
        with pytest.raises(UnknownWordError):
            _ = small()[odd]


def test_suggestions_are_fast_for_many_words() -> None:
    many = [f"word{i}" for i in range(300_000)] + ["orange"]
    start = time.perf_counter()
    assert similar_spellings("oragne", many) == ["orange"]
    assert time.perf_counter() - start < 1  # comparing each would take several seconds


def test_restrict() -> None:
    words = small().restrict(4)
    assert len(words) == 4 and words.matrix.shape == (4, 3) and words.norms.shape == (4,)
    assert "york" in words and "red" not in words
    assert len(small().restrict(99)) == 10
    assert "words:4" in words.signature
    with pytest.raises(InputError, match=r"restrict\(0\)"):
        small().restrict(0)


def test_normalised() -> None:
    unit = small().normalised()
    np.testing.assert_allclose(np.linalg.norm(unit.matrix, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(unit.norms, 1, rtol=1e-6)
    assert unit.signature.endswith("preprocessing:normalised")
    zero = WordVectors.of(["nil", "one"], [[0, 0], [3, 4]]).normalised()
    assert zero["nil"].tolist() == [0, 0]


def test_preprocessing() -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 8)) @ np.diag([5, 3, 1, 1, 1, 1, 1, 1]) + 7
    words = WordVectors.of([f"w{i}" for i in range(400)], rows)
    centred = words.preprocess("centre")
    np.testing.assert_allclose(centred.matrix, rows - rows.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(centred.norms, np.linalg.norm(centred.matrix, axis=1), rtol=1e-5)
    top = words.preprocess("all-but-the-top(2)")
    U = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2]
    expected = (rows - rows.mean(axis=0)) @ (np.eye(8) - U.T @ U)
    np.testing.assert_allclose(top.matrix, expected, atol=1e-4)
    assert top.signature.endswith("preprocessing:all-but-the-top(2)@400")
    assert words.preprocess("all-but-the-top").signature.endswith("all-but-the-top(1)@400")
    assert centred.normalised().signature.endswith("preprocessing:centre@400+normalised")
    for name in ("center", "centre(2)", "all-but-the-top(9)", ""):
        with pytest.raises(InputError):
            words.preprocess(name)
    with pytest.raises(InputError, match=r"already preprocessed \(centre@400\)"):
        centred.preprocess("centre")


def test_whitening() -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 6)) @ np.diag([5, 3, 1, 1, 1, 0.1]) + 2
    words = WordVectors.of([*(f"w{i}" for i in range(400)), "nil"], np.vstack([rows, np.zeros(6)]))
    units = np.vstack([rows / np.linalg.norm(rows, axis=1, keepdims=True), np.zeros(6)])
    covariance = np.cov(units.T, bias=True)
    for power in (0.25, 0.5):
        done = words.preprocess(f"whiten({power})").matrix.astype(np.float64)
        values, E = np.linalg.eigh(covariance)
        expected = (units - units.mean(axis=0)) @ (E * (values / values[-1]) ** -power) @ E.T
        np.testing.assert_allclose(done[:400], expected[:400], atol=1e-4)
        assert done[400].tolist() == [0] * 6  # no direction before, none afterwards
    spread = np.cov(words.preprocess("whiten(0.5)").matrix[:400].T, bias=True)
    np.testing.assert_allclose(spread / spread[0, 0], np.eye(6), atol=0.02)
    assert words.preprocess("whiten").signature.endswith("preprocessing:whiten(0.2)@401")
    for name in ("whiten(0)", "whiten(0.6)", "whiten(-1)", "whitened"):
        with pytest.raises(InputError):
            words.preprocess(name)


def test_whitening_of_rank_deficient_vectors_is_finite() -> None:
    words = WordVectors.of(["a", "b", "c"], [[1, 2, 0, 0], [2, 1, 0, 0], [2, 4, 0, 0]]).preprocess("whiten(0.5)")
    assert np.isfinite(words.matrix).all() and np.abs(words.matrix).max() < 10
    np.testing.assert_allclose(words["a"], words["c"], atol=1e-5)
    assert not WordVectors.of(["a"], [[1, 2]]).preprocess("whiten")["a"].any()


def test_invalid_vectors() -> None:
    with pytest.raises(
        ShapeError, match=r"2 words need real vectors of shape \(2, d\), but float64 of shape \(3, 2\) was given"
    ):
        WordVectors.of(["a", "b"], np.ones((3, 2)))
    with pytest.raises(NotFiniteError, match="the vector of 'b' has a number that is not finite"):
        WordVectors.of(["a", "b"], [[1, 2], [np.nan, 1]])
    with pytest.raises(InputError, match="the word 'a' occurs twice"):
        WordVectors.of(["a", "b", "a"], np.ones((3, 2)))


def test_gensim_objects() -> None:
    keyed_vectors = SimpleNamespace(index_to_key=WORDS, vectors=small().matrix.astype(np.float64))
    words = WordVectors.from_gensim(keyed_vectors)
    assert list(words.words) == WORDS and np.array_equal(words.matrix, small().matrix) and words.name == "gensim"
    for vectors in (np.ones((2, 3)), np.ones(1), np.ones((1, 2)) * 1j):
        with pytest.raises(ShapeError, match="1 word need"):
            WordVectors.from_gensim(SimpleNamespace(index_to_key=["a"], vectors=vectors))
    with pytest.raises(InputError, match=r"a KeyedVectors object .* is needed, but dict was given"):
        WordVectors.from_gensim({})


def test_rows_of_extreme_norm_keep_their_direction() -> None:
    words = WordVectors.of(["huge", "tiny", "plain"], [[3e30, 4e30], [3e-30, 4e-30], [3, 4]])
    np.testing.assert_allclose(words.matrix, [[0.6, 0.8], [0.6, 0.8], [3, 4]], rtol=1e-6)
    np.testing.assert_allclose(words.norms, [1, 1, 5], rtol=1e-6)


def test_sets_of_words() -> None:
    words = small()
    assert words.span(["red", "apple", "new"]).dim == 3
    assert words.graded(["red", "apple"], aperture=2, weights=[1, 2]).ambient == 3


def test_rows_without_direction_are_zero_after_whitening_in_any_block() -> None:
    mean = np.array([0.1, 0.2, 0.3])
    done = Preprocessing("whiten", mean, 2 * np.eye(3), unit=True)
    same = mean / np.linalg.norm(mean)
    near_mean = Preprocessing("whiten", same, 2 * np.eye(3), unit=True)
    for others in ([[1, 0, 0]], [[1, 0, 0], [np.nan, 0, 0]], []):
        rows = np.array([[0, 0, 0], *others], dtype=np.float64)
        assert (done(rows)[0] == 0).all()
        assert (near_mean(np.array([5 * same, *others]))[0] == 0).all()
    assert done(np.array([[0.0, 2.0, 0.0]])) == pytest.approx(np.array([[-0.2, 1.6, -0.6]]))
