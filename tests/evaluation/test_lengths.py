"""Rows equal scipy's correlations of scores and lengths, and unrelated pairs share no dataset pair."""

import random
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from scipy import stats

import softset
from softset.encoders.base import TextEncoder
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation import lengths
from softset.evaluation.lengths import METRICS, LengthEvaluation, similar_pairs, unrelated_pairs
from softset.evaluation.methods import ScoringMethod
from softset.evaluation.significance import bootstrap
from softset.evaluation.sts_data import SentencePairs
from softset.similarity.scorer import Scorer
from tests.evaluation.sts_cases import WORDS, CountingEncoder

ENCODER = softset.load_encoder("words")


def sentence(rng: random.Random, most: int = 20) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def dataset(name: str, count: int = 40) -> SentencePairs:
    """Return pairs of sentences of 1 to 20 words, whose scores are 0 to 5 in turn."""
    rng = random.Random(name)
    sides = [[sentence(rng) for _ in range(count)] for _ in range(2)]
    return SentencePairs(name, np.arange(count) % 6.0, *sides, [name] * count)


DATASETS = [dataset("STS12"), dataset("SICK-R")]


def run(*names: str, encoder=ENCODER, **options) -> LengthEvaluation:
    return LengthEvaluation(encoder, [ScoringMethod.parse(name) for name in names], **{"samples": 50, **options})


def paired(kind) -> list[tuple[str, str]]:
    return list(zip(kind.references, kind.candidates, strict=True))


def pool(datasets) -> set[str]:
    return {text for pairs in datasets for text in (*pairs.references, *pairs.candidates)}


