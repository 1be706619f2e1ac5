"""STS rows equal scipy's correlation of a Scorer's scores."""

import numpy as np
import pytest
from scipy import stats

import softset
from softset.errors import InputError, MissingExtraError
from softset.evaluation.data import DataFolder
from softset.evaluation.metric_evaluation import ALL, ScoringMethod, choose_methods, usable_methods
from softset.evaluation.sts import StsEvaluation, read_datasets
from softset.similarity.scorer import Scorer
from tests.evaluation.sts_cases import CountingEncoder, plain_folder

WORDS = softset.load_encoder("words")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder = plain_folder(tmp_path_factory.mktemp("sts"))
    return read_datasets(DataFolder(folder), ["STS12", "STS-B", "SICK-R"])


def methods(*names: str) -> list[ScoringMethod]:
    return [ScoringMethod.parse(name) for name in names]


def run(*names: str, encoder=WORDS, **options) -> StsEvaluation:
    return StsEvaluation(encoder, methods(*names), **{"samples": 99, **options})


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("cls", "wmd", "wrd")])
def test_rows_equal_scipys_correlation_of_scorer_scores(datasets, name) -> None:
    pairs, method = datasets[1], ScoringMethod.parse(name)
    scorer = Scorer("words", metric=method.metric, rescale="chance" if method.chance else None)
    if method.metric.needs_idf:
        scorer.idf = softset.Idf.fit(pairs.distinct_texts[0], model=WORDS)
    scores = getattr(scorer.score(pairs.candidates, pairs.references), method.field)
    table = run(name).table([pairs])
    expected = stats.spearmanr(scores, pairs.gold).statistic
    assert table.value(name, "STS-B", "spearman") == pytest.approx(expected, abs=1e-9)
    row = table.row(name, "STS-B", "spearman")
    assert row.low <= row.value <= row.high and row.n == 24 and row.p is None


def test_average_and_all_correlations(datasets) -> None:
    table = run("bertscore", "jaccard", all_correlations=True).table(datasets)
    values = [table.value("jaccard", pairs.name, "spearman") for pairs in datasets]
    assert table.value("jaccard", "Avg", "spearman") == pytest.approx(np.mean(values))
    assert table.row("jaccard", "Avg", "spearman").n == sum(map(len, datasets))
    assert table.row("jaccard", "Avg", "spearman-mean") is None  # SICK-R has no sub-datasets
    years = datasets[0]
    scores = softset.score(years.candidates, years.references, model="words", metric="bertscore").score
    each = [stats.spearmanr(scores[part], years.gold[part]).statistic for part in years.parts]
    assert table.value("bertscore", "STS12", "spearman-mean") == pytest.approx(np.mean(each), abs=1e-9)
    linear = stats.pearsonr(scores, years.gold).statistic
    assert table.value("bertscore", "STS12", "pearson") == pytest.approx(linear, abs=1e-9)
    assert {metric for _, metric in run("jaccard").table(datasets).columns} == {"spearman"}


def test_methods_are_tested_against_bertscore(datasets) -> None:
    table = run("bertscore", "average").table(datasets)
    assert table.baseline == "bertscore"
    assert all((row.p is None) == (row.method == "bertscore") for row in table.rows if row.metric == "spearman")
    assert run("average").table(datasets).baseline is None
    assert [row.default for row in run("softset", "subspace").table(datasets[:1]).rows] == [True, False]


def test_each_sentence_is_encoded_once(datasets) -> None:
    encoder = CountingEncoder(WORDS)
    run("bertscore", "subspace", "tfidf", encoder=encoder).table(datasets[:1])
    assert sorted(encoder.seen) == sorted([*datasets[0].distinct_texts[0], "a"])


def test_lists_of_methods() -> None:
    notes: list[str] = []
    lists = ["subspace(weights=l2, aperture=2) R,average", "subspace+chance", "average"]
    names = [method.name for method in choose_methods(lists, note=notes.append)]
    assert names == ["subspace(weights=l2, aperture=2) R", "average", "subspace+chance"] and not notes
    assert [ScoringMethod.parse(name).name for name in ALL] == list(ALL)
    for wrong, sentence in (
        (["bertscore+chance"], "no closed form"),
        (["cosine"], "no metric 'cosine'"),
        ([","], "no met"),
    ):
        with pytest.raises(InputError, match=sentence):
            choose_methods(wrong, note=notes.append)


def test_transport_needs_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ot.lp.emd_wrap", None)
    with pytest.raises(MissingExtraError, match=r"softset\[transport\]"):
        choose_methods(["wmd"], note=print)


def test_transport_is_scored(datasets) -> None:
    pytest.importorskip("ot")
    table = run("wmd", "wrd").table(datasets[1:2])
    assert 0.3 < table.value("wmd", "STS-B", "spearman") <= 1 and 0.3 < table.value("wrd", "STS-B", "spearman") <= 1


def test_unsupported_methods_are_left_out_and_reported(datasets) -> None:
    notes: list[str] = []
    table = run("cls", "average", note=notes.append).table(datasets[:1])
    assert table.methods == ["average"] and notes[0] == "left out: cls, because the model gives no [CLS] vector"
    with pytest.raises(InputError, match="none of the metrics"):
        usable_methods(methods("cls"), WORDS.encode(["a"]), None, notes.append)
