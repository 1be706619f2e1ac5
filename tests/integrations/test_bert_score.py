"""The bert_score interface with the bundled model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softset
from softset.encoders.signature import parse_signature
from softset.errors import FileError, InputError
from softset.integrations.bert_score import BERTScore, BERTScorer, compute, plot_example, score
from softset.integrations.bert_score_arguments import model_for, tuned_layer

A = ["A red book.", "Dogs bark at night.", "It rains.", "A pen \u4f60 \U0001f600"]
B = ["The book is red.", "At night dogs are loud.", "The train was late.", "A pencil \u597d"]


@pytest.fixture(scope="module")
def scorer() -> BERTScorer:
    return BERTScorer(num_layers=4)


def test_results_are_in_the_order_of_the_pairs(scorer: BERTScorer) -> None:
    P, R, F = scorer.score(A, B)
    assert P.shape == R.shape == F.shape == (4,) and pytest.approx(2 * P * R / (P + R)) == F
    for index in range(4):
        alone = scorer.score(A[index : index + 1], B[index : index + 1], batch_size=1)
        assert np.allclose(alone, [[values[index]] for values in (P, R, F)], atol=1e-5)
    turned = scorer.score(A[::-1], B[::-1])
    assert np.allclose([values[::-1] for values in turned], [P, R, F], atol=1e-5)
    swapped = scorer.score(B, A)
    assert np.allclose(swapped, [R, P, F], atol=1e-5), "precision of one is recall of the other"


@pytest.mark.parametrize("kind", [tuple, np.array, iter])
def test_any_container_of_texts(scorer: BERTScorer, kind: Any) -> None:
    assert np.array_equal(scorer.score(kind(A), kind(B)), scorer.score(A, B))


def test_function_equals_scorer(scorer: BERTScorer) -> None:
    assert np.array_equal(score(A, B, num_layers=4), scorer.score(A, B))
    positional = score(A, B, "minilm", 4, False, False, "cpu", 8, 0, False, "en", True, False, None, True, "bertscore")
    assert np.array_equal(positional[0], scorer.score(A, B)) and positional[1] == scorer.hash


@pytest.mark.parametrize("metric", ["bertscore", "softset", "subspace", "subspace(weights=l2)", "average"])
def test_all_layers_are_rows(metric: str) -> None:
    rows = score(A, B, all_layers=True, metric=metric)
    assert [values.shape for values in rows] == [(7, 4)] * 3
    for layer in (0, 5):
        assert np.allclose([values[layer] for values in rows], score(A, B, num_layers=layer, metric=metric), atol=1e-5)
    assert [values.shape for values in score(A, B, "words", all_layers=True)] == [(1, 4)] * 3


def test_other_metrics_equal_softset() -> None:
    for metric in ("softset", "subspace", "subspace(weights=l2)", "symbolic", "dynamax"):
        ours = softset.score(A, B, metric=metric)
        assert np.allclose(score(A, B, metric=metric), [ours.precision, ours.recall, ours.score], atol=1e-6)
    weighed = softset.score(A, B, metric="subspace(weights=idf)")
    assert np.allclose(score(A, B, idf=True, metric="subspace")[2], weighed.score, atol=1e-6)


def test_best_reference_keeps_its_precision_and_recall(scorer: BERTScorer) -> None:
    several = [[B[(index + 1) % 4], B[index], B[(index + 2) % 4]] for index in range(4)]
    each = np.array([scorer.score(A, [group[k] for group in several]) for k in range(3)])
    best = each[:, 2].argmax(axis=0)
    assert np.allclose(scorer.score(A, several), each[best, :, np.arange(4)].T, atol=1e-5)
    assert np.allclose(scorer.score(A, [[text] for text in B]), scorer.score(A, B), atol=1e-6)
    rows = score(A, several, all_layers=True)
    assert np.allclose([values[4] for values in rows], scorer.score(A, several), atol=1e-5)


def test_empty_texts(scorer: BERTScorer) -> None:
    P, R, F = scorer.score(["", "a", " \n", "\u4f60"], ["  ", "", "a", "\u597d"])
    for values in (P, R, F):
        assert values == pytest.approx([1, 0, 0, 1]), "an unknown token is a token"
    assert [values.shape for values in scorer.score([], [])] == [(0,)] * 3


# Weights


def test_idf_is_fitted_on_references_by_default() -> None:
    own, given_later = BERTScorer(idf=True), BERTScorer(idf=True, idf_sents=A)
    of_references = own.score(A, B)
    assert np.allclose(of_references, BERTScorer(idf=True, idf_sents=B).score(A, B))
    assert not np.allclose(of_references, given_later.score(A, B))
    given_later.compute_idf(B)
    assert np.allclose(of_references, given_later.score(A, B))
    assert not np.allclose(of_references, score(A, B))
    grouped = [[text, A[0]] for text in B]
    flat = [text for group in grouped for text in group]
    assert np.allclose(own.score(A, grouped), BERTScorer(idf=True, idf_sents=flat).score(A, grouped))


def test_calls_are_independent() -> None:
    scorer = BERTScorer(idf=True)
    before = scorer.score(A[:2], B[:2])
    scorer.score(A, B)
    assert np.array_equal(scorer.score(A[:2], B[:2]), before)
    expected = compute(predictions=A[:2], references=B[:2], idf=True)
    compute(predictions=A, references=B, idf=True)
    assert compute(predictions=A[:2], references=B[:2], idf=True) == expected


def test_tokens_have_equal_weights_if_all_idf_weights_are_0() -> None:
    """One reference has every token in every text, so that all weights of it are 0; bert_score gives NaN."""
    weighed, plain = score(A[:1], B[:1], idf=True), score(A[:1], B[:1])
    assert weighed[1] == pytest.approx(plain[1]) and np.isfinite(weighed).all()
    assert score(["red"], ["red"], idf=True)[2] == pytest.approx([1.0])


def test_idf_without_texts() -> None:
    assert [values.shape for values in score([], [], idf=True)] == [(0,)] * 3
    with pytest.raises(InputError, match="idf needs at least one text"):
        BERTScorer(idf=True, idf_sents=[])


def test_idf_object() -> None:
    idf = softset.Idf.fit(B)
    scorer = BERTScorer(idf=idf)
    assert scorer.idf is True
    assert np.allclose(scorer.score(A[:3], B[:3]), BERTScorer(idf=True, idf_sents=B).score(A[:3], B[:3]))
    for options, sentence in (
        ({"idf": {101: 0.5}}, "idf is of type dict, but True, False or softset.Idf"),
        ({"idf": True, "metric": "wmd"}, "wmd has no idf weights"),
        ({"idf": True, "metric": "subspace(weights=l2)"}, "leave out idf"),
    ):
        with pytest.raises(InputError, match=sentence):
            BERTScorer(**options)


# Rescaling


def test_baseline_file_is_applied_by_layer(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    rows = [(layer, 0.1 + layer / 20, 0.2, 0.15) for layer in range(7)]
    path.write_text("LAYER,P,R,F\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    raw, levels = np.array(score(A, B, all_layers=True)), np.array(rows)[:, 1:].T[:, :, None]
    everywhere = score(A, B, all_layers=True, rescale_with_baseline=True, baseline_path=path)
    assert np.allclose(everywhere, (raw - levels) / (1 - levels))
    scorer = BERTScorer(num_layers=4, rescale_with_baseline=True, baseline_path=str(path))
    assert np.allclose(scorer.score(A, B), (raw - levels)[:, 4] / (1 - levels)[:, 4], atol=1e-5)
    assert parse_signature(scorer.signature)["rescale"] == "baseline(0.3,0.2,0.15)"
    assert np.array_equal(score(A, B, baseline_path=path), score(A, B)), "a path alone rescales nothing"
    assert [values[0] for values in scorer.score([""], ["a"])] == [0, 0, 0]
    path.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n")
    with pytest.raises(FileError, match="no row for layer 6"):
        score(A, B, rescale_with_baseline=True, baseline_path=path)


def test_bundled_model_has_baselines() -> None:
    """Identical texts keep their 1, and unrelated ones come nearer to 0, at every layer."""
    texts, others = ["The cat sleeps.", "Bach wrote fugues."], ["Rain falls in the north.", "He owes me money."]
    for layer in (0, 3, 6):
        assert np.allclose(score(A, A, num_layers=layer, rescale_with_baseline=True)[2], 1)
        before = score(texts, others, num_layers=layer)[2]
        after = score(texts, others, num_layers=layer, rescale_with_baseline=True)[2]
        assert (after < before).all() and (np.abs(after) < np.abs(before) + 0.1).all() and (after < 0.4).all()


def test_only_subspace_has_a_closed_form() -> None:
    ours = softset.score(A, B, metric="subspace", rescale="chance")
    assert np.allclose(score(A, B, metric="subspace", rescale_with_baseline=True)[2], ours.score, atol=1e-6)
    for metric in ("softset", "average", "johnson", "wmd"):
        with pytest.raises(InputError, match=r"baseline_path=.*softset\.Calibration"):
            score(A, B, metric=metric, rescale_with_baseline=True)
    with pytest.raises(InputError, match=r"softset\.Calibration"):
        score(A, B, lambda texts: [[[1.0, 2.0]]] * len(texts), metric="subspace", rescale_with_baseline=True)


# What made the numbers


@pytest.mark.parametrize(
    ("options", "hashed"),
    [
        ({}, "minilm_L6_no-idf_version=V"),
        ({"num_layers": -2, "idf": True}, "minilm_L5_idf_version=V"),
        ({"metric": "bertscore(weights=l2)"}, "minilm_L6_no-idf_version=V_metric=bertscore(weights=l2)"),
        ({"metric": "subspace", "idf": True}, "minilm_L6_idf_version=V_metric=subspace(weights=idf)"),
        ({"metric": "subspace", "rescale_with_baseline": True}, "minilm_L6_no-idf_version=V_metric=subspace-rescaled"),
        ({"all_layers": True}, "minilm_all-layers_no-idf_version=V"),
        ({"model_type": "words"}, "words_no-idf_version=V"),
    ],
)
def test_hash_names_the_settings(options: dict[str, Any], hashed: str) -> None:
    expected = hashed.replace("V", f"softset-{softset.__version__}")
    scorer = BERTScorer(**options)
    assert scorer.hash == expected and scorer.score(A, B, return_hash=True)[1] == expected


def test_hash_of_a_custom_baseline(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("LAYER,P,R,F\n6,0.1,0.1,0.1\n")
    scorer = BERTScorer(rescale_with_baseline=True, baseline_path=tmp_path / "mine.tsv")
    assert scorer.hash.endswith("-custom-rescaled") and scorer.rescale_with_baseline


def test_properties_return_the_arguments() -> None:
    scorer = BERTScorer(lang="en", idf=True, metric="subspace")
    assert (scorer.lang, scorer.model_type, scorer.num_layers, scorer.idf) == ("en", "minilm", 6, True)
    assert scorer.rescale_with_baseline is False and scorer.signature == ""
    assert repr(scorer) == "BERTScorer(model_type='minilm', num_layers=None, metric=subspace(weights=idf))"
    scorer.score(A, B)
    assert parse_signature(scorer.signature)["metric"] == "subspace(weights=idf)"
    every = BERTScorer(all_layers=True)
    every.score(A, B)
    facts = [parse_signature(line) for line in every.signature.split("\n")]
    assert [line["layer"] for line in facts] == list("0123456") and {line["special"] for line in facts} == {"matched"}


def test_models_and_layers_by_language_and_name() -> None:
    assert [model_for(lang) for lang in ("EN", "en-sci", "de", "tr")] == [
        "minilm",
        "minilm",
        "bert-base-multilingual-cased",
        "dbmdz/bert-base-turkish-cased",
    ]
    assert BERTScorer("roberta-large").num_layers == 17 and BERTScorer("roberta-large", 3).num_layers == 3
    assert tuned_layer("google-bert/bert-base-uncased") == 9 and tuned_layer("somebody/bert-base-uncased") is None
    assert tuned_layer(Path("roberta-large")) is None
    encoder = softset.load_encoder("minilm", layer=4)
    assert np.array_equal(score(A, B, encoder), score(A, B, num_layers=4))
    assert BERTScorer(encoder).hash.startswith("ContextualEncoder_L4_")


# The other two packages


def test_compute_has_the_format_of_evaluate() -> None:
    (P, R, F), hashed = score(A, B, num_layers=4, return_hash=True)
    expected = {"precision": P.tolist(), "recall": R.tolist(), "f1": F.tolist(), "hashcode": hashed}
    assert compute(predictions=A, references=B, num_layers=4) == expected
    assert compute(predictions=A, references=[[text] for text in B], num_layers=4) == expected


def test_batches_are_scored_in_order(scorer: BERTScorer) -> None:
    """Torchmetrics' own gives each pair another one's scores when lengths differ."""
    random = np.random.default_rng(0)
    words = "red blue book pen dog cat rain train night".split()
    texts = [" ".join(random.choice(words, size=int(random.integers(1, 30)))) for _ in range(24)]
    metric = BERTScore(num_layers=4)
    for start in range(0, 12, 5):
        candidates, there = texts[start : min(start + 5, 12)], texts[12 + start : min(start + 17, 24)]
        forward = metric(candidates, there) if start else metric.forward(candidates, there)
        assert np.allclose(list(forward.values()), scorer.score(candidates, there), atol=1e-5), "of this batch only"
    scores = metric.compute()
    assert list(scores) == ["precision", "recall", "f1"]
    assert np.allclose(list(scores.values()), scorer.score(texts[:12], texts[12:]), atol=1e-5)
    metric.reset()
    metric.update(A[0], B[0])
    metric.update(A[1:3], [[B[1], "no"], ["no", B[2]]])
    assert metric.compute()["f1"] == pytest.approx(scorer.score(A[:3], B[:3])[2], abs=1e-5)
    metric.reset()
    assert [values.shape for values in metric.compute().values()] == [(0,)] * 3


def test_invalid_batch_changes_nothing() -> None:
    metric = BERTScore(return_hash=True)
    metric.update(A, B)
    for preds, target in ((A, B[:2]), (["a", None], ["b", "c"]), ("a", None)):
        with pytest.raises(InputError):
            metric.update(preds, target)
    scores = metric.compute()
    assert scores["f1"].shape == (4,) and scores["hash"].startswith("minilm_L6_no-idf_")


# What is seen


def test_verbose_prints_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    score(A, B)
    assert capsys.readouterr() == ("", "")
    score(A, B, verbose=True)
    out, err = capsys.readouterr()
    assert out == "" and "4/4 pairs" in err and err.rstrip().endswith("seconds")


def test_plot_example_has_the_same_numbers(scorer: BERTScorer) -> None:
    text = " A red \u4f60. "
    view = scorer.plot_example(text, B[0]).views[0]
    assert (view.precision, view.recall, view.score) == pytest.approx(
        [float(values[0]) for values in scorer.score([text], B[:1])], abs=1e-5
    )
    explanation = plot_example(text, B[0], "minilm", 4)
    assert explanation.candidate.tokens == ("[CLS]", "a", "red", "[UNK]", ".", "[SEP]")
    assert explanation.views[0].candidate_weights.tolist() == pytest.approx([0, 0.25, 0.25, 0.25, 0.25, 0])
    assert plot_example("a pen", "a red pen", metric="subspace").candidate.tokens == ("a", "pen")


def test_plot_example_writes_a_png(scorer: BERTScorer, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scorer.plot_example(A[0], B[0], str(tmp_path / "example.png"))
    assert (tmp_path / "example.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("cands", "refs", "sentence"),
    [
        (["a"], ["b", "c"], "there is 1 candidate but 2 references"),
        (["a", None], ["b", "c"], "candidate 1 is None"),
        (["a", "b"], ["c", b"d"], "reference 1 is of type bytes"),
        (["a", 3], ["c", "d"], "candidate 1 is of type int"),
        (["a"], [["b", 3]], "a reference of candidate 0 is of type int"),
        (["a", "b"], [["c"], []], "candidate 1 has no reference"),
        ("abc", ["a"], "a list of candidates was expected, but one str"),
        (["a"], None, "a list of references was expected, but NoneType"),
        ([[[1.0, 2.0]]], ["a"], "vectors were given"),
    ],
)
def test_bad_texts_give_one_sentence_with_the_row(scorer: BERTScorer, cands: Any, refs: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        scorer.score(cands, refs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"nthreads": -1}, "nthreads is -1"),
        ({"lang": 3}, "lang is 3"),
        ({"lang": " "}, "lang is ' '"),
        ({"num_layers": 9}, "the model has layers 0 to 6"),
        ({"device": "cuda"}, "no option device"),
        ({"metric": "bertscores"}, "there is no metric 'bertscores'"),
    ],
)
def test_bad_options_give_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        score(A, B, **options)
