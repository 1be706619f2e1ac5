"""`softset score --input`: candidates and references in the columns of one file."""

import gzip
import json
from pathlib import Path

import pytest

import softset

CANDIDATES = ["A boy walks in this park.", 'She said "no", twice.', "007"]
REFERENCES = ["The kid runs in the square.", "She refused two times.", "7"]
OTHERS = ["A child is in the park.", "No, no.", "The number seven."]
QUICK = ("--model", "words")


def as_csv(*columns: list[str]) -> str:
    quoted = [['"' + text.replace('"', '""') + '"' for text in column] for column in columns]
    return "".join(",".join(row) + "\n" for row in zip(*quoted, strict=True))


def as_tsv(*columns: list[str]) -> str:
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True))


def as_jsonl(**columns: list[object]) -> str:
    return "".join(
        json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in zip(*columns.values(), strict=True)
    )


def rows_of(scores: softset.Scores) -> list[str]:
    return [f"{row.precision:.6f}\t{row.recall:.6f}\t{row.score:.6f}" for row in scores.rows()]


@pytest.fixture
def expected() -> list[str]:
    return rows_of(softset.score(CANDIDATES, REFERENCES, model="words"))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "ndjson"])
def test_columns_of_text_files(run, home: Path, expected, kind: str, compressed: bool) -> None:
    content = {
        "csv": "id,candidate,reference\n" + as_csv(["1", "2", "3"], CANDIDATES, REFERENCES),
        "tsv": "candidate\treference\n" + as_tsv(CANDIDATES, REFERENCES),
        "jsonl": as_jsonl(candidate=CANDIDATES, reference=REFERENCES, year=[1, 2, None]),
        "ndjson": as_jsonl(reference=REFERENCES, candidate=CANDIDATES),
    }[kind].encode()
    name = f"pairs.{kind}.gz" if compressed else f"pairs.{kind}"
    (home / name).write_bytes(gzip.compress(content) if compressed else content)
    code, out, err = run("score", "--input", name, *QUICK)
    assert (code, out.splitlines()) == (0, expected)
    assert "3 pairs  precision" in err


def test_columns_of_a_parquet_file(run, home: Path, expected) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {"hyp": CANDIDATES, "ref": REFERENCES, "vector": [[float("nan")]] * 3, "refs": [REFERENCES[:2]] * 3}
    pq.write_table(pa.table(table), home / "pairs.parquet")
    command = ("score", "--input", "pairs.parquet", "--candidate-field", "hyp", *QUICK)
    assert run(*command, "--reference-field", "ref")[1].splitlines() == expected
    _, out, _ = run(*command, "--reference-field", "refs")
    assert [line.split("\t")[3] for line in out.splitlines()] == ["0", "1", "0"]
    code, _, err = run(*command, "--reference-field", "reff")
    assert code == 2 and "pairs.parquet: there is no field 'reff'; did you mean 'ref" in err and "'vector'" in err


def test_several_references_in_columns_or_in_lists(run, home: Path) -> None:
    (home / "pairs.csv").write_text("system,one,two\n" + as_csv(CANDIDATES, REFERENCES, OTHERS))
    fields = ("--candidate-field", "system", "--reference-field", "one", "--reference-field", "two")
    _, in_columns, err = run("score", "--input", "pairs.csv", *fields, *QUICK)
    scores = softset.score(CANDIDATES, [list(pair) for pair in zip(REFERENCES, OTHERS, strict=True)], model="words")
    assert in_columns.splitlines() == [
        f"{line}\t{best}" for line, best in zip(rows_of(scores), scores.best_reference, strict=True)
    ]
    assert "multi_reference:best" in err
    lists = [[first, second] for first, second in zip(REFERENCES, OTHERS, strict=True)]
    (home / "pairs.jsonl").write_text(as_jsonl(candidate=CANDIDATES, reference=lists))
    assert run("score", "--input", "pairs.jsonl", *QUICK)[1] == in_columns


@pytest.mark.parametrize(("kind", "content"), [("tsv", as_tsv), ("csv", as_csv)])
def test_header_names_the_columns_of_a_file_without_names(run, home: Path, expected, kind, content) -> None:
    (home / f"pairs.{kind}").write_text(content(["x", "y", "z"], REFERENCES, CANDIDATES))
    code, out, _ = run("score", "--input", f"pairs.{kind}", "--header", "id, reference, candidate", *QUICK)
    assert (code, out.splitlines()) == (0, expected)


def test_idf_weights_are_computed_on_the_column_of_references(run, home: Path) -> None:
    (home / "pairs.csv").write_text("candidate,reference\n" + as_csv(CANDIDATES, REFERENCES))
    _, _, err = run("score", "--input", "pairs.csv", "--metric", "subspace(weights=idf)", *QUICK)
    assert f"|idf:{softset.Idf.fit(REFERENCES, model='words').checksum}|" in err


