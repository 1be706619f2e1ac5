"""Scores and the length of texts: rows are what scipy and a Scorer give, and unrelated pairs are unrelated."""

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
from softset.evaluation.correlation_draws import drawn_counts
from softset.evaluation.lengths import METRICS, LengthsRun, alike, unrelated
from softset.evaluation.methods import Method
from softset.evaluation.sts_data import SentencePairs
from softset.io.checkpoint import checkpoint
from softset.similarity.scorer import Scorer
from tests.evaluation.sts_cases import WORDS

ENCODER = softset.load_encoder("words")


def sentence(rng: random.Random, most: int = 20) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def dataset(name: str, count: int = 40) -> SentencePairs:
    """Return pairs of sentences of 1 to 20 words, whose scores are 0 to 5 in turn."""
    rng = random.Random(name)
    sides = [[sentence(rng) for _ in range(count)] for _ in range(2)]
    return SentencePairs(name, np.arange(count) % 6.0, *sides, [name] * count)


DATASETS = [dataset("STS12"), dataset("SICK-R")]


def run(*names: str, encoder=ENCODER, **options) -> LengthsRun:
    return LengthsRun(encoder, [Method.named(name) for name in names], **{"samples": 50, **options})


def paired(kind) -> list[tuple[str, str]]:
    return list(zip(kind.references, kind.candidates, strict=True))


def pool(datasets) -> set[str]:
    return {text for one in datasets for text in (*one.references, *one.candidates)}


