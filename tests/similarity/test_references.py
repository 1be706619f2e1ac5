"""Several references: the best score, the mean, or the union of the sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import Scorer, Subspace
from tests.similarity.cases import FILLED, TEXTS, ToyEncoder

JOBS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=5)


def score(multi_reference: str, candidates, references, **options):
    return Scorer(ToyEncoder(), multi_reference=multi_reference, **options).score(candidates, references)


@given(JOBS)
def test_best_is_the_first_reference_with_the_highest_score(job) -> None:
    result = score("best", [candidate for candidate, _ in job], [references for _, references in job])
    for index, (candidate, references) in enumerate(job):
        each = score("best", [candidate] * len(references), references)
        best = int(result.best_reference[index])
        assert each.score[best] >= each.score.max() - 1e-6
        if not (np.abs(np.delete(each.score, best) - each.score[best]) < 1e-6).any():  # no tie
            assert best == int(np.argmax(each.score))
        for name in ("precision", "recall", "score", "reference_tokens", "candidate_tokens", "empty", "saturated"):
            assert getattr(result, name)[index] == pytest.approx(getattr(each, name)[best], abs=1e-6)


@given(JOBS)
def test_mean_averages_all_references(job) -> None:
    result = score("mean", [candidate for candidate, _ in job], [references for _, references in job])
    for index, (candidate, references) in enumerate(job):
        each = score("best", [candidate] * len(references), references)
        for name in ("precision", "recall", "score"):
            assert getattr(result, name)[index] == pytest.approx(getattr(each, name).mean(), abs=1e-6)
        assert result.reference_tokens[index] == sum(len(text.split()) for text in references)
        assert result.candidate_tokens[index] == len(candidate.split())


@given(FILLED, st.lists(FILLED, min_size=1, max_size=3))
def test_union_matches_the_algebra(candidate: str, references: list[str]) -> None:
    encoder = ToyEncoder(d=24)
    result = Scorer(encoder, metric="subspace", multi_reference="union").score(
        [candidate, candidate], [references, ["a king", "red"]]
    )
    union = Subspace.empty(24)
    for rows in encoder.encode(references):
        union = union | Subspace.span(rows)  # in its own type: sums rounded to float32 are no new directions
    rows = encoder.encode([candidate])[0]
    assert result.precision[0] == pytest.approx(union.membership(rows).mean(), abs=1e-5)
    back = Subspace.span(rows).membership(np.vstack(list(encoder.encode(references))))
    assert result.recall[0] == pytest.approx(back.mean(), abs=1e-5)
    assert result.reference_tokens[0] == sum(len(text.split()) for text in references)
    assert result.best_reference.tolist() == [-1, -1]


@given(JOBS, st.sampled_from([1, 2, 100]))
def test_block_size_does_not_change_scores(job, block: int) -> None:
    candidates, references = [candidate for candidate, _ in job], [references for _, references in job]
    for multi_reference in ("best", "mean", "union"):
        whole = score(multi_reference, candidates, references)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("softset.similarity.run.TEXT_PAIRS", block)
            result = score(multi_reference, candidates, references)
        for name in ("precision", "recall", "score"):
            assert np.abs(getattr(result, name) - getattr(whole, name)).max() < 1e-6
        for name in ("candidate_tokens", "reference_tokens", "empty", "saturated", "best_reference"):
            assert getattr(result, name).tolist() == getattr(whole, name).tolist(), (multi_reference, name)
        assert result.signature == whole.signature


def test_best_reference_does_not_depend_on_other_candidates() -> None:
    """All of one reference counted, alone and beside a candidate with two."""
    for multi_reference in ("best", "mean", "union"):
        alone = score(multi_reference, ["a king"], [["a queen"]]).best_reference[0]
        beside = score(multi_reference, ["a king", "red"], [["a queen"], ["park", "book"]]).best_reference[0]
        assert alone == beside, multi_reference


def test_list_of_one_reference_equals_the_reference() -> None:
    for multi_reference in ("best", "mean", "union"):
        assert score(multi_reference, ["a king"], [["a queen"]]).score == pytest.approx(
            score("best", ["a king"], ["a queen"]).score
        )


def test_empty_references_among_others() -> None:
    best = score("best", ["a king", ""], [["", "a king"], ["red", ""]])
    assert best.score.tolist() == pytest.approx([1, 1]) and best.best_reference.tolist() == [1, 1]
    assert best.empty.tolist() == [False, True]
    assert score("union", ["a king"], [["", "a king"]]).score[0] == pytest.approx(1)
    assert not score("union", ["a king"], [["", "a king"]]).empty[0]
    mean = score("mean", ["a king"], [["", "a king"]])
    assert mean.score[0] == pytest.approx(0.5) and mean.empty[0]


def test_list_of_token_sets_as_references() -> None:
    encoder = ToyEncoder()
    candidates = ["a king", "red park", "the book"]
    first, second = ["the king", "a park", "book"], ["queen", "red red", "in the book"]
    for multi_reference in ("best", "mean", "union"):
        scorer = Scorer(encoder, multi_reference=multi_reference)
        expected = scorer.score(candidates, [list(pair) for pair in zip(first, second, strict=True)])
        result = scorer.score(candidates, [scorer.encode(first), scorer.encode(second)])
        assert np.abs(result.score - expected.score).max() < 1e-6
        assert result.best_reference.tolist() == expected.best_reference.tolist()


@pytest.mark.parametrize(
    "name", ["softset", "symbolic", "jaccard", "tfidf", "bertscore", "average", "dynamax", "grassmann"]
)
def test_unions_work_for_every_kind_of_metric(name: str) -> None:
    encoder = ToyEncoder(lean=0)
    result = Scorer(encoder, metric=name, multi_reference="union").score(["the red king"], [["the red", "king"]])
    assert result.score[0] == pytest.approx(1, abs=1e-6)


def test_first_reference_wins_a_tie() -> None:
    """Equal texts have equal scores to the last digit, wherever they stand in the list."""
    result = score("best", ["a king", "red"], [["park", "a king", "a king"], ["book", "book", "book"]])
    assert result.best_reference.tolist() == [1, 0]


def test_reordered_references_are_a_tie() -> None:
    """Both span what the candidate spans, so both score 1: the first must not lose by a rounding of 1e-16."""
    encoder = ToyEncoder(lean=0)
    for candidate in ("the the red", "king of of the park", "a a red book in"):
        words = list(dict.fromkeys(candidate.split()))
        for references in ([" ".join(words), candidate], [" ".join(words[::-1]), candidate, " ".join(words)]):
            assert Scorer(encoder, metric="subspace").score([candidate], [references]).best_reference.tolist() == [0]