def literal(kind, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, and how many words reference and candidate have: all words of these sentences have vectors."""
    scoring = ScoringMethod.parse(method)
    scorer = Scorer("words", metric=scoring.metric, rescale="chance" if scoring.chance else None)
    scores = getattr(scorer.score(kind.candidates, kind.references), scoring.field)
    return scores, *(np.array([len(text.split()) for text in side]) for side in (kind.references, kind.candidates))


def test_unrelated_pairs_share_no_dataset_pair_and_no_sentence() -> None:
    dataset_pairs = {
        frozenset(pair) for pairs in DATASETS for pair in zip(pairs.references, pairs.candidates, strict=True)
    }
    for seed in range(30):
        pairs = paired(unrelated_pairs(DATASETS, seed=seed))
        assert sorted(reference for reference, _ in pairs) == sorted(pool(DATASETS))  # each once
        assert all(candidate in pool(DATASETS) and candidate != reference for reference, candidate in pairs)
        assert not dataset_pairs & {frozenset(pair) for pair in pairs}


def test_candidates_are_drawn_uniformly() -> None:
    pairs = SentencePairs("STS12", np.zeros(3), ["a", "b", "c"], ["d", "a", "e"], [""] * 3)
    drawn = [dict(paired(unrelated_pairs([pairs], seed=seed))) for seed in range(600)]
    for reference, others in {"a": "ce", "b": "cde", "c": "abd", "d": "bce", "e": "abd"}.items():
        candidates = [sample[reference] for sample in drawn]
        assert set(candidates) == set(others)
        assert stats.chisquare([candidates.count(other) for other in others]).pvalue > 1e-4


def test_sentence_paired_with_all_others_is_left_out() -> None:
    pairs = SentencePairs("STS12", np.zeros(2), ["a", "a"], ["b", "c"], [""] * 2)
    assert sorted(paired(unrelated_pairs([pairs]))) == [("b", "c"), ("c", "b")]


def test_samples_depend_on_seed_and_limit(monkeypatch) -> None:
    for draw in (unrelated_pairs, similar_pairs):
        whole = paired(draw(DATASETS, seed=1))
        assert whole == paired(draw(DATASETS, seed=1)) != paired(draw(DATASETS, seed=2))
        assert len(draw(DATASETS, limit=7, seed=1).candidates) == 7
        assert draw(DATASETS, limit=7, seed=1).references == [reference for reference, _ in whole[:7]]
    monkeypatch.setattr(lengths, "MAX_UNRELATED", 5)
    assert len(unrelated_pairs(DATASETS).references) == len(unrelated_pairs(DATASETS, limit=9).references) == 5


def test_similar_pairs_have_a_gold_score_of_4_or_more() -> None:
    gold = np.array([3.99, 4.0, 5.0, 5.0, 4.5])
    first = SentencePairs("STS12", gold, ["a", "b", "c", "d", "e"], ["f", "g", "h", "d", "i"], [""] * 5)
    second = SentencePairs("SICK-R", np.array([4.2, 4.1]), ["c", "i"], ["h", "e"], [""] * 2)
    assert sorted(paired(similar_pairs([first, second]))) == [("b", "g"), ("c", "h"), ("e", "i"), ("i", "e")]


@pytest.mark.parametrize("method", [*METRICS, "bertscore(weights=l2)"])
@pytest.mark.parametrize("draw", [unrelated_pairs, similar_pairs])
def test_rows_equal_scipys_correlations_with_lengths(method, draw) -> None:
    kind = draw(DATASETS, seed=3)
    table = run(method, seed=3).table(DATASETS)
    scores, references, candidates = literal(kind, method)
    for metric, counts in (("spearman", references), ("spearman candidate", candidates)):
        row = table.row(method, kind.name, metric)
        assert row.value == pytest.approx(stats.spearmanr(scores, counts).statistic, abs=1e-9)
        assert (row.task, row.n, row.p, row.default) == ("lengths", len(scores), None, method == "softset")
        ends = interval(
            scores, lambda draw, counts=counts: stats.spearmanr(scores[draw], counts[draw]).statistic, kind.name
        )
        assert (row.low, row.high) == pytest.approx(ends, abs=1e-9)
    assert {dataset for dataset, _ in table.columns if dataset.startswith(kind.name)} == {
        kind.name,
        *(f"{kind.name} {bucket}" for bucket in ("1-8", "9-16", "17-32")),
    }
    for bucket, least, most in (("1-8", 1, 8), ("9-16", 9, 16), ("17-32", 17, 32)):
        row = table.row(method, f"{kind.name} {bucket}", "mean")
        inside = scores[(references >= least) & (references <= most)]
        assert row.value == pytest.approx(inside.mean(), abs=1e-9) and row.n == len(inside)
        ends = interval(inside, lambda draw, inside=inside: inside[draw].mean(), row.dataset)
        assert (row.low, row.high) == pytest.approx(ends, abs=1e-9)


def interval(scores, statistic, name: str) -> tuple[float, float]:
    """Return the second and the last but one of 50 draws: one in forty is outside on either side."""
    n = len(scores)
    counts = bootstrap(lambda counts: counts, n, samples=50, seed=3, stream=name)
    drawn = sorted(statistic(np.repeat(np.arange(n), column.astype(int))) for column in counts.T)
    return drawn[1], drawn[-2]


def test_bucket_limits_are_inclusive() -> None:
    sizes = [1, 8, 9, 16, 17, 32, 33, 60]
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=size)) for size in sizes]
    pairs = SentencePairs("STS12", np.full(8, 5.0), texts, [f"{WORDS[0]} {word}" for word in WORDS[1:9]], [""] * 8)
    table = run("subspace R").table([pairs])
    columns = [f"alike {bucket}" for bucket in ("1-8", "9-16", "17-32", "33-")]
    assert [dataset for dataset, metric in table.columns if metric == "mean"][-4:] == columns
    scores = softset.score(pairs.candidates, texts, model="words", metric="subspace").recall
    for index, column in enumerate(columns):
        row = table.row("subspace R", column, "mean")
        assert row.n == 2 and row.value == pytest.approx(scores[2 * index : 2 * index + 2].mean(), abs=1e-9)


class Noise(TextEncoder):
    """A vector in any direction for each word of a text, so that no two texts have anything in common."""

    signature, dimensions, second_moment = "noise", 64, np.eye(64) / 64

    def _encode(self, texts, progress):  # noqa: ARG002 (of its kind)
        seeds = [[crc32(text.encode()), len(text.split())] for text in texts]
        return TokenSets.from_arrays([np.random.default_rng(seed).normal(size=(seed[1], 64)) for seed in seeds])


def test_chance_rescaling_removes_the_effect_of_length() -> None:
    names = ("subspace P", "subspace R", "subspace+chance P", "subspace+chance R")
    table = run(*names, encoder=Noise()).table([dataset("STS12", 400)])
    of_reference, of_candidate = (
        [table.value(name, "unrelated", metric) for name in names] for metric in ("spearman", "spearman candidate")
    )
    assert of_reference[0] > 0.9 > 0.2 > np.abs(of_reference[1:]).max()
    assert of_candidate[1] > 0.9 > 0.2 > np.abs(np.delete(of_candidate, 1)).max()


def test_seed_determines_the_table() -> None:
    tables = [run("average", "subspace", seed=seed).table(DATASETS) for seed in (1, 1, 2)]
    first, again, other = ([replace(row, seconds=None) for row in table.rows] for table in tables)
    assert first == again != other


def test_limit_applies_to_each_sample() -> None:
    table = run("average", limit=6).table(DATASETS)
    assert [row.n for row in table.rows if row.metric == "spearman"] == [6, 6]
    assert all(
        sum(row.n for row in table.rows if row.metric == "mean" and kind in row.dataset) == 6
        for kind in ("unrelated", "alike")
    )
    assert table.facts["limit"] == 6 and "at least 4" in table.facts["alike"]


def test_each_sentence_is_encoded_once() -> None:
    encoder = CountingEncoder(ENCODER)
    table = run("average", "tfidf", encoder=encoder, limit=9).table(DATASETS)
    kinds = [draw(DATASETS, limit=9) for draw in (unrelated_pairs, similar_pairs)]
    needed = {text for kind in kinds for text in (*kind.candidates, *kind.references)}
    assert sorted(encoder.seen) == sorted([*needed, "a"]) and table.methods == ["average", "tfidf"]


def test_empty_sample_and_unsupported_methods_are_reported() -> None:
    notes: list[str] = []
    poor = SentencePairs("STS12", np.array([1.0, 1.0]), ["red book", "king"], ["river", "pen"], ["", ""])
    table = run("cls", "average", note=notes.append).table([poor])
    assert table.methods == ["average"] and {row.dataset for row in table.rows} == {"unrelated", "unrelated 1-8"}
    assert notes[0].startswith("left out: cls") and "left out: alike, because there are no such pairs" in notes


@pytest.mark.parametrize("seed", range(6))
def test_pair_with_a_sentence_without_tokens_is_left_out(seed) -> None:
    notes: list[str] = []
    odd = SentencePairs("STS12", np.ones(3), ["red", "king", "pen"], ["river", "zzxqv", "book"], [""] * 3)
    drawn = paired(unrelated_pairs([odd], seed=seed))
    lost = sum("zzxqv" in pair for pair in drawn)
    table = run("average", seed=seed, note=notes.append).table([odd])
    assert table.row("average", "unrelated", "spearman").n == len(drawn) - lost == 6 - lost
    assert f"unrelated: {lost} pairs left out, because a sentence has no known tokens" in notes and lost > 0


def test_data_without_pairs_are_refused() -> None:
    only = SentencePairs("STS12", np.array([1.0]), ["red"], ["blue"], [""])
    with pytest.raises(InputError, match="no pairs to measure"):
        run("average").table([only])
    for options in ({"samples": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(options))):
            run("average", **options).table(DATASETS)
