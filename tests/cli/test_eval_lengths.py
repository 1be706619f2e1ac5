"""`softset eval lengths`: output formats, resuming and error messages."""

import json
import random

import pytest
from scipy import stats

import softset
from softset.evaluation.tables import ResultTable
from tests.evaluation.sts_cases import BAD_OPTIONS, WORDS, plain_folder, real_folder

FEW = ("--model", "words", "--metric", "softset,subspace+chance R,average", "--samples", "50")


@pytest.fixture
def data(home):
    """The small folder of sentence pairs, in which STS12 and SICK have sentences of 1 to 40 words."""
    folder = plain_folder(home / "data")
    for name in ("STS12", "SICK-test"):
        rng = random.Random(name)
        lines = ["score\tsentence1\tsentence2\tsource"]
        for number in range(40):
            sentences = (" ".join(rng.choices(WORDS, k=rng.randint(1, 40))) for _ in range(2))
            lines.append("\t".join([f"{number % 6}", *sentences, "part"]))
        (folder / "sts" / "raw" / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


def two(data: str, *more: str) -> tuple[str, ...]:
    return ("eval", "lengths", "--data", data, "--dataset", "STS12,SICK-R", *more)


def test_table_has_one_line_per_method(run, data) -> None:
    code, out, err = run(*two(data, *FEW))
    title, header, *lines = out.splitlines()
    assert code == 0 and title.startswith("Text length")
    kinds = ("spearman", "spearman candidate", "1-8 mean", "9-16 mean", "17-32 mean", "33- mean")
    names = [name.strip() for name in header.split("  ") if name.strip()]
    assert names == ["method", *(f"{kind} {name}" for kind in ("unrelated", "alike") for name in kinds)]
    assert [line.split("  ")[0] for line in lines] == ["softset (default)", "subspace+chance R", "average"]
    assert "softset: unrelated: 160 pairs in" in err and "softset: alike: 24 pairs in" in err


def test_rows_match_the_data_files(run, data, home) -> None:
    code, out, _ = run(*two(data, *FEW, "--json"))
    rows = {(row["method"], row["dataset"], row["metric"]): row for row in json.loads(out)}
    assert code == 0 and len(rows) == 3 * 12 and {row["task"] for row in rows.values()} == {"lengths"}
    pairs = []
    for name in ("STS12", "SICK-test"):
        lines = (home / "data" / "sts" / "raw" / f"{name}.tsv").read_text().splitlines()[1:]
        pairs += [line.split("\t") for line in lines if float(line.split("\t")[0]) >= 4]
    references, candidates = ([pair[number] for pair in pairs] for number in (1, 2))
    scores = softset.score(candidates, references, model="words", metric="average").score
    words = [len(text.split()) for text in references]
    row = rows["average", "alike", "spearman"]
    assert row["value"] == pytest.approx(stats.spearmanr(scores, words).statistic, abs=1e-9)
    assert row["n"] == len(pairs) == 24 and row["low"] <= row["value"] <= row["high"]
    long = [score for score, count in zip(scores, words, strict=True) if count >= 33]
    row = rows["average", "alike 33-", "mean"]
    assert row["value"] == pytest.approx(sum(long) / len(long), abs=1e-9) and row["n"] == len(long)


def test_seed_selects_the_unrelated_pairs(run, data) -> None:
    values = []
    for seed in ("1", "1", "2"):
        rows = json.loads(run(*two(data, *FEW, "--seed", seed, "--json"))[1])
        values.append([(row["value"], row["low"]) for row in rows if "unrelated" in row["dataset"]])
    assert values[0] == values[1] != values[2]


@pytest.mark.parametrize("form", ["--markdown", "--latex"])
def test_markdown_and_latex(run, data, form) -> None:
    code, out, _ = run(*two(data, *FEW, form))
    assert code == 0 and "unrelated 9-16 mean" in out


def test_default_datasets_and_methods(run, data) -> None:
    code, out, _ = run("eval", "lengths", "--data", data, "--model", "words", "--samples", "9", "--json")
    rows = json.loads(out)
    families = ("softset", "subspace", "subspace+chance", "bertscore")
    methods = [f"{name}{part}" for name in families for part in ("", " P", " R")]
    assert code == 0 and list(dict.fromkeys(row["method"] for row in rows)) == [*methods, "average"]
    assert next(row["n"] for row in rows if row["dataset"] == "unrelated") > 300  # of all seven datasets


def test_saved_table_records_its_settings(run, data, home) -> None:
    code, _, err = run(*two(data, *FEW, "--limit", "12", "--out", "kept"))
    assert code == 0 and "softset: wrote kept/lengths.json" in err
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["lengths.json", "lengths.md"]
    table = ResultTable.load(home / "kept" / "lengths.json")
    facts = table.facts
    assert (facts["limit"], facts["samples"], facts["seed"], facts["text"]) == (12, 50, 12345, "raw")
    assert sorted(facts["data"]) == ["sts/raw/SICK-test.tsv", "sts/raw/STS12.tsv"] and "at least 4" in facts["alike"]
    assert [row.n for row in table.rows if row.metric == "spearman"] == [12] * 6


def test_interrupted_run_can_be_resumed(run, data, home, monkeypatch) -> None:
    from softset.evaluation.lengths import LengthEvaluation

    whole, arguments = LengthEvaluation._sample, two(data, *FEW, "--out", "kept")

    def stopped(self, sample, *arguments):
        if sample.name == "alike":
            raise KeyboardInterrupt
        return whole(self, sample, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(LengthEvaluation, "_sample", stopped)
        assert run(*arguments)[0] == 130
    assert [path.name for path in (home / "kept").iterdir()] == ["lengths.partial"]
    code, _, err = run(*arguments)
    assert code == 2 and "continue with --resume" in err
    code, out, err = run(*arguments, "--resume")
    assert code == 0 and "alike: 24 pairs" in err and "unrelated: " not in err
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["lengths.json", "lengths.md"]
    assert out == run(*two(data, *FEW))[1]


def test_plot(run, data, home) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run(*two(data, *FEW, "--plot", "bars.png"))
    assert code == 0 and "wrote bars.png" in err and (home / "bars.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("arguments", "sentence"), BAD_OPTIONS)
def test_bad_input_gives_one_sentence(run, data, arguments, sentence) -> None:
    options = arguments if "--data" in arguments else ("--data", data, *arguments)
    code, out, err = run("eval", "lengths", "--model", "words", *options)
    assert code == 2 and out == "" and err.count("\n") == 1 and sentence in err


def test_missing_or_damaged_file_is_named(run, data, home) -> None:
    path = home / "data" / "sts" / "raw" / "STS16.tsv"
    path.write_text(path.read_text() + "five\ta\tb\tc\n")
    code, out, err = run("eval", "lengths", "--data", data, *FEW)
    assert code == 2 and out == "" and err.startswith(f"softset: {path} has 'five' in line 42") and err.count("\n") == 1
    path.unlink()
    code, out, err = run("eval", "lengths", "--data", data, *FEW)
    assert code == 2 and out == "" and err.startswith(f"softset: {path} is missing") and err.count("\n") == 1


def test_task_is_listed_in_the_help(run) -> None:
    code, out, _ = run("eval", "--help")
    assert code == 0 and "Measure how scores depend on the length" in out


def test_real_data_with_a_limit(run) -> None:
    folder = real_folder()
    if folder is None:
        pytest.skip("the real data are not here: set SOFTSET_DATA to their folder")
    few = ("--metric", "subspace P,subspace R,subspace+chance P", "--limit", "150", "--samples", "50", "--layer", "4")
    code, out, _ = run("eval", "lengths", "--data", str(folder), "--dataset", "STSB-dev,SICK-trial", *few, "--json")
    rows = {(row["method"], row["dataset"], row["metric"]): row["value"] for row in json.loads(out)}
    P, R, counted = (rows[f"subspace{name}", "unrelated", "spearman"] for name in (" P", " R", "+chance P"))
    assert code == 0 and P > counted + 0.1 and P > R + 0.2
