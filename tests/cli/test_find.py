"""`softset find`, `vectors`, `index`, `add` and `delete` as a person types them."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from softset import cli

QUERY = "{red, blue, green} & {apple, peach, banana}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command line here and return its exit code, standard output and standard error."""

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return runner


def test_the_first_minute(run) -> None:
    code, out, err = run("find", QUERY)
    assert (code, err) == (0, "") and out.splitlines()[0].split()[1] == "orange" and len(out.splitlines()) == 10


def test_it_answers_within_a_second() -> None:
    command = [sys.executable, "-m", "softset", "find", QUERY]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 1


def test_json_and_tsv(run) -> None:
    _, out, _ = run("find", QUERY, "--json", "--top", "2", "--explain")
    found = json.loads(out)
    assert {"query", "logic", "signature", "results"} <= set(found)
    assert [hit["item"] for hit in found["results"]] == ["orange", "purple"]
    assert found["results"][0]["leaves"][0]["leaf"] == "{red, blue, green}"
    _, out, _ = run("find", QUERY, "--tsv", "--top", "2")
    assert [line.split("\t")[:2] for line in out.splitlines()] == [[QUERY, "orange"], [QUERY, "purple"]]


def test_many_queries_in_input_order(run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "q.txt").write_text("# colours\nred\n\n{dog, cat}\npiano & ~music\n")
    _, out, _ = run("find", "--queries", "q.txt", "--json", "--top", "1")
    assert [json.loads(line)["query"] for line in out.splitlines()] == ["red", "{dog, cat}", "piano & ~music"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"red\nblue\n")))
    _, out, _ = run("find", "--queries", "-", "--top", "1")
    assert out.startswith("red\n") and "\nblue\n" in out


def test_options_reach_the_search(run, home: Path) -> None:
    (home / "s.toml").write_text('colour = ["red", "blue"]\n')
    assert run("find", "@colour", "--sets", "s.toml", "--top", "1")[0] == 0
    _, out, _ = run("find", "red", "--with-examples", "--top", "1")
    assert " red " in out
    _, out, _ = run("find", "red", "--min", "0.99")
    assert out == "(nothing has that much membership)\n"
    _, out, _ = run("find", "red", "--restrict", "3000", "--json")
    assert "words:3000" in json.loads(out)["signature"]
    _, out, _ = run("find", QUERY, "--logic", "lattice", "--alpha", "0.9", "--json", "--top", "1")
    assert "lattice(alpha=0.9)" in json.loads(out)["signature"]
    _, out, _ = run("find", QUERY, "--aperture", "inf", "--json", "--top", "1")
    assert "aperture=inf" in json.loads(out)["signature"]
    _, out, _ = run("find", "{red, New York}", "--plan")
    assert "New York: the mean of new, york" in out
    code, out, err = run("find", "{red, qqzz}", "--skip-unknown", "--top", "1")
    assert code == 0 and "1 without a vector, left out: qqzz" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["find"], "give a QUERY, or --queries FILE"),
        (["find", "red", "--queries", "q.txt"], "q.txt"),
        (["find", "{red, oragne}"], "'oragne' has no vector here; words spelled like it: orange"),
        (["find", "{red"], "a comma or } was expected here"),
        (["find", "{}"], "a set needs at least one example"),
        (["find", "red | ~red", "--logic", "lattice"], "everything belongs to this query alike"),
        (["find", "red", "--top", "0"], "at least 1 item must be asked for"),
        (["find", "red", "--vectors", "absent"], "there are no word vectors named 'absent'"),
        (["find", "red", "--sets", "absent.toml"], "absent.toml: No such file or directory"),
        (["find", "red", "--logic", "fuzzy"], "is not one of"),
        (["find", "--in", "absent", "red"], "absent is not a collection"),
        (["find", "--in", "absent", "red", "--restrict", "5"], "--vectors and --restrict are for word vectors"),
        (["vectors", "import", "absent.txt", "--name", "x"], "absent.txt: No such file or directory"),
        (["vectors", "info", "absent"], "there are no word vectors named 'absent'"),
        (["vectors", "remove", "../x"], "there are no imported vectors named '../x'"),
        (["index", "absent.txt", "--out", "c"], "absent.txt: No such file or directory"),
        (["index", "absent.txt", "--out", "c", "--encoder", "bert"], "the encoder 'bert' is not known"),
        (["add", "absent", "more.txt"], "absent is not a collection"),
        (["delete", "absent", "1"], "absent is not a collection"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, arguments: list[str], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and err.startswith("softset: ") and sentence in err and "Traceback" not in err


def test_import_and_use(run, home: Path) -> None:
    (home / "v.txt").write_text("red 1 0 0\nblue 0 1 0\ngreen 0 1 1\n")
    assert run("vectors", "import", "v.txt", "--name", "mine") == (0, "mine: 3 words, 3 dimensions\n", "")
    assert "mine" in run("vectors", "list")[1]
    assert [row["name"] for row in json.loads(run("vectors", "list", "--json")[1])] == ["glove-840b-300d", "mine"]
    assert "green" in run("find", "blue", "--vectors", "mine", "--top", "1")[1]
    assert "verified" in run("vectors", "info", "mine", "--verify")[1]
    assert json.loads(run("vectors", "info", "mine", "--json")[1])["words"] == 3
    (home / "v.txt").write_text("red 1 0\nred 0 1\nblue x 1\n")
    code, _, err = run("vectors", "import", "v.txt", "--name", "other")
    assert code == 2 and "line 2" in err and "--skip-bad" in err
    code, out, err = run("vectors", "import", "v.txt", "--name", "other", "--skip-bad")
    assert code == 0 and out.startswith("other: 1 words") and err.count("left out 1") == 2
    assert run("vectors", "remove", "mine")[0] == 0


def test_a_collection_from_texts_and_from_vectors(run, home: Path) -> None:
    (home / "books.tsv").write_text("id\ttext\n1\tships and the sea\n2\ta war at sea\n3\tcooking with wine\n4\tqqzz\n")
    code, out, err = run("index", "books.tsv", "--out", "books.softset")
    assert code == 0 and "4 items, 300 dimensions, encoder words" in out and "1 items have no word" in err
    _, out, _ = run("find", "--in", "books.softset", "{sea, ship} - war", "--json")
    hits = json.loads(out)["results"]
    assert [hit["item"] for hit in hits][:2] == ["1", "2"] and hits[0]["metadata"] == {"text": "ships and the sea"}
    (home / "more.txt").write_text("sailing ships\n")
    assert "5 items, 1 of them new" in run("add", "books.softset", "more.txt")[1]
    assert "4 items left" in run("delete", "books.softset", "2")[1]
    np.save(home / "v.npy", np.eye(4))
    assert run("index", "books.tsv", "--vectors", "v.npy", "--out", "own.softset")[0] == 0
    assert run("find", "--in", "own.softset", "1 | 2", "--top", "1")[0] == 0
    (home / "v.npy").write_bytes(b"\x93NUMPY")
    code, _, err = run("index", "books.tsv", "--vectors", "v.npy", "--out", "x.softset")
    assert code == 2 and "v.npy is not a whole .npy file of numbers" in err
    assert not (home / "x.softset").exists()
