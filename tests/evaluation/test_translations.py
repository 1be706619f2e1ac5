"""Taus equal those computed by hand, whatever the block size."""

import sys
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softset
from softset.errors import MissingExtraError
from softset.evaluation import translations
from softset.evaluation.data import DataFolder
from softset.evaluation.metric_evaluation import ScoringMethod
from softset.evaluation.significance import estimates
from softset.evaluation.translations import (
    CHRF,
    METRICS,
    LanguagePair,
    TranslationEvaluation,
    all_parts,
    choose_pairs,
    read_pair,
    score_translations,
    sentence_chrf,
    tau_statistic,
)
from tests.evaluation.translation_cases import JUDGEMENTS, REFERENCES, TRANSLATIONS, real_data, write_pair

WORDS = softset.load_encoder("words")


def methods(*names: str) -> list[ScoringMethod]:
    return all_parts(ScoringMethod.parse(name) for name in names)


def evaluated(folder, pairs=("cs-en",), metrics=METRICS, encoder=WORDS, limit=None, chrf=None, **options):
    data = DataFolder(folder)
    judgements = [read_pair(data, name, limit) for name in choose_pairs(data, pairs)]
    return TranslationEvaluation(encoder, methods(*metrics), chrf=chrf, **options).table(judgements)


def by_hand(scorer, part: str) -> float:
    """Return tau by a loop over the judgements, each translation scored alone."""
    agree = 0
    for sid, better, worse, *_ in JUDGEMENTS:
        good, bad = (
            getattr(scorer.score([TRANSLATIONS[system][sid - 1]], [REFERENCES[sid - 1]]), part)[0]
            for system in (better, worse)
        )
        agree += 1 if good > bad else -1
    return agree / len(JUDGEMENTS)


@pytest.mark.parametrize(
    "name", ["bertscore", "softset", "subspace", "subspace+chance", "subspace(aperture=2)", "average"]
)
def test_taus_equal_those_computed_by_hand(tmp_path, name) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=[name], samples=20)
    scorer = softset.Scorer("words", metric=name.removesuffix("+chance"), rescale="chance" if "+" in name else None)
    assert table.value(name, "cs-en", "kendall") == pytest.approx(by_hand(scorer, "score"))
    if name != "average":
        assert table.value(f"{name} P", "cs-en", "kendall") == pytest.approx(by_hand(scorer, "precision"))
        assert table.value(f"{name} R", "cs-en", "kendall") == pytest.approx(by_hand(scorer, "recall"))


def test_rows_have_intervals_and_p_values(tmp_path) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, samples=50)
    assert table.baseline == "bertscore" and [name for name in table.methods if name in METRICS] == list(METRICS)
    assert "average" in table.methods and "average P" not in table.methods  # one number stands for all three
    for row in table.rows:
        assert (row.task, row.dataset, row.metric, row.n) == ("wmt", "cs-en", "kendall", 6)
        assert row.low <= row.value <= row.high
        assert (row.p is None) == (row.method == "bertscore")
        assert row.default == (row.method == "softset")
    assert table.facts["seed"] == 12345 and table.facts["samples"] == 50
    assert table.facts["encoder"] == WORDS.signature


def test_without_bertscore_there_are_no_p_values(tmp_path) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=["subspace", "subspace(weights=none)"])
    assert table.baseline is None and {row.p for row in table.rows} == {None}
    assert table.methods == ["subspace", "subspace P", "subspace R"]


