"""`softset score`: rows, summaries, resuming and error messages."""

import json
import os
from pathlib import Path

import pytest

import softset
from softset.similarity import run

CANDIDATES = ["A boy walks in this park.", "We are the king and queen.", ""]
REFERENCES = ["The kid runs in the square.", "royalty", "A pen."]
QUICK = ("--model", "words")


@pytest.fixture
def files(home: Path) -> tuple[str, str]:
    for name, lines in (("c.txt", CANDIDATES), ("r.txt", REFERENCES)):
        (home / name).write_text("\n".join(lines) + "\n")
    return "c.txt", "r.txt"


def test_one_line_per_pair_and_summary_on_stderr(run, files) -> None:
    code, out, err = run("score", "-c", files[0], "-r", files[1], *QUICK)
    expected = softset.score(CANDIDATES, REFERENCES, model="words")
    assert code == 0
    assert out.splitlines() == [f"{row.precision:.6f}\t{row.recall:.6f}\t{row.score:.6f}" for row in expected.rows()]
    assert (
        f"score {expected.score.mean():.4f}" in err and expected.signature in err and "1 pair with an empty text" in err
    )


def test_json_equals_the_python_result(run, files) -> None:
    options = ("--layer", "2", "--metric", "subspace(weights=l2)", "--rescale", "chance")
    code, out, _ = run("score", "-c", files[0], "-r", files[1], *options, "--json")
    expected = softset.score(CANDIDATES, REFERENCES, layer=2, metric="subspace(weights=l2)", rescale="chance")
    printed = json.loads(out)
    assert code == 0
    assert printed["signature"] == expected.signature
    assert printed["score"] == pytest.approx(expected.score.mean())
    assert [row["score"] for row in printed["segments"]] == expected.score.tolist()
    assert {"precision", "recall", "score"} <= set(printed["segments"][0])


