"""`softset.compare` does in Python what `softset compare` does on the command line."""

import re

import numpy as np
import pytest

import softset
from softset.errors import InputError
from softset.evaluation.compare import Comparison

REFERENCES = ["The cat sat.", "A red book.", "It rains in May.", "Dogs bark at night."]
SYSTEMS = {
    "old": ["A dog sat.", "Some blue pen.", "The sun shines.", "Cats sleep."],
    "new|er": ["The cat sat.", "A red book.", "It rains in June.", "<b>Dogs</b> bark."],
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return softset.compare(SYSTEMS, REFERENCES, model="words", metric=["softset", "bertscore"], samples=99, swaps=99)


def test_the_means_are_those_of_score(comparison: Comparison) -> None:
    for name in ("softset", "bertscore"):
        for system, texts in SYSTEMS.items():
            scores = softset.score(texts, REFERENCES, model="words", metric=name)
            assert comparison[system, f"{name} score"].mean.value == pytest.approx(scores.score.mean(), abs=1e-6)
            assert comparison.signatures[f"{name} score"] == scores.signature


def test_every_form_has_the_same_rows(comparison: Comparison) -> None:
    markdown = comparison.to_markdown().splitlines()
    assert markdown[0].startswith("| metric | system | mean | 95% interval |") and "new\\|er" in markdown[3]
    assert sum(line.startswith("|") for line in markdown) == 6
    assert r"\begin{tabular}" in comparison.to_latex()
    page = comparison._repr_html_()
    assert page.count("<tr>") == 5 and "new|er" in page and "Differences to old" in page
    assert repr(comparison) == str(comparison) and "p bootstrap" in repr(comparison)
    pytest.importorskip("pandas")
    frame = comparison.to_pandas()
    assert len(frame) == 4 and frame["system"].tolist() == ["old", "new|er"] * 2
    assert frame["mean"].tolist() == [row["mean"] for row in comparison.to_dict()["results"]]


def test_references_are_those_of_score() -> None:
    """Lists of different lengths, a 2-D array, and a column of a DataFrame."""
    ragged = [[text, "Another one."] if index else [text] for index, text in enumerate(REFERENCES)]
    for references in (ragged, np.array([[text, "Another one."] for text in REFERENCES])):
        for combined in ("best", "mean", "union"):
            options = {"model": "words", "metric": "subspace", "multi_reference": combined}
            result = softset.compare(SYSTEMS, references, score="recall", samples=9, swaps=9, **options)
            expected = softset.score(SYSTEMS["old"], references, **options)
            assert result["old", "subspace recall"].mean.value == pytest.approx(expected.recall.mean(), abs=1e-6)
            assert result.signatures["subspace recall"] == expected.signature
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**SYSTEMS, "reference": REFERENCES})
    systems = {name: frame[name] for name in SYSTEMS}
    assert softset.compare(systems, frame["reference"], model="words", samples=9, swaps=9).segments == 4


def test_idf_weights_are_used_by_the_metrics_that_need_them() -> None:
    idf = softset.Idf.fit(REFERENCES, model="words")
    metrics = ["bertscore", "bertscore(weights=idf)"]
    result = softset.compare(SYSTEMS, REFERENCES, model="words", metric=metrics, idf=idf, samples=9, swaps=9)
    assert f"idf:{idf.checksum}" in result.signatures["bertscore(weights=idf) score"]
    assert "idf:" not in result.signatures["bertscore score"]
    with pytest.raises(InputError, match="idf has no effect on bertscore, average: use a metric with weights=idf"):
        softset.compare(SYSTEMS, REFERENCES, model="words", metric=["bertscore", "average"], idf=idf)


@pytest.mark.parametrize(
    ("systems", "options", "sentence"),
    [
        ([["a"], ["b"]], {}, "systems is of type list, but a dict of names and lists of texts was expected"),
        ({}, {}, "there are 1 metric and 0 systems: give at least one metric, a baseline and another system"),
        ({"a": REFERENCES}, {}, "a comparison needs a baseline and at least one other system, but 1 were given"),
        ({**SYSTEMS, "c": ["x"]}, {}, "in the system c, there is 1 candidate but 4 references"),
        (SYSTEMS, {"score": "f1"}, 'score is \'f1\', but "score", "precision" or "recall" was expected'),
        (SYSTEMS, {"metric": []}, "no metric was given: give at least one"),
        (SYSTEMS, {"metrics": ["average"]}, "there is no option 'metrics'; did you mean 'metric'?"),
    ],
)
def test_bad_input_gives_one_sentence(systems, options, sentence) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        softset.compare(systems, REFERENCES, model="words", **options)
