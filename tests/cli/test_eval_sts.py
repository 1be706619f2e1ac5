"""`softset eval sts`: output formats, resuming and error messages."""

import json

import pytest

from softset.evaluation.tables import ResultTable
from tests.evaluation.sts_cases import BAD_OPTIONS, plain_folder, real_folder, senteval_folder

FEW = ("--model", "words", "--metric", "bertscore,softset,subspace P,average", "--samples", "50")


@pytest.fixture
def data(home):
    return str(plain_folder(home / "data"))


def test_table_has_all_datasets_their_mean_and_the_time(run, data) -> None:
    code, out, err = run("eval", "sts", "--data", data, *FEW)
    title, header, *lines = out.splitlines()
    assert code == 0 and title.startswith("Semantic textual similarity")
    assert header.split() == "method STS12 STS13 STS14 STS15 STS16 STS-B SICK-R Avg".split()
    assert [line.split("  ")[0] for line in lines[:4]] == ["bertscore", "softset (default)", "subspace P", "average"]
    assert "worse than bertscore (paired test" in lines[4]
    assert "softset: STS12: 40 pairs in" in err and err.count(" pairs in ") == 7


@pytest.mark.parametrize("form", ["--json", "--markdown", "--latex"])
def test_output_formats(run, data, form) -> None:
    code, out, _ = run("eval", "sts", "--data", data, "--dataset", "STS12,stsb-dev", *FEW, form)
    assert code == 0 and "STSB-dev" in out
    if form == "--json":
        rows = json.loads(out)
        assert {row["dataset"] for row in rows} == {"STS12", "STSB-dev", "Avg"}
        assert all(row["low"] <= row["value"] <= row["high"] for row in rows if row["metric"] == "spearman")


def test_all_metrics_that_the_model_supports(run, data) -> None:
    code, out, err = run(
        "eval", "sts", "--data", data, "--model", "words", "--dataset", "STS-B", "--samples", "9", "--json"
    )
    methods = {row["method"] for row in json.loads(out)}
    assert (
        code == 0
        and {"softset", "softset P", "dynamax", "bertscore(weights=l2) R", "subspace+chance", "grassmann", "tfidf"}
        <= methods
    )
    assert "wmd" not in methods and "left out: wmd and wrd" in err
    assert "cls" not in methods and "left out: cls" in err


def test_saved_table_records_its_settings(run, data, home) -> None:
    code, _, err = run("eval", "sts", "--data", data, "--text-form", "tokenised", "--limit", "5", "--out", "kept", *FEW)
    assert code == 0 and "softset: wrote kept/sts.json" in err
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["sts.json", "sts.md"]
    table = ResultTable.load(home / "kept" / "sts.json")
    facts = table.facts
    assert (facts["text"], facts["limit"], facts["samples"], facts["seed"]) == ("tokenised", 5, 50, 12345)
    assert len(facts["data"]) == 7 and facts["encoder"].startswith("encoder:words(") and "distinct" in facts["idf"]
    assert all(row.n == 5 for row in table.rows if row.dataset != "Avg")


def test_senteval_folder_gives_the_same_table(run, data, home) -> None:
    options = ("--dataset", "STS12,STS-B,SICK-R", *FEW, "--all-correlations", "--json")
    tables = []
    for folder in (data, str(senteval_folder(home / "senteval"))):
        rows = json.loads(run("eval", "sts", "--data", folder, *options)[1])
        tables.append([(row["dataset"], row["method"], row["value"]) for row in rows])
    assert tables[0] == tables[1] and len(tables[0]) == 4 * (3 + 2 + 2 + 2)


@pytest.mark.parametrize(("arguments", "sentence"), BAD_OPTIONS)
def test_bad_input_gives_one_sentence(run, data, arguments, sentence) -> None:
    options = arguments if "--data" in arguments else ("--data", data, *arguments)
    few = () if "--limit" in arguments else ("--limit", "2")
    code, out, err = run("eval", "sts", *few, *options)
    sentences = [line for line in err.splitlines() if "left out" not in line]
    assert code == 2 and out == "" and len(sentences) == 1 and sentence in sentences[0]


def test_malformed_file_is_reported_with_its_line(run, data, home) -> None:
    path = home / "data" / "sts" / "raw" / "STS16.tsv"
    path.write_text(path.read_text() + "five\ta\tb\tc\n")
    code, out, err = run("eval", "sts", "--data", data, *FEW)
    assert code == 2 and out == "" and err.startswith(f"softset: {path} has 'five' in line 42") and err.count("\n") == 1


def test_real_data_with_a_limit(run) -> None:
    folder = real_folder()
    if folder is None:
        pytest.skip("the real data are not here: set SOFTSET_DATA to their folder")
    few = ("--metric", "bertscore,subspace,average", "--limit", "60", "--samples", "50", "--layer", "4")
    code, out, _ = run("eval", "sts", "--data", str(folder), "--dataset", "STSB-dev,SICK-trial", *few, "--json")
    values = {(row["dataset"], row["method"]): row["value"] for row in json.loads(out)}
    assert code == 0 and all(0.4 < values[name, "subspace"] < 0.95 for name in ("STSB-dev", "SICK-trial"))
