"""The lexical index agrees with BM25 as written by hand, and analyzers cut texts into terms."""

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.errors import InputError
from softset.query.lexical import MAX_TERM, MAX_TERMS, LexicalIndex, analyzer, term_weights

K1, B = 0.6, 0.4
WORDS = st.sampled_from(["red", "blue", "sea", "whale", "ship", "é", "東京"])
TEXTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=12)


def literal_scores(texts: list[list[str]], weights: dict[str, float], average: float) -> list[float]:
    scores = []
    for text in texts:
        k = K1 * (1 - B + B * len(text) / (average or 1))
        scores.append(sum(weight * text.count(term) / (text.count(term) + k) for term, weight in weights.items()))
    return scores


def literal_idf(texts: list[list[str]], term: str) -> float:
    frequency = sum(term in text for text in texts)
    return log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))


@given(TEXTS)
def test_postings_list_the_texts_with_a_term(texts: list[list[str]]) -> None:
    index = LexicalIndex.of(texts)
    assert len(index) == len(texts) and index.lengths.tolist() == [len(text) for text in texts]
    assert index.average_length == pytest.approx(sum(map(len, texts)) / len(texts))
    for term in ("red", "é", "東京", "never"):
        items, counts = index.postings(term)
        expected = [(n, text.count(term)) for n, text in enumerate(texts) if term in text]
        assert list(zip(items.tolist(), counts.tolist(), strict=True)) == expected
        assert index.idf(term) == pytest.approx(literal_idf(texts, term))


@given(TEXTS, st.dictionaries(WORDS, st.floats(0.01, 5), max_size=4), st.floats(0.5, 20))
def test_scores_are_those_of_bm25(texts: list[list[str]], weights: dict[str, float], average: float) -> None:
    scores = LexicalIndex.of(texts).scores({**weights, "never": 3.0}, average)
    assert scores.tolist() == pytest.approx(literal_scores(texts, weights, average))
    assert (scores <= sum(weights.values()) + 1e-12).all()


@given(TEXTS)
def test_arrays_are_read_again(texts: list[list[str]]) -> None:
    index = LexicalIndex.of(texts)
    arrays = index.to_arrays()
    again = LexicalIndex.from_arrays({name: values.copy() for name, values in arrays.items()})
    for term in {term for text in texts for term in text} | {"never"}:
        for one, other in zip(index.postings(term), again.postings(term), strict=True):
            assert np.array_equal(one, other)
    assert np.array_equal(index.lengths, again.lengths)


@pytest.mark.parametrize("name", ["offsets", "hashes", "rows", "starts", "items", "counts"])
def test_arrays_of_other_lengths_are_refused(name: str) -> None:
    arrays = LexicalIndex.of([["red", "sea"], ["red"]]).to_arrays()
    arrays[f"lexical-{name}"] = arrays[f"lexical-{name}"][:-1]
    with pytest.raises(ValueError, match="do not fit together"):
        LexicalIndex.from_arrays(arrays)


def test_texts_without_terms() -> None:
    index = LexicalIndex.of([[], []])
    assert index.average_length == 0 and index.scores({"red": 1.0}, index.average_length).tolist() == [0, 0]
    empty = LexicalIndex.of([])
    assert len(empty) == 0 and empty.average_length == 0 and len(empty.scores({"red": 1.0}, 0)) == 0


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("english", "Hunting HUNTERS hunted the whale's", ["hunt", "hunter", "hunt", "the", "whale"]),
        ("english", "the whale\u2019s", ["the", "whale"]),
        ("none", "Hunting whales, 1851!", ["hunting", "whales", "1851"]),
        ("none", "ＦＵＬＬ width", ["full", "width"]),
        ("german", "Häuser", ["haus"]),
        ("french", "baleines", ["balein"]),
        ("english", "東京タワー at night", ["東京", "京タ", "タワ", "ワー", "at", "night"]),
        ("none", "海", ["海"]),
        ("english", " .,;! ", []),
    ],
)
def test_terms(language: str, text: str, terms: list[str]) -> None:
    assert analyzer(language)(text) == terms


def test_long_runs_of_letters_are_no_terms() -> None:
    assert analyzer("none")("a" * MAX_TERM + " " + "b" * (MAX_TERM + 1)) == ["a" * MAX_TERM]


@pytest.mark.parametrize("language", ["klingon", "", "English "])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(InputError, match=r"has no stemmer: use one of .*english.*none"):
        analyzer(language)


@given(st.lists(st.tuples(st.lists(WORDS, max_size=6), st.floats(0.1, 9)), min_size=1, max_size=4), TEXTS)
def test_term_weights_are_idf_times_the_mean_saturated_count(
    examples: list[tuple[list[str], float]], texts: list[list[str]]
) -> None:
    total = sum(weight for _, weight in examples)
    expected: Counter[str] = Counter()
    for terms, weight in examples:
        for term in set(terms):
            expected[term] += weight / total * terms.count(term) / (terms.count(term) + K1) * literal_idf(texts, term)
    found = term_weights([terms for terms, _ in examples], [weight for _, weight in examples], LexicalIndex.of(texts))
    assert found == pytest.approx(dict(expected))


def test_only_the_terms_with_the_largest_weights_are_kept() -> None:
    texts = [[f"t{n:02}" for n in range(start, 50)] for start in range(50)]  # t00 is the rarest
    weights = term_weights([[f"t{n:02}" for n in range(50)]], [1.0], LexicalIndex.of(texts))
    assert list(weights) == [f"t{n:02}" for n in range(MAX_TERMS)]
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
