"""`softset compare`: results, options and error messages."""

import inspect
import json
from pathlib import Path

import pytest

from softset.cli.compare import compare as command
from softset.evaluation import systems as system_module
from softset.evaluation.compare import compare_scores
from softset.evaluation.systems import compare
from softset.similarity.idf import Idf
from softset.similarity.scorer import Scorer

REFERENCES = ["The cat sat on the mat.", "A red book.", "It rains in May.", "", "Dogs bark at night.", "She sings."]
OTHERS = ["A cat was sitting there.", "One red volume.", "May is rainy.", "", "At night, dogs bark.", "She is singing."]
BASELINE = ["A dog sat.", "Some blue pen.", "The sun shines.", "", "Cats sleep.", "They dance."]
BETTER = ["The cat sat on a mat.", "A red book.", "It rains in June.", "", "Dogs bark at night.", "She sings."]


@pytest.fixture(autouse=True)
def files(home) -> None:
    for name, lines in (("r.txt", REFERENCES), ("r2.txt", OTHERS), ("a.txt", BASELINE), ("b.txt", BETTER)):
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("short.txt").write_text("one\ntwo\n")
    Path("empty.txt").write_bytes(b"")


def test_output_equals_the_python_result(run) -> None:
    code, out, err = run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words")
    scorer = Scorer("words", metric="softset")
    results = {name: scorer.score(texts, REFERENCES) for name, texts in (("a.txt", BASELINE), ("b.txt", BETTER))}
    expected = compare_scores({name: {"softset score": row.score} for name, row in results.items()})
    assert code == 0 and out == f"{expected}\n"
    assert err.splitlines()[0] == f"softset: {results['a.txt'].signature}"


@pytest.mark.parametrize("part", ["score", "precision", "recall"])
def test_json_with_several_metrics_systems_and_references(run, part) -> None:
    metrics = ("subspace(weights=l2)", "bertscore")
    code, out, err = run(
        *"compare -r r.txt -r r2.txt b.txt a.txt r.txt --layer 2 --samples 50 --swaps 60 --seed 7 --json".split(),
        *("--metric", metrics[0], "--metric", metrics[1], "--score", part, "--confidence", "0.9"),
    )
    read = json.loads(out)
    assert code == 0 and read["baseline"] == "b.txt"
    assert [read[key] for key in ("samples", "swaps", "seed", "confidence", "segments")] == [50, 60, 7, 0.9, 6]
    assert err.splitlines()[: len(read["signatures"])] == [
        f"softset: {signature}" for signature in read["signatures"].values()
    ]
    places = {(row["metric"], row["system"]): row for row in read["results"]}
    assert len(places) == len(read["results"]) == 6
    streams = [list(references) for references in zip(REFERENCES, OTHERS, strict=True)]
    for metric in metrics:
        scorer = Scorer("minilm", metric=metric, layer=2)
        for system, texts in (("a.txt", BASELINE), ("b.txt", BETTER), ("r.txt", REFERENCES)):
            scores = scorer.score(texts, streams)
            row = places[f"{metric} {part}", system]
            assert row["mean"] == pytest.approx(getattr(scores, part).mean(), abs=1e-5)
            assert read["signatures"][f"{metric} {part}"] == scores.signature
        assert places[f"{metric} {part}", "b.txt"]["difference"] is None
        assert places[f"{metric} {part}", "a.txt"]["difference"] < 0
        assert places[f"{metric} {part}", "r.txt"]["mean"] == pytest.approx(1)


def test_latex(run) -> None:
    Path("x_&.txt").write_text(Path("b.txt").read_text())
    code, out, _ = run("compare", "-r", "r.txt", "a.txt", "x_&.txt", "--model", "words", "--latex")
    assert code == 0 and r"\toprule" in out and r"& x\_\&.txt & " in out and out.startswith("% bootstrap:1000|")


def test_standard_input_as_system_or_references(run, monkeypatch) -> None:
    import io
    import sys

    def set_stdin(name: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes()), encoding="utf-8"))

    plain = run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words", "--json")
    set_stdin("r.txt")
    assert run("compare", "-r", "-", "a.txt", "b.txt", "--model", "words", "--json") == plain
    set_stdin("b.txt")
    code, out, _ = run("compare", "-r", "r.txt", "a.txt", "-", "--model", "words", "--json")
    assert code == 0 and out == plain[1].replace('"b.txt"', '"-"')


def test_repeated_metric_is_shown_once(run) -> None:
    several = ("--metric", "softset", "--metric", "softset(weights=rare, ridge=1)")
    once = run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words")
    assert run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words", *several) == once


@pytest.mark.parametrize("metric", ["softset", "subspace", "bertscore(weights=idf)", "tfidf"])
def test_block_size_does_not_change_results(run, monkeypatch, metric) -> None:
    asked = ("compare", "-r", "r.txt", "-r", "r2.txt", "a.txt", "b.txt", "--model", "words", "--metric", metric)
    code, out, err = run(*asked)
    monkeypatch.setattr(system_module, "SEGMENTS_PER_BLOCK", 4)
    assert run(*asked) == (code, out, err) and code == 0


