"""Comparisons contain the results of the single tests, and text, JSON and LaTeX show the same numbers."""

import json
import re

import numpy as np
import pytest

from softset import __version__
from softset.errors import InputError, NotFiniteError, ShapeError
from softset.evaluation import systems as system_module
from softset.evaluation.compare import SystemResult, compare_scores
from softset.evaluation.significance import Estimate
from softset.evaluation.systems import score_systems
from softset.evaluation.tables import latex_escape
from softset.similarity.scorer import Scorer
from tests.evaluation.test_significance import approximate_randomisation, interval, paired_bootstrap

RNG = np.random.default_rng(11)
BASE = RNG.beta(5, 2, size=120)
SCORES = {
    "base": {"f1": BASE, "recall": BASE**2},
    "same": {"f1": BASE, "recall": BASE**2},
    "better": {"recall": BASE**2 + RNG.normal(0.08, 0.1, 120), "f1": BASE + RNG.normal(0.02, 0.1, 120)},
}
OPTIONS = {"samples": 400, "swaps": 600, "seed": 3}


@pytest.fixture(scope="module")
def compared():
    return compare_scores(SCORES, **OPTIONS, signatures={"f1": "metric:f1|encoder:x"})


@pytest.mark.parametrize("metric", ["f1", "recall"])
@pytest.mark.parametrize("system", SCORES)
def test_results_equal_the_single_tests(compared, system, metric) -> None:
    base, mine, entry = SCORES["base"][metric], SCORES[system][metric], compared[system, metric]
    assert entry.mean[:3] == pytest.approx(interval(mine, samples=400, seed=3)[:3], abs=1e-12)
    if system == "base":
        assert (entry.difference, entry.mean.p, entry.p_randomisation, entry.marks) == (None, None, None, "")
    else:
        assert entry.difference == pytest.approx(np.mean(mine - base), abs=1e-12)
        assert entry.mean.p == paired_bootstrap(base, mine, samples=400, seed=3)
        assert entry.p_randomisation == approximate_randomisation(base, mine, samples=600, seed=3)


def test_first_system_is_the_baseline(compared) -> None:
    assert compared.baseline == "base" and compared.systems == ("base", "same", "better")
    assert compared.metrics == ("f1", "recall") and compared.segments == 120
    signature = f"bootstrap:400|randomisation:600|confidence:0.95|seed:3|segments:120|softset:{__version__}"
    assert compared.signature == signature
    assert compared == compare_scores(SCORES, **OPTIONS, signatures={"f1": "metric:f1|encoder:x"})
    assert compared != compare_scores(SCORES, samples=400, swaps=600, seed=4)


@pytest.mark.parametrize(
    ("bootstrap", "randomisation", "marks"),
    [(0.009, 0.009, "**"), (0.009, 0.01, "*"), (0.01, 0.049, "*"), (0.001, 0.05, ""), (0.05, 0.001, ""), (1, 1, "")],
)
def test_star_needs_both_tests(bootstrap, randomisation, marks) -> None:
    assert SystemResult(Estimate(0, 0, 0, bootstrap), 0.1, randomisation).marks == marks


def test_text_is_aligned_and_has_a_legend(compared) -> None:
    lines = str(compared).splitlines()
    assert lines[0] == "f1" and lines[5] == "" and lines[6] == "recall" and lines[1] == lines[7]
    header, base, same, better = lines[7:11]
    assert header.split("  ")[0] == "system" and "95% interval" in header
    entry = compared["better", "recall"]
    shown = f"{entry.mean.value:.4f}  {entry.mean.low:.4f} to {entry.mean.high:.4f}  {entry.difference:+.4f} **"
    assert shown in better and better.startswith("better  ") and better.endswith(f"{entry.p_randomisation:.4f}")
    assert len(base.split()) == 5 and same.split()[5:] == ["+0.0000", "1.0000", "1.0000"]
    for title in ("mean", "p bootstrap", "p randomisation"):
        end = header.index(title) + len(title)
        assert better[end - 6 : end].strip() and better[end : end + 1] in ("", " ")
    assert lines[-2] == "Differences to base over 120 segments; * both p < 0.05, ** both p < 0.01."
    assert lines[-1].startswith("Paired bootstrap with 400 samples, approximate randomisation with 600 swaps, seed 3; ")
    assert lines[-1].endswith("p values are not corrected for the 4 comparisons.")


