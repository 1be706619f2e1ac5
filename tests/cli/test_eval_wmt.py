"""`softset eval wmt`: output formats, resuming and error messages."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import softset
from softset.evaluation.data import DataFolder
from softset.evaluation.metric_evaluation import ScoringMethod
from softset.evaluation.tables import ResultTable
from softset.evaluation.translations import TranslationEvaluation, all_parts, read_pair
from tests.evaluation.translation_cases import real_data, write_pair

QUICK = ("--model", "words", "--metric", "bertscore", "--metric", "softset,average", "--samples", "40")


@pytest.fixture(autouse=True)
def _without_sacrebleu(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)


@pytest.fixture
def data(home: Path) -> Path:
    for name in ("cs-en", "tr-en"):
        write_pair(home / "data", name)
    return home / "data"


def numbers(rows) -> list[tuple[object, ...]]:
    """Return the rows as JSON or a table has them."""
    plain_rows = [row if isinstance(row, dict) else asdict(row) for row in rows]
    return [tuple(row.values()) for row in plain_rows]


def test_table_equals_the_python_result(run, data) -> None:
    code, out, err = run("eval", "wmt", "--data", str(data), "--pair", "all", *QUICK, "--json")
    methods = all_parts(map(ScoringMethod.parse, ["bertscore", "softset", "average"]))
    run_by_hand = TranslationEvaluation(softset.load_encoder("words"), methods, samples=40)
    expected = run_by_hand.table([read_pair(DataFolder(data), name) for name in ("cs-en", "tr-en")])
    assert code == 0 and numbers(json.loads(out)) == numbers(expected.rows)
    assert "softset: tr-en: 6 judgements of 3 segments in" in err
    assert "softset: left out: sacrebleu chrF (chrF needs sacrebleu: pip install sacrebleu)" in err
    code, out, _ = run("eval", "wmt", "--data", str(data), "--pair", "all", *QUICK)
    assert code == 0 and out.splitlines()[1].split() == ["method", "cs-en", "tr-en", "Avg"]
    assert "softset (default)" in out and "softset P" in out and out.count("(default)") == 1


def test_data_folder_from_the_environment(run, data, monkeypatch) -> None:
    monkeypatch.setenv("SOFTSET_DATA", str(data))
    code, out, _ = run("eval", "wmt", "--pair", "cs-en", "--limit", "1", *QUICK, "--json")
    assert code == 0 and {row["n"] for row in json.loads(out)} == {3}


def test_out_contains_only_the_table(run, data, home) -> None:
    code, _, err = run("eval", "wmt", "--data", str(data), "--pair", "cs-en", *QUICK, "--out", "kept", "--seed", "3")
    assert code == 0 and "wrote kept/wmt.json" in err
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["wmt.json", "wmt.md"]
    table = ResultTable.load("kept/wmt.json")
    assert table.baseline == "bertscore" and table.facts["seed"] == 3
    assert not {"limit", "sacrebleu"} & set(table.facts)  # there was none
    assert table.facts["data"]["wmt18/cs-en/darr.tsv"] and "encoder:" in table.facts["encoder"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--data", "data", "--pair", "xx-en"), "there is no language pair 'xx-en'"),
        (("--data", "nowhere", "--pair", "cs-en"), "nowhere is not a folder"),
        (("--pair", "cs-en"), "give --data DIR, or set SOFTSET_DATA"),
        (("--data", "data"), "Missing option '--pair'"),
        (("--data", "data", "--pair", "cs-en", "--metric", "subspaces"), "there is no metric 'subspaces'"),
        (("--data", "data", "--pair", "cs-en", "--metric", "bertscore+chance"), "has no closed form"),
    ],
)
def test_bad_input_gives_one_sentence(run, data, monkeypatch, arguments, sentence) -> None:
    monkeypatch.delenv("SOFTSET_DATA", raising=False)
    code, out, err = run("eval", "wmt", *arguments, "--model", "words")
    assert (code, out) == (2, "") and sentence in err and len(err.splitlines()) == 1


def test_malformed_data_is_reported_with_file_and_line(run, data) -> None:
    path = data / "wmt18" / "tr-en" / "darr.tsv"
    path.write_text(path.read_text() + "9\tgood\tpoor\t9\t1\n")
    code, _, err = run("eval", "wmt", "--data", str(data), "--pair", "all", *QUICK)
    assert code == 2 and err.startswith(f"softset: {path} has no valid judgement in line 8: ") and err.count("\n") == 1


def test_real_data(run) -> None:
    code, out, _ = run(
        "eval",
        "wmt",
        "--data",
        str(real_data()),
        "--pair",
        "cs-en",
        "--limit",
        "20",
        "--layer",
        "1",
        *QUICK[2:],
        "--json",
    )
    assert code == 0 and all(-1 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in json.loads(out))