def test_metric_options_reach_the_scorer(run) -> None:
    Idf.fit(["a red book", "a pen"], model="words").save("idf.json")
    asked = ("compare", "-r", "r.txt", "-r", "r2.txt", "a.txt", "b.txt", "--layer", "2", "--json", "--samples", "9")
    rescaled = run(*asked, "--metric", "subspace", "--rescale", "chance", "--multi-reference", "union")[1]
    signatures = json.loads(rescaled)["signatures"]
    assert "|rescale:chance|multi_reference:union|" in signatures["subspace score"]
    several = ("--model", "words", "--metric", "bertscore(weights=idf)", "--idf", "idf.json")
    output = run("compare", "-r", "r.txt", "a.txt", "b.txt", *several)
    assert output[0] == 0 and f"|idf:{Idf.load('idf.json').checksum}|" in output[2]
    assert run("compare", "-r", "r.txt", "a.txt", "b.txt", *several[:-2])[1] != output[1]
    options = ("--metric", "bertscore", "--metric", "average", "--idf", "idf.json")
    code, out, err = run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words", *options)
    assert code == 2 and not out and "idf has no effect on bertscore, average: use a metric with weights=idf" in err


def test_each_text_is_encoded_once(run, monkeypatch) -> None:
    seen: list[str] = []
    encode = Scorer.encode

    def counting(self, texts, **options):
        seen.extend(texts)
        return encode(self, texts, **options)

    monkeypatch.setattr(Scorer, "encode", counting)
    metrics = ("--metric", "subspace", "--metric", "bertscore", "--metric", "average")
    assert run("compare", "-r", "r.txt", "a.txt", "b.txt", "--model", "words", *metrics)[0] == 0
    assert sorted(seen) == sorted([*REFERENCES, *BASELINE, *BETTER])


def test_defaults_equal_those_of_python() -> None:
    arguments = inspect.signature(compare).parameters
    options = command.make_context("compare", ["-r", "r", "a", "b"]).params
    for name in ("samples", "swaps", "seed", "confidence"):
        assert options[name] == arguments[name].default
    assert options["part"] == arguments["score"].default
    assert options["metrics"] == (str(inspect.signature(Scorer).parameters["metric"].default),)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("-r r.txt", "0 systems given: name the files of the baseline"),
        ("-r r.txt a.txt", "1 system given: name the files of the baseline"),
        ("a.txt b.txt", "Missing option '-r'"),
        ("-r r.txt a.txt b.txt a.txt", "a.txt is given twice: name each system once"),
        ("-r r.txt a.txt absent.txt", "absent.txt: No such file"),
        ("-r absent.txt a.txt b.txt", "absent.txt: No such file"),
        ("-r r.txt a.txt .", "Is a directory"),
        ("-r r.txt a.txt short.txt", "r.txt has 6, a.txt has 6, short.txt has 2"),
        ("-r short.txt a.txt b.txt", "short.txt has 2, a.txt has 6, b.txt has 6"),
        ("-r r.txt -r short.txt a.txt b.txt", "r.txt has 6, short.txt has 2, a.txt has 6"),
        ("-r r.txt a.txt empty.txt", "empty.txt is empty: one text per line is expected"),
        ("-r empty.txt empty.txt a.txt", "empty.txt is empty"),
        ("-r - a.txt -", "standard input can be read only once"),
        ("-r r.txt a.txt b.txt --json --latex", "give --json or --latex, not both"),
        ("-r r.txt a.txt b.txt --samples 0", "0 is not in the range"),
        ("-r r.txt a.txt b.txt --swaps 2000000", "swaps is 2000000: give a whole number from 1"),
        ("-r r.txt a.txt b.txt --seed -1", "-1 is not in the range"),
        ("-r r.txt a.txt b.txt --confidence 95", "95.0 is not in the range 0<x<1"),
        ("-r r.txt a.txt b.txt --score f2", "'f2' is not one of"),
        ("-r r.txt a.txt b.txt --metric bleu", "there is no metric 'bleu'"),
        ("-r r.txt a.txt b.txt --metric subspace --metric bleu", "there is no metric 'bleu'"),
        ("-r r.txt a.txt b.txt --metric bertscore --rescale chance", "bertscore has no closed form"),
        ("-r r.txt a.txt b.txt --rescale absent.json", "absent.json: No such file"),
        ("-r r.txt a.txt b.txt --idf r.txt", "r.txt"),
        ("-r r.txt a.txt b.txt --layer 99", "the model has layers 0 to 6"),
        ("-r r.txt a.txt b.txt --model nowhere", "nowhere"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(run, arguments, sentence) -> None:
    code, out, err = run("compare", *arguments.split())
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1 and err.startswith("softset: ")
    assert "Traceback" not in err and "unexpected" not in err


def test_help_has_examples(run) -> None:
    code, out, _ = run("compare", "--help")
    assert code == 0 and "softset compare -r refs.txt baseline.txt new.txt" in out
    for option in ("--metric", "--score", "--samples", "--swaps", "--seed", "--latex", "--multi-reference", "--model"):
        assert option in out