def test_wide_characters_are_aligned_and_control_characters_replaced() -> None:
    names = ["\x1b[31mred\nline", "日本語", "e\u0301te\u0301", "plain"]
    text = str(compare_scores({name: {"f1": [0.25, 0.75]} for name in names}, samples=9, swaps=9))
    assert "\x1b" not in text and "\ufffd[31mred\ufffdline" in text
    lines = {line.split()[0]: line for line in text.splitlines()[1:6]}
    column = lines["plain"].index("0.5000")
    assert lines["日本語"].index("0.5000") == column - 3 and lines["e\u0301te\u0301"].index("0.5000") == column + 2


def test_small_p_values_are_not_shown_as_zero() -> None:
    entry = compare_scores({"a": {"f1": np.zeros(40)}, "b": {"f1": np.arange(40) + 1.0}}, samples=99_999, swaps=99_999)
    line = str(entry).splitlines()[3]
    assert line.split()[-2:] == ["<0.0001", "<0.0001"] and "**" in line
    assert r"& \textless{}0.0001 & \textless{}0.0001 \\" in entry.to_latex()


def test_json_contains_everything(compared) -> None:
    read = json.loads(compared.to_json())
    assert "\n" not in compared.to_json() and compared.to_json().isascii()
    results = read.pop("results")
    assert read == {
        "signature": compared.signature,
        "signatures": {"f1": "metric:f1|encoder:x"},
        "baseline": "base",
        "segments": 120,
        "samples": 400,
        "swaps": 600,
        "seed": 3,
        "confidence": 0.95,
    }
    keys = [(row["system"], row["metric"]) for row in results]
    assert keys == [(system, metric) for metric in ("f1", "recall") for system in SCORES]
    for key, row in zip(keys, results, strict=True):
        entry = compared[key]
        assert (row["mean"], row["low"], row["high"]) == entry.mean[:3]
        assert [row[name] for name in ("difference", "p_bootstrap", "p_randomisation")] == [
            entry.difference,
            entry.mean.p,
            entry.p_randomisation,
        ]


def test_latex_has_a_row_per_system_and_a_rule_per_metric(compared) -> None:
    lines = compared.to_latex().splitlines()
    assert lines[:2] == [f"% {compared.signature}", "% metric:f1|encoder:x"]
    inner = lines[lines.index(r"\begin{tabular}{llrrlrr}") + 1 : lines.index(r"\end{tabular}")]
    assert inner[0] == r"\toprule" and inner[-1] == r"\bottomrule" and inner.count(r"\midrule") == 2
    rows = [line for line in inner if line.endswith(r"\\")]
    assert len(rows) == 1 + 2 * 3 and all(row.count("&") == 6 for row in rows)
    entry = compared["better", "recall"]
    assert (
        rows[-1].startswith(f"& better & {entry.mean.value:.4f} & ") and f"${entry.difference:+.4f}^{{**}}$" in rows[-1]
    )
    assert all(line.startswith("%") for line in lines[lines.index(r"\end{tabular}") + 1 :])


def test_latex_escapes_special_characters() -> None:
    name = r"a_b & 50% #1 $x$ {y} ~z ^2 \n <w> |v| [u]"
    latex = compare_scores({name: {name: [1.0]}, "other": {name: [1.0]}}, samples=1, swaps=1).to_latex()
    row = next(line for line in latex.splitlines() if "other" not in line and "a\\_b" in line)
    first, second, *_ = re.split(r"(?<!\\)&", row)
    assert first.strip() == second.strip() == latex_escape(name)
    assert not re.search(r"(?<!\\)[&%#$_~^|<>]", latex_escape(name))