def test_jsonl_and_only_summary(run, files) -> None:
    _, out, _ = run("score", "-c", files[0], "-r", files[1], *QUICK, "--jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 3 and rows[2]["empty"] and rows[0]["candidate_tokens"] == 6
    _, out, _ = run("score", "-c", files[0], "-r", files[1], *QUICK, "--only-summary")
    assert out.startswith("precision 0.") and len(out.splitlines()) == 1
    _, out, _ = run("score", "-c", files[0], "-r", files[1], *QUICK, "--only-summary", "--json")
    assert set(json.loads(out)) == {"signature", "precision", "recall", "score", "pairs"}


def test_several_references(run, files) -> None:
    _, out, err = run("score", "-c", files[0], "-r", files[1], "-r", files[0], *QUICK)
    assert [line.split("\t")[3] for line in out.splitlines()] == ["1", "1", "1"]
    assert "multi_reference:best" in err
    _, out, _ = run(
        "score", "-c", files[0], "-r", files[1], "-r", files[0], *QUICK, "--multi-reference", "union", "--jsonl"
    )
    assert json.loads(out.splitlines()[0])["best_reference"] == -1


def test_inline_texts(run) -> None:
    code, out, _ = run("score", "--inline", "-c", "A red book.", "-r", "A red book.", *QUICK)
    assert (code, out) == (0, "1.000000\t1.000000\t1.000000\n")


def test_idf_of_the_references_or_of_a_file(run, files) -> None:
    code, _, err = run("score", "-c", files[0], "-r", files[1], *QUICK, "--metric", "subspace(weights=idf)")
    assert code == 0 and "|idf:" in err
    softset.Idf.fit(["another corpus", "of texts"], model="words").save("idf.json")
    _, _, other = run(
        "score", "-c", files[0], "-r", files[1], *QUICK, "--metric", "bertscore(weights=idf)", "--idf", "idf.json"
    )
    assert f"|idf:{softset.Idf.load('idf.json').checksum}|" in other


def test_calibration_file(run, files) -> None:
    softset.Calibration.fit([*CANDIDATES[:2], *REFERENCES], model="words").save("level.json")
    code, _, err = run("score", "-c", files[0], "-r", files[1], *QUICK, "--rescale", "level.json")
    assert code == 0 and "rescale:measured(" in err
    code, _, err = run(
        "score", "-c", files[0], "-r", files[1], *QUICK, "--rescale", "level.json", "--metric", "bertscore"
    )
    assert code == 2 and "this calibration was fitted with metric:softset|" in err


@pytest.fixture
def breaks_down(monkeypatch: pytest.MonkeyPatch):
    """Let blocks be of one pair, and the second of them fail, as a machine that is switched off would."""
    monkeypatch.setattr("softset.cli.score.PAIR_BLOCK", 1)
    encode, calls = run.encode_input, []

    def breaking(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return encode(*arguments)

    monkeypatch.setattr(run, "encode_input", breaking)
    return calls


@pytest.mark.parametrize("form", [(), ("--jsonl",)])
def test_interrupted_run_can_be_resumed(run, files, breaks_down, form) -> None:
    command = ("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "scores.tsv", *form)
    code, _, _ = run(*command)
    assert code == 130 and not Path("scores.tsv").exists()
    Path("scores.tsv.partial", "_unfinished-1").write_text("0.12")  # as a process that is killed leaves behind
    code, _, err = run(*command)
    assert code == 2 and "continue with --resume, or remove it" in err
    code, out, err = run(*command, "--resume")
    assert (code, out) == (0, "") and "continuing after 1 of 3 rows" in err and len(breaks_down) == 4
    assert sorted(path.name for path in Path().glob("scores*")) == ["scores.tsv"]
    expected = softset.score(CANDIDATES, REFERENCES, model="words")
    lines = Path("scores.tsv").read_text().splitlines()
    printed = [json.loads(line)["score"] if form else float(line.split("\t")[2]) for line in lines]
    assert printed == pytest.approx(expected.score.tolist(), abs=1e-6)
    assert f"score {expected.score.mean():.4f}" in err


def test_resume_with_other_texts_or_metric_is_refused(run, files, breaks_down) -> None:
    command = ("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "scores.tsv")
    run(*command)
    code, _, err = run(*command, "--resume", "--metric", "bertscore")
    assert code == 2 and "was started with the signature" in err
    Path(files[0]).write_text("other\ntexts\nhere\n")
    code, _, err = run(*command, "--resume")
    assert code == 2 and "was started with the candidates" in err


def test_complete_file_is_replaced_atomically(run, files) -> None:
    Path("scores.tsv").write_text("old")
    command = ("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "scores.tsv")
    code, _, err = run(*command, "--resume")
    assert code == 2 and "scores.tsv is complete with 1 row, but the input has 3 pairs" in err
    assert Path("scores.tsv").read_text() == "old"
    code, _, _ = run(*command)
    assert code == 0 and len(Path("scores.tsv").read_text().splitlines()) == 3


def test_resume_of_a_finished_file_succeeds_and_says_so(run, files) -> None:
    command = ("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "scores.tsv")
    run(*command)
    before = Path("scores.tsv").read_text()
    code, out, err = run(*command, "--resume")
    assert (code, out) == (0, "") and Path("scores.tsv").read_text() == before
    assert err == "softset: scores.tsv is complete already with 3 rows: leave out --resume to compute it again\n"


def test_symlink_is_kept_and_inputs_are_not_overwritten(run, files) -> None:
    Path("real.tsv").write_text("old")
    Path("link.tsv").symlink_to("real.tsv")
    assert run("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "link.tsv")[0] == 0
    assert Path("link.tsv").is_symlink() and len(Path("real.tsv").read_text().splitlines()) == 3
    for out in (*files, f"./{files[1]}"):
        code, _, err = run("score", "-c", files[0], "-r", files[1], *QUICK, "--out", out)
        assert code == 2 and "is the input file" in err
    assert Path(files[0]).read_text().splitlines() == CANDIDATES
    code, _, err = run("score", "-c", files[0], "-r", files[1], *QUICK, "--out", "/dev/null")
    assert code == 2 and "not an ordinary file" in err


def test_failed_run_leaves_no_files(run, files) -> None:
    code, _, err = run("score", "-c", files[0], "-r", files[1], *QUICK, "--metric", "cls", "--out", "scores.tsv")
    assert code == 2 and "the metric cls needs" in err and not list(Path().glob("scores*"))


def test_pipes_are_read_once(run, files) -> None:
    """As a shell's <(...) gives them."""
    ends = []
    for lines in (CANDIDATES, REFERENCES):
        read, write = os.pipe()
        os.write(write, ("\n".join(lines) + "\n").encode())
        os.close(write)
        ends.append(read)
    code, out, _ = run("score", "-c", f"/dev/fd/{ends[0]}", "-r", f"/dev/fd/{ends[1]}", *QUICK)
    assert code == 0 and len(out.splitlines()) == 3


def test_unknown_texts_score_0(run) -> None:
    code, out, err = run("score", "--inline", "-c", "👍", "-r", "👎", "--layer", "1")
    assert (code, out) == (0, "0.000000\t0.000000\t0.000000\n") and "2 tokens unknown to the model" in err
    assert run("score", "--inline", "-c", "👍", "-r", "👍", "--layer", "1")[1] == "1.000000\t1.000000\t1.000000\n"
    assert run("score", "--inline", "-c", "xyzzyq", "-r", "abcdq", *QUICK)[1].startswith("0.000000")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-c", "c.txt", "-c", "c.txt", "-r", "r.txt"), "-c or --candidates is given 2 times, but takes one value"),
        (("-c", "c.txt"), "give candidates (-c) and references (-r), or one file with both: --input FILE"),
        (("-r", "c.txt"), "give candidates (-c) and references (-r), or one file with both: --input FILE"),
        (("-c", "missing.txt", "-r", "r.txt"), "missing.txt: No such file or directory"),
        (
            ("-c", "A red book.", "-r", "r.txt"),
            "No such file or directory; add --inline if this is a text",
        ),
        (("-c", "c.txt", "-r", "short.txt"), "number of lines: c.txt has 3, short.txt has 2"),
        (("-c", "c.txt", "-r", "r.txt", "-r", "short.txt"), "c.txt has 3, r.txt has 3, short.txt has 2"),
        (("-c", "empty.txt", "-r", "empty.txt"), "empty.txt is empty"),
        (("-c", "latin.txt", "-r", "short.txt"), "latin.txt is not UTF-8 in line 2"),
        (("-c", "-", "-r", "-"), "standard input can be read only once"),
        (("-c", "c.txt", "-r", "r.txt", "--metric", "bleu"), "there is no metric 'bleu'"),
        (("-c", "c.txt", "-r", "r.txt", "--rescale", "missing.json"), "missing.json: No such file or directory"),
        (("-c", "c.txt", "-r", "r.txt", "--idf", "c.txt", "--metric", "tfidf"), "c.txt is not a complete JSON file"),
        (("-c", "c.txt", "-r", "r.txt", "--metric", "bertscore", "--rescale", "chance"), "no closed form"),
        (("-c", "c.txt", "-r", "r.txt", "--json", "--jsonl"), "give --json or --jsonl, not both"),
        (("-c", "c.txt", "-r", "r.txt", "--resume"), "--resume needs --out"),
        (("-c", "c.txt", "-r", "r.txt", "--out", "nowhere/s.tsv"), "is in a folder that does not exist"),
        (("-c", "c.txt", "-r", "r.txt", "--out", "-"), "--out needs a file name"),
        (("-c", "c.txt", "-r", "r.txt", "--idf", "i.json"), "i.json: No such file or directory"),
        (("-c", "c.txt", "-r", "r.txt", "--out", "."), "is a folder"),
        (("-c", "c.txt", "-r", "r.txt", "--out", "s.tsv", "--json"), "--out cannot be combined with --json"),
    ],
)
def test_bad_input_gives_one_sentence(run, files, arguments, sentence) -> None:
    Path("short.txt").write_text("one\ntwo\n")
    Path("empty.txt").write_text("")
    Path("latin.txt").write_bytes(b"good\ncaf\xe9\n")
    code, out, err = run("score", *arguments, *QUICK)
    assert (code, out) == (2, "") and sentence in err and len(err.splitlines()) == 1
    assert not list(Path().glob("*.partial*"))
