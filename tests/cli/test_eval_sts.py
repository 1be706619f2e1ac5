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
    assert header.split() == "method STS12 STS13 STS14 STS15 STS16 STS-B SICK-R Avg seconds".split()
    assert [line.split("  ")[0] for line in lines[:4]] == ["bertscore", "softset (default)", "subspace P", "average"]
    assert "worse than bertscore (paired test" in lines[4]
    assert "softset: STS12: 40 pairs in" in err and err.count(" pairs in ") == 7


@pytest.mark.parametrize("form", ["--json", "--markdown", "--latex"])
def test_output_formats(run, data, form) -> None:
    code, out, _ = run("eval", "sts", "--data", data, "--dataset", "STS12,stsb-dev", *FEW, form)
    assert code == 0 and "STSB-dev" in out
    if form == "--json":
        rows = json.loads(out)
        assert {row["dataset"] for row in rows} == {"STS12", "STSB-dev", "Avg", "all"}
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
    assert all(row.n == 5 for row in table.rows if row.dataset not in ("Avg", "all"))


def test_interrupted_run_can_be_resumed(run, data, home, monkeypatch) -> None:
    from softset.evaluation.sts import StsEvaluation

    whole, arguments = StsEvaluation._dataset, ("eval", "sts", "--data", data, *FEW, "--out", "kept")

    def stopped(self, pairs, *arguments):
        if pairs.name == "STS14":
            raise KeyboardInterrupt
        return whole(self, pairs, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(StsEvaluation, "_dataset", stopped)
        code, _, err = run(*arguments)
        assert code == 130 and err.count(" pairs in ") == 2
    assert [path.name for path in (home / "kept").iterdir()] == ["sts.partial"]
    code, _, err = run(*arguments)
    assert code == 2 and "continue with --resume" in err
    code, out, err = run(*arguments, "--resume")
    assert code == 0 and err.count(" pairs in ") == 5
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["sts.json", "sts.md"]
    again = run("eval", "sts", "--data", data, *FEW)[1]
    assert [line.split()[:-1] for line in out.splitlines()[1:6]] == [
        line.split()[:-1] for line in again.splitlines()[1:6]
    ]


def test_senteval_folder_gives_the_same_table(run, data, home) -> None:
    options = ("--dataset", "STS12,STS-B,SICK-R", *FEW, "--all-correlations", "--json")
    tables = []
    for folder in (data, str(senteval_folder(home / "senteval"))):
        rows = json.loads(run("eval", "sts", "--data", folder, *options)[1])
        tables.append([(row["dataset"], row["method"], row["value"]) for row in rows if row["metric"] != "seconds"])
    assert tables[0] == tables[1] and len(tables[0]) == 4 * (3 + 2 + 2 + 2)


def test_table_6_and_paper_code(run, data) -> None:
    code, out, _ = run("eval", "sts", "--data", data, "--table", "6", "--limit", "4", "--samples", "9")
    assert code == 0 and "STS-B, layer 3" in out and "STS-B, layer 6" in out
    assert [line.split()[0] for line in out.splitlines()[2:6]] == ["cls", "average", "bertscore", "subspace"]
    few = ("--dataset", "STS-B", "--limit", "4", "--metric", "bertscore", "--samples", "9", "--layer", "1")
    code, out, _ = run("eval", "sts", "--data", data, *few, "--paper-code", "2")
    assert code == 0 and "paper-code(batch=2)/bertscore" in out


def test_plot(run, data, home) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run("eval", "sts", "--data", data, "--dataset", "STS-B", *FEW, "--plot", "bars.png")
    assert code == 0 and "wrote bars.png" in err and (home / "bars.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *BAD_OPTIONS,
        (("--table", "6", "--dataset", "STS12,STS13"), "--table 6 is for one dataset"),
        (("--table", "6", "--layer", "4"), "leave out --layer"),
        (("--table", "6", "--model", "words"), "has no option layer"),
        (("--model", "words", "--paper-code", "8"), "--paper-code needs a model"),
    ],
)
def test_bad_input_gives_one_sentence(run, data, arguments, sentence) -> None:
    options = arguments if "--data" in arguments else ("--data", data, *arguments)
    code, out, err = run("eval", "sts", "--limit", "2", *options)
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
