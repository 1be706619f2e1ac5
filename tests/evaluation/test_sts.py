"""STS rows equal scipy's correlation of a Scorer's scores, and an interrupted run can be resumed."""

import dataclasses
from contextlib import suppress

import numpy as np
import pytest
from scipy import stats

import softset
from softset.errors import InputError, MissingExtraError
from softset.evaluation.data import DataFolder
from softset.evaluation.methods import ALL, ScoringMethod, choose_methods, usable_methods
from softset.evaluation.sts import StsEvaluation, compare_layers, padded_blocks, padded_sets
from softset.evaluation.sts_data import SentencePairs, read_datasets
from softset.io.checkpoint import checkpoint
from softset.similarity.scorer import Scorer
from tests.evaluation.sts_cases import CountingEncoder, plain_folder

WORDS = softset.load_encoder("words")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder = plain_folder(tmp_path_factory.mktemp("sts"))
    return read_datasets(DataFolder(folder), ["STS12", "STS-B", "SICK-R"])


def first(pairs: SentencePairs, n: int) -> SentencePairs:
    columns = pairs.gold, pairs.references, pairs.candidates, pairs.sources
    return SentencePairs(pairs.name, *(column[:n] for column in columns))


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
    assert row.low <= row.value <= row.high and row.n == 24 and row.p is None and row.seconds > 0


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
    assert {metric for _, metric in run("jaccard").table(datasets).columns} == {"spearman", "seconds"}


def test_methods_are_tested_against_bertscore(datasets) -> None:
    table = run("bertscore", "average").table(datasets)
    assert table.baseline == "bertscore"
    assert all((row.p is None) == (row.method == "bertscore") for row in table.rows if row.metric == "spearman")
    assert run("average").table(datasets).baseline is None
    assert [row.default for row in run("softset", "subspace").table(datasets[:1]).rows] == [True, False] * 2


def test_resumed_run_gives_the_same_table(datasets, tmp_path) -> None:
    notes: list[str] = []
    whole = run("bertscore", "average", "subspace+chance").table(datasets)
    path = tmp_path / "out" / "sts.partial"
    first = run("bertscore", "average", "subspace+chance", note=notes.append)
    with suppress(KeyboardInterrupt), checkpoint(path, first.settings()) as parts:
        first.table(datasets[:2], parts=parts)
        raise KeyboardInterrupt
    assert len(notes) == 2
    for option in ({"seed": 4}, {"all_correlations": True}, {"padded_batch": 2}):
        other = run("bertscore", "average", "subspace+chance", **option).settings()
        message = f"was started with the {next(iter(option))}"
        with pytest.raises(InputError, match=message), checkpoint(path, other, resume=True):
            pass
    with checkpoint(path, first.settings(), resume=True) as parts:
        resumed = first.table(datasets, parts=parts)
    assert len(notes) == 3 and notes[2].startswith("SICK-R: 24 pairs in")
    tables = [
        [dataclasses.replace(row, seconds=None) for row in table.rows if row.metric != "seconds"]
        for table in (whole, resumed)
    ]
    assert tables[0] == tables[1] and not path.exists()


def test_each_sentence_is_encoded_once(datasets) -> None:
    encoder = CountingEncoder(WORDS)
    run("bertscore", "subspace", "tfidf", encoder=encoder).table(datasets[:1])
    assert sorted(encoder.seen) == sorted([*datasets[0].distinct_texts[0], "a"])


def test_lists_of_methods() -> None:
    notes: list[str] = []
    lists = ["subspace(weights=l2, aperture=2) R,average", "subspace+chance", "average"]
    names = [method.name for method in choose_methods(lists, transport=False, note=notes.append)]
    assert names == ["subspace(weights=l2, aperture=2) R", "average", "subspace+chance"] and not notes
    assert [ScoringMethod.parse(name).name for name in ALL] == list(ALL)
    for wrong, sentence in (
        (["bertscore+chance"], "no closed form"),
        (["cosine"], "no metric 'cosine'"),
        ([","], "no met"),
    ):
        with pytest.raises(InputError, match=sentence):
            choose_methods(wrong, transport=False, note=notes.append)


def test_transport_needs_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ot.lp.emd_wrap", None)
    for names, transport in ((["all"], True), (["wmd"], False)):
        with pytest.raises(MissingExtraError, match=r"softset\[transport\]"):
            choose_methods(names, transport=transport, note=print)


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


def test_padded_sets_contain_padding() -> None:
    encoder = softset.load_encoder("minilm", layer=4)
    texts = ["a red book", "the book that lies over there on the long table is red"]
    sets = padded_sets(encoder, texts)
    assert sets.counts.tolist() == [14, 14] and sets.special is None
    ours = encoder.encode(texts)
    assert sets[0][1:4] == pytest.approx(ours[0], abs=2e-3) and sets[1][1:13] == pytest.approx(ours[1], abs=2e-3)
    assert np.linalg.norm(sets[0][5:], axis=1).min() > 0  # the network has vectors for padding too
    gold = np.array([1.0, 2.0, 3.0])
    pairs = SentencePairs("STS-B", gold, [*texts, "a pen"], ["a pen", "one", "the red book"], ["", "", ""])
    batches = [
        [(block, blocks.counts.tolist()) for block, blocks in padded_blocks(encoder, pairs, batch)] for batch in (1, 2)
    ]
    assert [item[1] for item in batches[0]] == [[4, 5], [3, 14], [5, 4]]
    assert batches[1] == [(slice(0, 2), [4, 14, 4, 14]), (slice(2, 3), [5, 4])]


def test_rows_of_the_papers_code_have_a_prefix(datasets) -> None:
    encoder, notes = softset.load_encoder("minilm", layer=1), []
    pairs = first(datasets[1], 6)
    table = run("bertscore", "subspace", "cls", encoder=encoder, padded_batch=3, note=notes.append).table([pairs])
    assert table.methods == [
        "bertscore",
        "subspace",
        "cls",
        *(f"paper-code(batch=3)/{name}" for name in table.methods[:2]),
    ]
    assert notes[0] == "with padding, left out: cls, because the model gives no [CLS] vector"
    with pytest.raises(InputError, match="--paper-code needs a model"):
        run("bertscore", padded_batch=2).table([pairs])


def test_layers_are_columns(datasets) -> None:
    runs = [
        run("cls", "average", "bertscore", encoder=softset.load_encoder("minilm", layer=layer))
        for layer in (0.5, "last")
    ]
    table = compare_layers(runs, first(datasets[1], 6))
    assert table.columns == [("STS-B, layer 3", "spearman"), ("STS-B, layer 6", "spearman")]
    assert list(table.facts["encoder"]) == ["layer 3", "layer 6"] and table.baseline == "bertscore"
    with pytest.raises(InputError, match="this model has no layers"):
        compare_layers([run("average")], datasets[1])