@pytest.mark.parametrize(
    ("scores", "error", "sentence"),
    [
        ({}, InputError, "a comparison needs a baseline and at least one other system, but 0 were given"),
        ({"a": {}, "b": {}}, InputError, "all systems need the same metrics, at least one, but a has none; b has none"),
        ({"a": {"f1": [1.0]}, "b": {"f2": [1.0]}}, InputError, "at least one, but a has f1; b has f2"),
        (
            {"a": {"f": [1], "g": [1, 2]}, "b": {"f": [1], "g": [1, 2]}},
            ShapeError,
            "lists of numbers of the same length",
        ),
        ({"a": {"f1": [1.0]}, "b": {"f1": [1.0, 2.0]}}, ShapeError, "lists of numbers of the same length"),
        ({"a": {"f1": []}, "b": {"f1": []}}, ShapeError, "give one number per segment"),
        ({"a": {"f1": [[1.0]]}, "b": {"f1": [[1.0]]}}, ShapeError, "give one number per segment"),
        ({"a": {"f1": ["x"]}, "b": {"f1": [1.0]}}, ShapeError, "give one number per segment"),
        ({"a": {"f1": [1.0]}, "b": {"f1": [np.nan]}}, NotFiniteError, "f1 scores of b contain nan at segment 0"),
    ],
)
def test_inconsistent_scores_raise_one_sentence(scores, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        compare_scores(scores)


def test_invalid_swaps_are_refused() -> None:
    with pytest.raises(InputError, match="swaps is 0: give a whole number from 1 to"):
        compare_scores(SCORES, swaps=0)


TEXTS = {"a": ["red", "a blue pen", ""], "b": ["book", "a green pen", "rain"]}
REFERENCES = [["red book", "blue pens", "rain falls"], ["a book", "pens", "it rains"]]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer("words")


@pytest.mark.parametrize("block", [1, 2, 512])
@pytest.mark.parametrize("part", ["score", "precision", "recall"])
@pytest.mark.parametrize("count", [1, 2])
def test_block_size_does_not_change_scores(monkeypatch, scorer, block, part, count) -> None:
    monkeypatch.setattr(system_module, "SEGMENTS_PER_BLOCK", block)
    scorers = [scorer, scorer.with_options(metric="tfidf")]
    reported: list[tuple[int, int]] = []
    lists = REFERENCES[0] if count == 1 else [list(texts) for texts in zip(*REFERENCES[:count], strict=True)]
    scores, signatures, _ = score_systems(
        scorers, TEXTS, lists, part=part, progress=lambda *numbers: reported.append(numbers)
    )
    assert reported[-1] == (3, 3) and sorted(reported) == reported and len(reported) >= -(-3 // block)
    for metric_scorer in scorers:
        name = f"{metric_scorer.metric} {part}"
        for system, texts in TEXTS.items():
            expected = metric_scorer.score(texts, lists)
            assert np.allclose(scores[system][name], getattr(expected, part), atol=1e-6)
            assert signatures[name] == expected.signature


def test_rescaling_is_kept_when_idf_is_added(scorer) -> None:
    rescaled = Scorer("words", metric="subspace(weights=idf)", rescale="chance")
    scores, signatures, _ = score_systems([rescaled], TEXTS, REFERENCES[0])
    name = "subspace(weights=idf) score"
    assert np.allclose(scores["b"][name], rescaled.score(TEXTS["b"], REFERENCES[0]).score, atol=1e-6)
    assert "rescale:chance" in signatures[name]


def test_systems_with_missing_texts_are_refused(scorer) -> None:
    for scorers, references, sentence in (
        ([], REFERENCES[0], "give at least one metric"),
        ([scorer], [], "in the system a, there are 3 candidates but 0 references"),
        ([scorer], ["x", "y"], "in the system a, there are 3 candidates but 2 references"),
    ):
        with pytest.raises(InputError, match=sentence):
            score_systems(scorers, TEXTS, references)