def test_average_over_language_pairs(tmp_path) -> None:
    write_pair(tmp_path)
    write_pair(tmp_path, "de-en", JUDGEMENTS[:4])
    table = evaluated(tmp_path, ["all"], metrics=["bertscore"])
    alone = evaluated(tmp_path, ["de-en"], metrics=["bertscore"])
    assert [dataset for dataset, _ in table.columns] == ["cs-en", "de-en", "Avg"]
    assert [(row.value, row.low, row.high) for row in alone.rows] == [
        (row.value, row.low, row.high) for row in table.rows if row.dataset == "de-en"
    ]
    mean = table.row("bertscore P", "Avg", "kendall")
    pair_rows = [table.row("bertscore P", pair, "kendall") for pair in ("cs-en", "de-en")]
    assert mean.value == pytest.approx(sum(row.value for row in pair_rows) / 2) and mean.n == 10
    assert min(row.low for row in pair_rows) <= mean.low <= mean.value <= mean.high <= 1 and 0 < mean.p <= 1
    assert table.row("bertscore", "Avg", "kendall").p is None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_block_size_does_not_change_scores(tmp_path, monkeypatch, size) -> None:
    write_pair(tmp_path)
    pair = read_pair(DataFolder(tmp_path), "cs-en")
    whole = score_translations(WORDS, methods("subspace"), pair)
    monkeypatch.setattr(translations, "TRANSLATIONS_PER_BLOCK", size)
    seen = []
    parts = score_translations(WORDS, methods("subspace"), pair, progress=lambda *numbers: seen.append(numbers))
    for name, values in whole.items():
        assert np.allclose(parts[name], values, atol=1e-6)
    assert seen == [(min(start + size, 8), 8) for start in range(0, 8, size)]


def test_shared_translations_are_encoded_once_and_tie(tmp_path) -> None:
    pair = write_pair(tmp_path)
    for system in ("good", "fair"):
        (pair / "hyp" / f"{system}.txt").write_text("A red book.\n" * 4)
    encoded: list[str] = []

    class Counting:
        signature, dimensions, second_moment = WORDS.signature, WORDS.dimensions, None

        def encode(self, texts, *, progress=None):
            encoded.extend(texts)
            return WORDS.encode(texts, progress=progress)

    judgements = read_pair(DataFolder(tmp_path), "cs-en")
    scored = score_translations(Counting(), methods("subspace", "average"), judgements)
    assert len(encoded) == len(set(encoded)) == len({*judgements.translations, *judgements.references})
    values = scored["subspace"]
    assert values[judgements.better[0]] == values[judgements.worse[0]]


def test_empty_translation_scores_0_and_is_reported(tmp_path) -> None:
    write_pair(tmp_path)
    notes: list[str] = []
    evaluated(tmp_path, metrics=["subspace"], note=notes.append)
    assert notes[0].startswith("cs-en: 6 judgements of 3 segments in ")
    assert notes[0].endswith(" s, 1 empty translations")
    pair = read_pair(DataFolder(tmp_path), "cs-en")
    scored = score_translations(WORDS, methods("subspace", "bertscore", "average"), pair)
    assert {values[pair.translations.index("")] for values in scored.values()} == {0}


