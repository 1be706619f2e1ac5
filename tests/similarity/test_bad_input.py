"""Invalid input is rejected with a one-line error that names the row."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softset
from softset import Calibration, Idf, Scorer, SoftsetError, TokenSets
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError
from tests.similarity.cases import ToyEncoder

A = np.arange(1.0, 13.0).reshape(3, 4)
BAD = A.copy()
BAD[2, 1] = np.nan


def score(candidates: Any, references: Any, **options: Any) -> Any:
    return Scorer(ToyEncoder(d=4), **options).score(candidates, references)


@pytest.mark.parametrize(
    ("candidates", "references", "sentence"),
    [
        (["a", "b"], ["a"], "there are 2 candidates but 1 reference: give one for each candidate"),
        ([A], [A, A], "there is 1 candidate but 2 references"),
        (["a", "b"], [["a"]], "there are 2 candidates but 1 list of references"),
        (["a", None], ["a", "b"], "candidate 1 is None, but a str was expected"),
        (["a", "b"], ["a", None], "reference 1 is None, but a str was expected"),
        (["a", 3], ["a", "b"], "candidate 1 is of type int, but a str was expected"),
        ("a text", ["a"], "a list of candidates was expected, but one str was given: put it in a list"),
        (["a"], "a text", "a list of references was expected, but one str was given: put it in a list"),
        (None, ["a"], "a list of candidates was expected, but NoneType was given"),
        (7, ["a"], "a list of candidates was expected, but int was given"),
        (["a", A], ["a", "b"], "candidate 1 is of type ndarray, but a str was expected"),
        ([A, "a"], [A, A], "candidate 0 is of type ndarray, but a str was expected"),
        (["a", "b"], [["a"], []], "candidate 1 has no reference: give at least one"),
        (["a", "b"], [["a"], "b"], "candidate 1 has no list of references, but others have: give each a list"),
        (["a", "b"], [["a"], ["b", None]], "a reference of candidate 1 is None, but a str was expected"),
        (["a", "b"], [["a"], ["b", ["c"]]], "a reference of candidate 1 is of type list, but a str was expected"),
    ],
)
def test_invalid_lists_are_rejected(candidates: Any, references: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        score(candidates, references)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("candidates", "references", "error", "sentence"),
    [
        ([A, A], [A, BAD], NotFiniteError, "the vector of token 2 of text 1 has a number that is not finite"),
        ([A, A], [A, A[:, :3]], AmbientError, "the vectors of text 1 have 3 dimensions, but 4 were expected"),
        ([A], [A[:, :3]], AmbientError, "the candidates' vectors have 4 dimensions and the references' 3"),
        ([A[0]], [A], ShapeError, r"the vectors of text 0 have shape \(4,\), but \(tokens, dimensions\) was expected"),
        ([A], [[A, A[0]]], ShapeError, r"the vectors of text 1 have shape \(4,\)"),
        ([A * 1j], [A], InputError, "the vectors of text 0 are of type complex128, but real numbers were expected"),
        ([A.astype(object)], [A], InputError, "real numbers were expected"),
        ([np.zeros((0, 4))], [np.zeros((0, 0))], InputError, "dimension"),
    ],
)
def test_invalid_vectors_are_rejected(candidates: Any, references: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        score(candidates, references)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["softset", "subspace", "bertscore", "average", "dynamax", "wrd", "grassmann"])
def test_nan_in_sets_from_a_file_is_rejected(name: str, tmp_path: Path) -> None:
    """Sets that were opened are mapped, not checked: what is wrong in them must not come out as a score."""
    if name == "wrd":
        pytest.importorskip("ot")

    def keep_and_score() -> None:  # either may refuse
        replace(TokenSets.from_arrays([A, A]), vectors=np.vstack([A, BAD])).save(tmp_path / "sets")
        Scorer(None, metric=name).score(TokenSets.open(tmp_path / "sets"), [A, A])

    with pytest.raises(SoftsetError, match="finite"):
        keep_and_score()


def test_ragged_rows_have_a_clear_error() -> None:
    with pytest.raises(
        ShapeError, match="the vectors of text 0 are not an array of shape \\(tokens, dimensions\\)"
    ) as caught:
        score([[[1.0, 2.0], [3.0]]], [A])
    assert "inhomogeneous" not in str(caught.value)  # NumPy's word


def test_unordered_collections_are_rejected() -> None:
    """Its pairs would change with the seed of Python's hashes."""
    for collection in ({"a", "b"}, {"a": 1, "b": 2}, frozenset("ab")):
        with pytest.raises(InputError, match="has no order: put it in a list"):
            score(collection, ["a", "b"])
        with pytest.raises(InputError, match="has no order: put it in a list"):
            score(["a", "b"], collection)