def literal(kind, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, and how many words reference and candidate have: all words of these sentences have vectors."""
    one = Method.named(method)
    scorer = Scorer("words", metric=one.metric, rescale="chance" if one.chance else None)
    scores = getattr(scorer.score(kind.candidates, kind.references), one.field)
    return scores, *(np.array([len(text.split()) for text in side]) for side in (kind.references, kind.candidates))


# The pairs


def test_unrelated_pairs_are_no_pairs_of_the_data_nor_of_a_sentence_with_itself() -> None:
    given = {frozenset(pair) for one in DATASETS for pair in zip(one.references, one.candidates, strict=True)}
    for seed in range(30):
        pairs = paired(unrelated(DATASETS, seed=seed))
        assert sorted(reference for reference, _ in pairs) == sorted(pool(DATASETS))  # each once
        assert all(candidate in pool(DATASETS) and candidate != reference for reference, candidate in pairs)
        assert not given & {frozenset(pair) for pair in pairs}


def test_every_other_sentence_is_drawn_as_often() -> None:
    pairs = SentencePairs("STS12", np.zeros(3), ["a", "b", "c"], ["d", "a", "e"], [""] * 3)
    drawn = [dict(paired(unrelated([pairs], seed=seed))) for seed in range(600)]
    for reference, others in {"a": "ce", "b": "cde", "c": "abd", "d": "bce", "e": "abd"}.items():
        found = [one[reference] for one in drawn]
        assert set(found) == set(others)
        assert stats.chisquare([found.count(one) for one in others]).pvalue > 1e-4


def test_a_sentence_that_is_paired_with_all_others_has_no_unrelated_pair() -> None:
    pairs = SentencePairs("STS12", np.zeros(2), ["a", "a"], ["b", "c"], [""] * 2)
    assert sorted(paired(unrelated([pairs]))) == [("b", "c"), ("c", "b")]


def test_pairs_follow_the_seed_and_the_limit(monkeypatch) -> None:
    for draw in (unrelated, alike):
        whole = paired(draw(DATASETS, seed=1))
        assert whole == paired(draw(DATASETS, seed=1)) != paired(draw(DATASETS, seed=2))
        assert len(draw(DATASETS, limit=7, seed=1).candidates) == 7
        assert draw(DATASETS, limit=7, seed=1).references == [reference for reference, _ in whole[:7]]
    monkeypatch.setattr(lengths, "MOST", 5)
    assert len(unrelated(DATASETS).references) == len(unrelated(DATASETS, limit=9).references) == 5


def test_alike_pairs_are_those_scored_4_or_more_each_once() -> None:
    gold = np.array([3.99, 4.0, 5.0, 5.0, 4.5])
    first = SentencePairs("STS12", gold, ["a", "b", "c", "d", "e"], ["f", "g", "h", "d", "i"], [""] * 5)
    second = SentencePairs("SICK-R", np.array([4.2, 4.1]), ["c", "i"], ["h", "e"], [""] * 2)
    assert sorted(paired(alike([first, second]))) == [("b", "g"), ("c", "h"), ("e", "i"), ("i", "e")]


# The numbers


@pytest.mark.parametrize("method", [*METRICS, "bertscore(weights=l2)"])
@pytest.mark.parametrize("draw", [unrelated, alike])
def test_rows_are_scipys_correlations_of_a_scorers_scores_with_numbers_of_words(method, draw) -> None:
    kind = draw(DATASETS, seed=3)
    table = run(method, seed=3).table(DATASETS)
    scores, references, candidates = literal(kind, method)
    for metric, counts in (("spearman", references), ("spearman candidate", candidates)):
        row = table.row(method, kind.name, metric)
        assert row.value == pytest.approx(stats.spearmanr(scores, counts).statistic, abs=1e-9)
        assert (row.task, row.n, row.p, row.default) == ("lengths", len(scores), None, method == "softset")
        ends = interval(scores, lambda at, counts=counts: stats.spearmanr(scores[at], counts[at]).statistic, kind.name)
        assert (row.low, row.high) == pytest.approx(ends, abs=1e-9)
    assert {one for one, _ in table.columns if one.startswith(kind.name)} == {
        kind.name,
        *(f"{kind.name} {bucket}" for bucket in ("1-8", "9-16", "17-32")),
    }
    for bucket, least, most in (("1-8", 1, 8), ("9-16", 9, 16), ("17-32", 17, 32)):
        row = table.row(method, f"{kind.name} {bucket}", "mean")
        here = scores[(references >= least) & (references <= most)]
        assert row.value == pytest.approx(here.mean(), abs=1e-9) and row.n == len(here)
        ends = interval(here, lambda at, here=here: here[at].mean(), row.dataset)
        assert (row.low, row.high) == pytest.approx(ends, abs=1e-9)


def interval(scores, statistic, name: str) -> tuple[float, float]:
    """Return the second and the last but one of 50 draws: one in forty is outside on either side."""
    n = len(scores)
    counts = np.concatenate([one for _, one in drawn_counts(n, 50, 3, name)], axis=1)
    drawn = sorted(statistic(np.repeat(np.arange(n), one.astype(int))) for one in counts.T)
    return drawn[1], drawn[-2]


def test_buckets_end_where_they_say() -> None:
    sizes = [1, 8, 9, 16, 17, 32, 33, 60]
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=size)) for size in sizes]
    pairs = SentencePairs("STS12", np.full(8, 5.0), texts, [f"{WORDS[0]} {one}" for one in WORDS[1:9]], [""] * 8)
    table = run("subspace R").table([pairs])
    columns = [f"alike {one}" for one in ("1-8", "9-16", "17-32", "33-")]
    assert [one for one, metric in table.columns if metric == "mean"][-4:] == columns
    scores = softset.score(pairs.candidates, texts, model="words", metric="subspace").recall
    for at, column in enumerate(columns):
        row = table.row("subspace R", column, "mean")
        assert row.n == 2 and row.value == pytest.approx(scores[2 * at : 2 * at + 2].mean(), abs=1e-9)


class Noise(TextEncoder):
    """A vector in any direction for each word of a text, so that no two texts have anything in common."""

    signature, dimensions, second_moment = "noise", 64, np.eye(64) / 64

    def _encode(self, texts, progress):  # noqa: ARG002 (of its kind)
        seeds = [[crc32(one.encode()), len(one.split())] for one in texts]
        return TokenSets.from_arrays([np.random.default_rng(seed).normal(size=(seed[1], 64)) for seed in seeds])


def test_a_larger_set_has_more_room_and_counting_from_chance_takes_it_back() -> None:
    names = ("subspace P", "subspace R", "subspace+chance P", "subspace+chance R")
    table = run(*names, encoder=Noise()).table([dataset("STS12", 400)])
    of_reference, of_candidate = (
        [table.value(name, "unrelated", metric) for name in names] for metric in ("spearman", "spearman candidate")
    )
    assert of_reference[0] > 0.9 > 0.2 > np.abs(of_reference[1:]).max()
    assert of_candidate[1] > 0.9 > 0.2 > np.abs(np.delete(of_candidate, 1)).max()


def test_the_same_seed_gives_the_same_table() -> None:
    tables = [run("average", "subspace", seed=seed).table(DATASETS) for seed in (1, 1, 2)]
    first, again, other = ([replace(row, seconds=None) for row in table.rows] for table in tables)
    assert first == again != other


def test_the_limit_is_of_pairs_of_each_kind() -> None:
    table = run("average", limit=6).table(DATASETS)
    assert [row.n for row in table.rows if row.metric == "spearman"] == [6, 6]
    assert all(
        sum(row.n for row in table.rows if row.metric == "mean" and kind in row.dataset) == 6
        for kind in ("unrelated", "alike")
    )
    assert table.facts["limit"] == 6 and "at least 4" in table.facts["alike"]


# The work


def test_each_sentence_that_is_needed_is_encoded_once() -> None:
    seen: list[str] = []

    class Counting(TextEncoder):
        signature, dimensions = ENCODER.signature, ENCODER.dimensions

        def _encode(self, texts, progress):
            seen.extend(texts)
            return ENCODER.encode(texts, progress=progress)

    table = run("average", "tfidf", encoder=Counting(), limit=9).table(DATASETS)
    kinds = [draw(DATASETS, limit=9) for draw in (unrelated, alike)]
    needed = {text for kind in kinds for text in (*kind.candidates, *kind.references)}
    assert sorted(seen) == sorted([*needed, "a"]) and table.methods == ["average", "tfidf"]


def test_what_cannot_be_measured_is_left_out_and_told() -> None:
    told: list[str] = []
    poor = SentencePairs("STS12", np.array([1.0, 1.0]), ["red book", "king"], ["river", "pen"], ["", ""])
    table = run("cls", "average", note=told.append).table([poor])
    assert table.methods == ["average"] and {row.dataset for row in table.rows} == {"unrelated", "unrelated 1-8"}
    assert told[0].startswith("left out: cls") and "left out: alike, of which there are no pairs" in told


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_with_a_sentence_of_no_tokens_is_left_out(seed) -> None:
    told: list[str] = []
    odd = SentencePairs("STS12", np.ones(3), ["red", "king", "pen"], ["river", "zzxqv", "book"], [""] * 3)
    drawn = paired(unrelated([odd], seed=seed))
    lost = sum("zzxqv" in pair for pair in drawn)
    table = run("average", seed=seed, note=told.append).table([odd])
    assert table.row("average", "unrelated", "spearman").n == len(drawn) - lost == 6 - lost
    assert f"unrelated: {lost} pairs left out, with a sentence of no known tokens" in told and lost > 0


def test_nothing_to_measure_is_refused() -> None:
    only = SentencePairs("STS12", np.array([1.0]), ["red"], ["blue"], [""])
    with pytest.raises(InputError, match="no pairs to measure"):
        run("average").table([only])
    for options in ({"samples": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(options))):
            run("average", **options).table(DATASETS)


def test_a_run_that_was_interrupted_goes_on_to_the_same_table(tmp_path, monkeypatch) -> None:
    path, told = tmp_path / "out" / "lengths.partial", []
    here = run("average", "subspace+chance", note=told.append)
    whole = run("average", "subspace+chance").table(DATASETS)
    with monkeypatch.context() as patch:
        work = LengthsRun._kind

        def stopped(self, kind, *rest):
            if kind.name == "alike":
                raise KeyboardInterrupt
            return work(self, kind, *rest)

        patch.setattr(LengthsRun, "_kind", stopped)
        with pytest.raises(KeyboardInterrupt), checkpoint(path, here.made_by({})) as parts:
            here.table(DATASETS, parts=parts)
    told.clear()
    other = run("average", "subspace+chance", limit=3).made_by({})
    with pytest.raises(InputError, match="was started with another limit"), checkpoint(path, other, resume=True):
        pass
    with checkpoint(path, here.made_by({}), resume=True) as parts:
        resumed = here.table(DATASETS, parts=parts)
    assert [one.split(":")[0] for one in told if "pairs" in one] == ["alike"]
    assert [replace(row, seconds=None) for row in resumed.rows] == [replace(row, seconds=None) for row in whole.rows]