def test_text_files_may_be_compressed(run, home: Path, expected) -> None:
    for name, lines in (("c.txt.gz", CANDIDATES), ("r.gz", REFERENCES)):
        (home / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    assert run("score", "-c", "c.txt.gz", "-r", "r.gz", *QUICK)[1].splitlines() == expected
    (home / "q.gz").write_bytes(gzip.compress(b"{red, blue}\n"))
    assert "purple" in run("find", "--queries", "q.gz", "--top", "3")[1]
    (home / "items.csv.gz").write_bytes(gzip.compress(b"id,text\na,red\nb,blue\n"))
    assert "2 items" in run("index", "items.csv.gz", "--out", "items", *QUICK)[1]


def test_interrupted_run_on_columns_is_resumed_for_the_same_texts_only(run, home: Path, expected, monkeypatch) -> None:
    (home / "pairs.csv").write_text("candidate,reference\n" + as_csv(CANDIDATES, REFERENCES))
    command = ("score", "--input", "pairs.csv", *QUICK, "--out", "scores.tsv")
    monkeypatch.setattr("softset.cli.score.PAIR_BLOCK", 1)
    from softset.cli.score import ScorePrinter

    print_rows = ScorePrinter.print_rows

    def interrupt_after_two(self, rows, file) -> None:
        if self.count == 2:
            raise KeyboardInterrupt
        print_rows(self, rows, file)

    with monkeypatch.context() as patched:
        patched.setattr(ScorePrinter, "print_rows", interrupt_after_two)
        code, _, err = run(*command)
    assert code == 130 and "interrupted; 2 of 3 rows are in scores.tsv.partial; add --resume to continue" in err
    (home / "other.csv").write_text("candidate,reference\n" + as_csv(CANDIDATES, OTHERS))
    code, _, err = run("score", "--input", "other.csv", *command[3:], "--resume")
    assert code == 2 and "was started with the input" in err
    assert run(*command, "--resume")[0] == 0
    assert (home / "scores.tsv").read_text().splitlines() == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--input", "missing.csv"), "missing.csv: No such file or directory"),
        (("--input", "missing.parquet"), "missing.parquet: No such file or directory"),
        (("--input", "pairs.txt"), "pairs.txt is not a table with fields: its name must end in .csv"),
        (("--input", "-"), "- is not a table with fields"),
        (("--input", "good.csv", "-c", "x"), "-c cannot be combined with --input"),
        (("--input", "good.csv", "--inline"), "--inline cannot be combined with --input"),
        (("-c", "x", "-r", "x", "--candidate-field", "x"), "--candidate-field needs --input FILE"),
        (("-c", "x", "-r", "x", "--header", "x"), "--header needs --input FILE"),
        (("--input", "good.csv", "--input", "good.csv"), "--input is given 2 times, but takes one value"),
        (("--input", "good.csv", "--candidate-field", "candidates"), "'candidates'; did you mean 'candidate'?"),
        (
            ("--input", "good.csv", "--reference-field", "x"),
            "good.csv, line 2: there is no field 'x'; fields: 'candidate'",
        ),
        (("--input", "good.csv", "--reference-field", "candidate"), "the field 'candidate' is given twice"),
        (("--input", "good.csv", "--header", "a"), "good.csv, line 1: 2 columns, but the header has 1"),
        (("--input", "good.csv", "--header", "a,a"), "names a column twice in its header"),
        (("--input", "null.jsonl"), "null.jsonl, line 1: the field 'reference' has no value, but a text is expected"),
        (("--input", "null.jsonl", "--header", "a,b"), "null.jsonl contains field names"),
        (("--input", "number.jsonl"), "number.jsonl, line 1: the field 'candidate' is of type int, but a str was"),
        (("--input", "list.jsonl"), "list.jsonl, line 1: the field 'candidate' is of type list"),
        (("--input", "empty.jsonl"), "empty.jsonl, line 1: the field 'reference' is an empty list"),
        (("--input", "broken.jsonl"), "broken.jsonl, line 1: not JSON"),
        (("--input", "header.csv"), "header.csv has no rows"),
        (("--input", "cut.csv.gz"), "cut.csv.gz is a truncated or damaged archive"),
        (("--input", "good.csv", "--out", "good.csv"), "is the input file good.csv"),
    ],
)
def test_bad_input_gives_one_sentence(run, home: Path, arguments, sentence) -> None:
    files = {
        "good.csv": "candidate,reference\na,b\n",
        "pairs.txt": "a\tb\n",
        "null.jsonl": '{"candidate": "a", "reference": null}\n',
        "number.jsonl": '{"candidate": 7, "reference": "seven"}\n',
        "list.jsonl": '{"candidate": ["a"], "reference": "b"}\n',
        "empty.jsonl": '{"candidate": "a", "reference": []}\n',
        "broken.jsonl": "{\n",
        "header.csv": "candidate,reference\n",
    }
    for name, content in files.items():
        (home / name).write_text(content)
    (home / "cut.csv.gz").write_bytes(gzip.compress(files["good.csv"].encode() * 100)[:-20])
    code, out, err = run("score", *arguments, *QUICK)
    assert (code, out) == (2, "") and sentence in err and len(err.splitlines()) == 1, err
    assert "Traceback" not in err and not list(home.glob("*.partial"))


def test_a_bomb_is_refused(run, home: Path, monkeypatch) -> None:
    monkeypatch.setattr("softset.io.compressed.RATIO_FREE_BYTES", 100_000)
    (home / "bomb.csv.gz").write_bytes(gzip.compress(b"candidate,reference\n" + b"a,b\n" * 1_000_000))
    code, _, err = run("score", "--input", "bomb.csv.gz", *QUICK)
    assert code == 2 and "which no file of texts or vectors does" in err


def test_values_of_a_table_stay_as_they_are_written(home: Path) -> None:
    from softset.collections.pair_file import PairFile

    (home / "pairs.csv").write_text("candidate,reference\n007,7.50\ntrue,\n")
    assert list(PairFile("pairs.csv")) == [("007", ["7.50"]), ("true", [""])]