@pytest.mark.parametrize(
    ("candidates", "references", "sentence"),
    [
        (["a", "b\ud800"], ["a", "b"], "1 has a lone surrogate, U\\+D800, at character 1"),
        (["a", "b"], ["a", "\udfff"], "1 has a lone surrogate, U\\+DFFF, at character 0"),
        (["a", "b"], [["a", "c"], ["\ud800"]], "candidate 1"),  # not the place in a list that the caller never made
    ],
)
def test_lone_surrogates_are_rejected(candidates: Any, references: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        score(candidates, references)


def test_vectors_of_two_encoders_are_rejected() -> None:
    encoder, other = ToyEncoder(), ToyEncoder(name="other")
    with pytest.raises(
        InputError, match=r"the candidates were encoded with encoder:toy.*but the references with encoder:other"
    ):
        Scorer(encoder).score(encoder.encode(["a"]), other.encode(["a"]))
    with pytest.raises(InputError, match="encode both with the same model and options"):
        Scorer(encoder).score(["a"], other.encode(["a"]))
    with pytest.raises(InputError, match="encode both with the same"):
        Scorer(encoder).matrix(["a"], other.encode(["a"]))
    with pytest.raises(InputError, match="cannot be joined"):
        Scorer(encoder).score(["a"], [encoder.encode(["a"]), other.encode(["a"])])
    with pytest.raises(AmbientError, match="12 dimensions and the references' 4"):
        Scorer(encoder).score(["a"], [A])
    with pytest.raises(ShapeError, match="there is 1 candidate but 2 references in set 1"):
        Scorer(encoder).score(["a"], [encoder.encode(["a"]), encoder.encode(["a", "b"])])


@pytest.mark.parametrize(
    "name", ["jaccard", "symbolic", "johnson-symbolic", "tfidf", "subspace(weights=idf)", "softset(weights=idf)"]
)
def test_lexical_metrics_require_tokens(name: str) -> None:
    with pytest.raises(InputError, match=r"tokens.*: give tokens=\.\.\."):
        Scorer(None, metric=name).score([A], [A])


@pytest.mark.parametrize("name", ["subspace", "johnson", "bertscore", "average"])
def test_rare_weights_require_a_second_moment(name: str) -> None:
    """Only the default can do without: who asks for these weights by name wants no others."""
    scorer = Scorer(ToyEncoder(d=4), metric=f"{name}(weights=rare)")
    for act in (
        lambda: scorer.score(["a king"], ["red"]),
        lambda: scorer.matrix(["a king"], ["red"]),
        lambda: Scorer(None, metric=f"{name}(weights=rare)").score([A], [A]),
    ):
        with pytest.raises(InputError, match="weights=rare needs the second moment of the encoder's tokens") as caught:
            act()
        assert "use other weights" in str(caught.value) and "\n" not in str(caught.value)


def test_cls_requires_special_tokens() -> None:
    with pytest.raises(InputError, match=r"the metric cls needs the vectors of special tokens such as \[CLS\]"):
        Scorer(None, metric="cls").score([A], [A])
    with pytest.raises(InputError, match="the metric cls needs the vectors of special tokens"):
        Scorer("words", metric="cls").score(["a"], ["b"])


def test_missing_pot_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ot.lp.emd_wrap", None)
    with pytest.raises(softset.errors.MissingExtraError, match=r"pip install 'softset\[transport\]'"):
        Scorer(None, metric="wmd").score([A], [A])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Scorer(multi_reference="all"), "multi_reference is 'all', but one of best, mean, union was expected"),
        (lambda: Scorer(multi_reference=None), "multi_reference is None"),
        (lambda: Scorer(idf={"a": 1}), r"idf is of type dict, but softset.Idf.fit\(texts\) was expected"),
        (lambda: Scorer(metric="nearest"), "there is no metric 'nearest'"),
        (lambda: Scorer(metric="subspace(aperture=-2)"), "the aperture must be a number from 1e-06 to inf"),
        (lambda: Scorer(metric="softset(ridge=0)"), "the ridge must be a number from 0.001 to 10000, but 0.0 was"),
        (
            lambda: Scorer(None).score(["a"], ["b"]),
            "the model is None, but a name, a path, a function or an encoder was expected",
        ),
        (
            lambda: Scorer(3).score(["a"], ["b"]),
            "the model is 3, but a name, a path, a function or an encoder was expected",
        ),
        (
            lambda: Calibration.fit(["a", "a"], model=ToyEncoder()),
            "a calibration needs at least 2 different texts, but there are 1",
        ),
        (lambda: Calibration.fit(["", "  "], model=ToyEncoder()), "every text of the calibration is empty"),
        (lambda: Idf.fit([], model=ToyEncoder()), "idf needs at least one text to be fitted on"),
        (lambda: Idf.fit(TokenSets.from_arrays([A])), "have vectors but no tokens"),
        (lambda: Idf(1, {"a": 5}, "own"), "documents|texts"),  # a token in 5 of 1 texts would weigh less than nothing
    ],
)
def test_invalid_options_are_rejected(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()


TEXTS = ["a king", "a queen", "the park"]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda: Calibration.fit(None, model=ToyEncoder()), id="calibration of None"),
        pytest.param(lambda: Calibration.fit("a text", model=ToyEncoder()), id="calibration of one text"),
        pytest.param(lambda: Calibration.fit(TEXTS, model=ToyEncoder(), seed=-1), id="seed below 0"),
        pytest.param(lambda: Calibration.fit(TEXTS, model=ToyEncoder(), rounds="many"), id="rounds in words"),
        pytest.param(lambda: Calibration.fit(TEXTS, model=ToyEncoder(), rounds=0), id="no rounds"),
        pytest.param(lambda: Idf.fit(None, model=ToyEncoder()), id="idf of None"),
        pytest.param(lambda: Idf.fit("a text", model=ToyEncoder()), id="idf of the letters of one text"),
        pytest.param(lambda: Idf.fit([None], model=ToyEncoder()), id="idf of a None"),
        pytest.param(lambda: list(Scorer(ToyEncoder()).stream(7)), id="a stream of a number"),
        pytest.param(lambda: list(Scorer(ToyEncoder()).stream([("a", "b")], block=2.5)), id="half a block"),
        pytest.param(lambda: list(Scorer(ToyEncoder()).stream([("a", "b")], block=0)), id="a block of zero"),
        pytest.param(lambda: Scorer(ToyEncoder(), multi_reference=np.array(["best", "mean"])), id="an array"),
        pytest.param(lambda: Scorer(ToyEncoder(), rescale=np.ones(2)), id="rescale as an array"),
    ],
)
def test_errors_are_softset_errors_of_one_line(act: Callable[[], Any]) -> None:
    with pytest.raises(SoftsetError) as caught:
        act()
    assert "\n" not in str(caught.value)


