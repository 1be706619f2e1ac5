"""Results in Python: slices, DataFrames, notebooks, copies, and tuples that they are not."""

import copy
import pickle
import re
import sys

import numpy as np
import pytest

import softset
from softset import Calibration, GradedSubspace, Idf, Scorer, Subspace
from softset.errors import InputError, MissingExtraError

CANDIDATES = ["a red book", "the king sat", "<b>rain</b>"]
REFERENCES = ["the book is red", "a queen sat", "it rains"]


@pytest.fixture(scope="module")
def scores() -> softset.Scores:
    return softset.score(CANDIDATES, REFERENCES, model="words", metric="bertscore")


def test_slices_are_scores(scores: softset.Scores) -> None:
    head = scores[:2]
    assert isinstance(head, softset.Scores) and len(head) == 2 and head.signature == scores.signature
    assert head.f1.tolist() == scores.f1[:2].tolist()
    assert scores[[0, 2]].f1.tolist() == scores[np.array([True, False, True])].f1.tolist() == scores.f1[[0, 2]].tolist()
    assert scores[::-1][0] == scores[2] == scores[-1]
    assert [row.score for row in scores[1:].rows()] == scores.score[1:].tolist()
    with pytest.raises(IndexError):
        _ = scores[3]


def test_three_numbers_cannot_be_unpacked_by_accident(scores: softset.Scores) -> None:
    hint = re.escape("use P, R, F = scores.precision, scores.recall, scores.score")
    for some in (scores, scores[:1]):
        with pytest.raises(TypeError, match=hint):
            _P, _R, _F = some
        with pytest.raises(TypeError, match=hint):
            _sums = [P + R + F for P, R, F in [some]]
    assert list(scores.rows()) == [scores[0], scores[1], scores[2]]


def test_scores_as_a_data_frame(scores: softset.Scores) -> None:
    pytest.importorskip("pandas")
    frame = scores.to_pandas()
    assert frame["score"].tolist() == scores.score.tolist() and frame.attrs["signature"] == scores.signature
    assert list(frame.columns) == list(scores[0]._fields)
    matrix = Scorer("words").matrix(CANDIDATES, REFERENCES[:2])
    assert matrix.to_pandas().to_numpy().tolist() == matrix.score.tolist()


def test_without_pandas_one_sentence_names_the_command(scores: softset.Scores, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"^results as a DataFrame need pandas: pip install pandas$"):
        scores.to_pandas()


def test_everything_is_a_table_in_notebooks(scores: softset.Scores) -> None:
    scorer = Scorer("words")
    shown = {
        "Scores(3 pairs": scores,
        "ScoreMatrix(3 candidates, 1 reference, mean score=": scorer.matrix(CANDIDATES, ["x"]),
        "Idf(3 texts": Idf.fit(CANDIDATES, model="words"),
        "Calibration(": Calibration.fit(CANDIDATES, model="words"),
        "TokenSets(3 texts": scorer.encode(CANDIDATES),
        "Explanation(": scorer.explain("<b> rain", "it rains"),
        "WordsEncoder(encoder:words": scorer.encoder,
        "ContextualEncoder(encoder:minilm": softset.load_encoder("minilm"),
        "WordVectors('glove-840b-300d', words=33753": softset.load_words(),
        "Subspace(dim=2, ambient=4)": Subspace.span(np.eye(4)[:2]),
        "GradedSubspace(dim=2, ambient=4, trace=1.33)": GradedSubspace.of(np.eye(4)[:2]),
    }
    for beginning, value in shown.items():
        assert repr(value).startswith(beginning) and len(repr(value)) < 300
        page = value._repr_html_()
        assert page.startswith("<table>") and page.endswith("</table>") and "<b>" not in page
    calibration = shown["Calibration("]
    assert f"score={calibration.score:.3f}" in repr(calibration) and "metric:softset" in repr(calibration)


def test_encoders_say_what_they_are() -> None:
    assert repr(softset.load_encoder("minilm", layer=4)).startswith("ContextualEncoder(encoder:minilm@")
    assert "layer:4" in repr(softset.load_encoder("minilm", layer=4))
    assert repr(softset.load_encoder("words")).startswith("WordsEncoder(encoder:words(glove-840b-300d)@")
    called = []
    encoder = softset.load_encoder(lambda texts: called.append(texts))
    assert "function(" in repr(encoder) and not called


def test_a_scorer_is_pickled_without_its_model() -> None:
    scorer = Scorer("minilm", metric="subspace(weights=l2)", rescale="chance", multi_reference="mean", layer=4)
    expected = scorer.score(CANDIDATES, REFERENCES).score
    data = pickle.dumps(scorer)
    assert len(data) < 2000 and b"numpy" not in data
    for duplicate in (pickle.loads(data), copy.deepcopy(scorer), copy.copy(scorer)):
        assert duplicate.signature() == scorer.signature() and repr(duplicate) == repr(scorer)
        assert (duplicate.metric, duplicate.rescale, duplicate.multi_reference) == (scorer.metric, "chance", "mean")
        assert np.abs(duplicate.score(CANDIDATES, REFERENCES).score - expected).max() < 1e-6


def test_a_scorer_of_a_loaded_encoder_says_what_to_pickle() -> None:
    scorer = Scorer(softset.load_encoder("words"))
    with pytest.raises(TypeError, match="give it the name or the folder of the model"):
        pickle.dumps(scorer)
    assert copy.deepcopy(scorer).encoder is scorer.encoder


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: Scorer(metrc="bertscore"),
            "there is no option 'metrc'; did you mean 'metric'? Options: model, metric",
        ),
        (lambda: softset.score(["a"], ["b"], metrik="x"), "did you mean 'metric'?"),
        (lambda: softset.pairwise(["a"], distnce=True), "did you mean 'distance'?"),
        (lambda: softset.compare({}, [], sampels=3), "did you mean 'samples'?"),
        (lambda: softset.load_encoder("words", layr=3), "did you mean 'layer'? Options: model, layer"),
        (lambda: Idf.fit(["a"], modl="words"), "did you mean 'model'?"),
        (lambda: Calibration.fit(["a", "b"], round=2), "did you mean 'rounds'?"),
        (lambda: Scorer().score(["a"], ["b"], progres=True), "did you mean 'progress'? Options: progress"),
        (lambda: Scorer().with_options(metrics="average"), "did you mean 'metric'?"),
        (lambda: Scorer().matrix(["a"], zzz=1), "there is no option 'zzz'. Options: references, progress"),
        (lambda: softset.score(["a"], ["b"], idf=True), "idf is True, but softset.Idf.fit(texts) was expected"),
        (lambda: Scorer(idf=Idf(1, {"a": 1}, "own")), "idf has no effect on softset: use a metric with weights=idf"),
        (lambda: Scorer().with_options(idf=Idf(1, {"a": 1}, "own")), "idf has no effect on softset"),
    ],
)
def test_options_that_do_nothing_are_refused(call, sentence) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()


def test_another_metric_leaves_idf_weights_behind() -> None:
    weighted = Scorer("words", metric="bertscore(weights=idf)", idf=Idf.fit(REFERENCES, model="words"))
    assert weighted.with_options(metric="bertscore").idf is None
    assert weighted.with_options(metric="subspace(weights=idf)").idf is weighted.idf