def test_idf_weights_are_fitted_on_all_references(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    pair = read_pair(DataFolder(tmp_path), "cs-en")
    monkeypatch.setattr(translations, "TRANSLATIONS_PER_BLOCK", 2)
    name = "subspace(weights=idf)"
    scored = score_translations(WORDS, methods(name), pair)
    idf = softset.Idf.fit(pair.references, model="words")
    references = [pair.references[segment] for segment in pair.owner]
    expected = softset.score(pair.translations, references, model="words", metric=name, idf=idf)
    scores = [scored[method] for method in (name, f"{name} P", f"{name} R")]
    assert np.allclose(scores, [expected.score, expected.precision, expected.recall], atol=1e-6)


def test_unsupported_methods_are_left_out_and_reported(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    notes: list[str] = []
    monkeypatch.setattr(type(WORDS), "second_moment", None)
    table = evaluated(tmp_path, samples=10, note=notes.append)
    assert "subspace+chance" not in table.methods and "subspace" in table.methods
    assert "softset" in table.methods
    assert notes[0] == "softset weights all tokens equally, because the model's second moment is unknown"
    assert notes[1] == "left out: subspace+chance, because the model's second moment is unknown"


def test_chrf_has_its_own_row(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=["bertscore"], chrf=lambda text, reference: -len(text) + len(reference))
    assert table.methods == ["bertscore", "bertscore P", "bertscore R", CHRF]
    assert table.value(CHRF, "cs-en", "kendall") == pytest.approx(-2 / 3)  # the shorter is better in 1 of 6
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(MissingExtraError, match=r"^chrF needs sacrebleu: pip install sacrebleu$"):
        sentence_chrf()


def test_chrf_has_its_published_tau_on_real_data() -> None:
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    table = evaluated(real_data(), metrics=["average"], chrf=sentence_chrf(), samples=20)
    assert table.value(CHRF, "cs-en", "kendall") == pytest.approx(0.290, abs=0.001)
    assert table.rows[0].n == 5110


def test_metrics_agree_with_judgements_on_real_data() -> None:
    table = evaluated(real_data(), encoder=softset.load_encoder("minilm", layer=2), limit=40, samples=100)
    assert all(table.value(name, "cs-en", "kendall") > 0.1 for name in ("bertscore", "subspace", "subspace+chance"))


def judged(segments: int = 40, systems: int = 4, metrics: int = 3, seed: int = 0):
    """Return scores with many ties, and a language pair whose segments all have random judgements."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (metrics, segments * systems)) / 4
    segment = np.concatenate([np.arange(segments), rng.integers(0, segments, 3 * segments)])
    better, worse = np.array([rng.choice(systems, 2, replace=False) for _ in segment]).T + segment * systems
    owner = np.repeat(np.arange(segments), systems)
    return scores, LanguagePair("cs-en", [""] * segments, [""] * len(owner), owner, segment, better, worse)


def literal_tau(scores, better, worse) -> float:
    signs = [1 if scores[good] > scores[bad] else -1 for good, bad in zip(better, worse, strict=True)]
    return sum(signs) / len(signs)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(2, 6))
def test_tau_equals_literal_counting(seed, segments, systems) -> None:
    scores, pair = judged(segments, systems, seed=seed)
    taus = tau_statistic(scores, pair)(np.ones((segments, 1)))[:, 0]
    assert taus == pytest.approx([literal_tau(row, pair.better, pair.worse) for row in scores], abs=1e-12)


def test_ties_and_rounding_differences_are_discordant() -> None:
    pair = LanguagePair("cs-en", [""], [""] * 2, *map(np.array, ([0, 0], [0], [0], [1])))
    scores = np.array([[0.5, 0.5], [0.5 + 1e-9, 0.5], [0.5 + 1e-5, 0.5]])
    assert tau_statistic(scores, pair)(np.ones((1, 1))).tolist() == [[-1], [-1], [1]]


def test_bootstrap_of_tau_draws_whole_segments() -> None:
    scores, pair = judged(segments=17)
    results = estimates(tau_statistic(scores, pair), 17, baseline=0, samples=200, seed=9, stream="cs-en")
    taus = np.empty((3, 200))
    for draw, segments in enumerate(np.random.default_rng([9, crc32(b"cs-en")]).integers(17, size=(200, 17))):
        rows = np.concatenate([np.flatnonzero(pair.segment == segment) for segment in segments])
        taus[:, draw] = [literal_tau(row, pair.better[rows], pair.worse[rows]) for row in scores]
    for index, result in enumerate(results):
        assert result.value == pytest.approx(literal_tau(scores[index], pair.better, pair.worse))
        assert [result.low, result.high] == pytest.approx(np.sort(taus[index])[[5, 194]].tolist())
    centred = np.abs(taus[1] - taus[0] - (taus[1] - taus[0]).mean())
    observed = abs(results[1].value - results[0].value)
    assert results[1].p == pytest.approx(((centred >= observed - 1e-10).sum() + 1) / 201)