@pytest.mark.torch
def test_tensors_with_gradients_are_rejected() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="text 0"):
        score([torch.ones(2, 4, requires_grad=True)], [A])


# Streams say the row of the whole stream, not of the block


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ((None, "b"), "candidate 3 is None"),
        (("a", None), "reference 3 is None"),
        (("a", 5), "reference 3 is of type int"),
        (("a", []), "candidate 3 has no reference"),
        (("a\ud800", "b"), "3 has a lone surrogate"),
        ("ab", "element 3 is not a \\(candidate, reference\\) pair"),
        (("a",), "element 3 is not a \\(candidate, reference\\) pair"),
        (("a", "b", "c"), "element 3 is not a \\(candidate, reference\\) pair"),
        (None, "element 3 is not a \\(candidate, reference\\) pair"),
    ],
)
def test_stream_errors_name_the_pair(bad: Any, sentence: str) -> None:
    rows = Scorer(ToyEncoder()).stream([("a", "b"), ("c", "d"), ("e", "f"), bad], block=3)
    assert [next(rows).candidate_tokens for _ in range(3)] == [1, 1, 1]
    with pytest.raises(InputError, match=sentence):
        next(rows)


def test_matrix_rejects_lists_of_references() -> None:
    with pytest.raises(InputError, match="reference 0 is of type list, but a str was expected"):
        Scorer(ToyEncoder()).matrix(["a"], [["a", "b"]])
    with pytest.raises(InputError, match="a list of candidates was expected, but one str was given"):
        softset.pairwise("a text", model=ToyEncoder())
