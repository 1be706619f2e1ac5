"""`softset find`, `vectors`, `index`, `add` and `delete`."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import processor_seconds

QUERY = "{red, blue, green} & {apple, peach, banana}"


def test_find_from_the_readme(run) -> None:
    code, out, err = run("find", QUERY)
    assert (code, err) == (0, "") and out.splitlines()[0].split()[1] == "orange" and len(out.splitlines()) == 10


def test_find_takes_less_than_a_second() -> None:
    command = [sys.executable, "-m", "softset", "find", QUERY]
    assert min(processor_seconds(command) for _ in range(3)) < 1


def test_json_and_tsv(run) -> None:
    _, out, _ = run("find", QUERY, "--json", "--top", "2", "--explain")
    printed = json.loads(out)
    assert {"query", "logic", "signature", "results"} <= set(printed)
    assert [hit["id"] for hit in printed["results"]] == ["orange", "plum"]
    assert printed["results"][0]["leaves"][0]["leaf"] == "{red, blue, green}"
    _, out, _ = run("find", QUERY, "--tsv", "--top", "2")
    assert [line.split("\t")[:2] for line in out.splitlines()] == [[QUERY, "orange"], [QUERY, "plum"]]


def test_many_queries_in_input_order(run, home: Path) -> None:
    (home / "q.txt").write_text("# colours\nred\n\n{dog, cat}\npiano & ~music\n")
    _, out, _ = run("find", "--queries", "q.txt", "--json", "--top", "1")
    assert [json.loads(line)["query"] for line in out.splitlines()] == ["red", "{dog, cat}", "piano & ~music"]
    command = [sys.executable, "-m", "softset", "find", "--queries", "-", "--top", "1"]
    out = subprocess.run(command, input="red\nblue\n", capture_output=True, text=True, check=True).stdout
    assert out.startswith("red\n") and "\nblue\n" in out


def test_options_reach_the_search(run, home: Path) -> None:
    (home / "s.toml").write_text('colour = ["red", "blue"]\n')
    assert run("find", "@colour", "--named-sets", "s.toml", "--top", "1")[0] == 0
    _, out, _ = run("find", "red", "--include-examples", "--top", "1")
    assert out.endswith(" red\n") and "%" not in out
    _, out, _ = run("find", "red", "--top", "1", "--percentile")
    assert out.endswith(" 99.99 %\n")
    _, out, _ = run("find", "red", "--top", "1", "--percentile", "--json")
    assert json.loads(out)["results"][0]["percentile"] > 99.9
    _, out, _ = run("find", "red", "--min-score", "0.99")
    assert out == "(no item belongs to this query)\n"
    _, out, _ = run("find", "red", "--restrict-vocab", "3000", "--json")
    assert "|restrict:3000|" in json.loads(out)["signature"]
    _, out, _ = run("find", QUERY, "--logic", "lattice", "--alpha", "0.9", "--json", "--top", "1")
    assert "lattice(alpha=0.9)" in json.loads(out)["signature"]
    _, out, _ = run("find", QUERY, "--logic", "graded", "--aperture", "inf", "--floor", "0.2", "--json", "--top", "1")
    assert "graded(aperture=inf, floor=0.2)" in json.loads(out)["signature"]
    _, out, _ = run("find", "{red, New York}", "--plan")
    assert "New York: the weighted mean of new, york" in out
    _, out, _ = run("find", "{red, New York^2, qqzz}", "--skip-unknown", "--plan", "--json")
    printed = json.loads(out)
    assert printed["sets"][0]["examples"] == [
        {"text": "red", "weight": 1.0, "resolved_as": "exact match"},
        {"text": "New York", "weight": 2.0, "resolved_as": "the weighted mean of new, york"},
    ]
    assert (printed["query"], printed["logic"], printed["unknown"]) == ("{red, New York^2, qqzz}", "logistic", ["qqzz"])
    _, out, _ = run("find", "red & blue", "--plan", "--json", "--logic", "lattice", "--alpha", "0.9")
    assert json.loads(out)["combined"] == "Subspace(dim=1, ambient=300)"
    code, out, err = run("find", "{red, qqzz}", "--skip-unknown", "--top", "1")
    assert code == 0 and "1 text skipped, without a vector: qqzz" in err


def test_pages_and_near_duplicates(run) -> None:
    ids = [line.split()[1] for line in run("find", "car", "--top", "6")[1].splitlines()]
    page = [line.split()[1] for line in run("find", "car", "--top", "3", "--offset", "3")[1].splitlines()]
    assert page == ids[3:]
    distinct = [line.split()[1] for line in run("find", "car", "--top", "6", "--distinct", "0.6")[1].splitlines()]
    assert distinct[0] == ids[0] and len(distinct) == 6 and not {"vehicle", "vehicles"} <= set(distinct)


def test_excluded_items(run) -> None:
    query = "{dog, cat} BUT NOT wolf"
    code, out, err = run("find", query, "--excluded", "--top", "3")
    assert code == 0 and not err
    for line in out.splitlines():
        before, arrow, after, *_ = line.split()
        assert float(before) > float(after) and arrow == "->"
    assert out.splitlines()[0].endswith(" hound") and len(out.splitlines()) == 3
    hits = json.loads(run("find", query, "--excluded", "--top", "3", "--json")[1])["results"]
    assert [hit["id"] for hit in hits] == [line.split()[3] for line in out.splitlines()]
    assert all(set(hit) == {"id", "membership", "without_exclusions"} for hit in hits)
    code, out, err = run("find", "{dog, cat}", "--excluded")
    assert code == 2 and not out and "{dog, cat} has no BUT NOT" in err


def test_strictness_in_the_query_text(run) -> None:
    mild, default, strict = (
        json.loads(run("membership", f"{{milan, venice, florence}} {operator} rome", "naples", "--json")[1])
        for operator in ("-^.2", "-", "--")
    )
    values = [result["memberships"][0]["membership"] for result in (mild, default, strict)]
    assert values == sorted(values, reverse=True) and len(set(values)) == 3
    code, _, err = run("find", "milan -^2 rome")
    assert code == 2 and err.endswith("the strictness of a minus must be from 0 to 1\n  milan -^2 rome\n         ^\n")


def test_a_bare_sentence_is_explained_on_standard_error(run) -> None:
    code, out, err = run("find", "cats and dogs but not birds", "--top", "1")
    assert code == 0 and len(out.splitlines()) == 1
    meant = "({cats} & {dogs}) - {birds}"
    assert f"this is read as {{cats and dogs but not birds}}; to combine sets, write {meant}\n" in err
    assert run("find", meant)[1] == run("find", "{cats} and {dogs} but not {birds}")[1] != out


def test_items_like_an_item(run, home: Path) -> None:
    (home / "items.tsv").write_text("id\ttext\nd7\tships and the sea\nd8\ta war at sea\nd9\tcooking with wine\n")
    assert run("index", "items.tsv", "--out", "items.softset", "--model", "words")[0] == 0
    _, out, err = run("find", "--collection", "items.softset", "id:d7")
    assert [line.split()[1] for line in out.splitlines()] == ["d8", "d9"]
    assert err == "softset: fewer than 1,000 items: memberships are measured against general English sentences\n"
    code, _, err = run("find", "--collection", "items.softset", "id:d77")
    assert code == 2 and "there is no item with the id 'd77'; did you mean 'd7'?" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["find", "red", "--distinct", "2"], "distinct must be a cosine above 0 and at most 1"),
        (["find", "red", "--offset", "-1"], "-1 is not in the range x>=0"),
        (["find", "@color", "--named-sets", "s.toml"], "s.toml"),
        (["find"], "give either a QUERY, or --queries FILE"),
        (["find", "red", "--queries", "q.txt"], "give either a QUERY, or --queries FILE"),
        (["find", "--queries", "absent.txt"], "absent.txt: No such file or directory"),
        (["find", "{red, oragne}"], "'oragne' has no vector here; words with a similar spelling: orange"),
        (["find", "{red"], "a comma or } was expected here"),
        (["find", "{}"], "a set needs at least one example"),
        (["find", "red | ~red", "--logic", "lattice"], "every item belongs to a tautology: {red} | ~{red}"),
        (["find", "red", "--top", "0"], "top must be a positive whole number"),
        (["find", "red", "--vectors", "absent"], "there are no word vectors and no folder named 'absent'"),
        (["find", "red", "--named-sets", "absent.toml"], "absent.toml: No such file or directory"),
        (["find", "red", "--logic", "fuzzy"], "is not one of"),
        (["find", "--collection", "absent", "red"], "absent is not a collection"),
        (["find", "--collection", "absent", "red", "--vectors", "x"], "--vectors has no effect with --collection"),
        (["find", "red", "--min-score", "nan"], "min_score must be a number from 0 to 1"),
        (["vectors", "import", "absent.txt", "--name", "x"], "absent.txt: No such file or directory"),
        (["vectors", "info", "absent"], "there are no word vectors and no folder named 'absent'"),
        (["vectors", "remove", "../x"], "there are no imported word vectors named '../x'"),
        (["index", "absent.txt", "--out", "c"], "absent.txt: No such file or directory"),
        (
            ["index", "absent.txt", "--out", "c", "--model", "bert"],
            "there is no installed model or folder 'bert'",
        ),
        (["add", "absent", "more.txt"], "absent is not a collection"),
        (["delete", "absent", "1"], "absent is not a collection"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(run, arguments: list[str], sentence: str) -> None:
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
    assert code == 0 and out.startswith("other: 1 words") and err.count("skipped 1") == 2
    assert run("vectors", "remove", "mine")[0] == 0


def test_collection_from_texts_and_from_vectors(run, home: Path) -> None:
    (home / "books.tsv").write_text("id\ttext\n1\tships and the sea\n2\ta war at sea\n3\tcooking with wine\n4\tqqzz\n")
    code, out, err = run("index", "books.tsv", "--model", "words", "--out", "books.softset")
    assert code == 0 and "4 items, 300 dimensions, encoder words" in out and "1 item without a vector" in err
    _, out, _ = run("find", "--collection", "books.softset", "{sea, ship} - war", "--json")
    hits = json.loads(out)["results"]
    assert {hit["id"] for hit in hits} == {"1", "2", "3"} and hits[0]["text"] == "ships and the sea"
    (home / "more.txt").write_text("sailing ships\n")
    assert "5 items, 1 of them new" in run("add", "books.softset", "more.txt")[1]
    assert "4 items left" in run("delete", "books.softset", "2")[1]
    np.save(home / "v.npy", np.eye(4))
    assert run("index", "books.tsv", "--vectors-file", "v.npy", "--out", "own.softset")[0] == 0
    assert run("find", "--collection", "own.softset", "1 | 2", "--top", "1")[0] == 0
    (home / "v.npy").write_bytes(b"\x93NUMPY")
    code, _, err = run("index", "books.tsv", "--vectors-file", "v.npy", "--out", "x.softset")
    assert code == 2 and "v.npy is not a complete NumPy file" in err
    assert not (home / "x.softset").exists()


def test_index_uses_the_bundled_encoder_by_default(run, home: Path) -> None:
    (home / "books.txt").write_text("ships on the sea\na war at sea\ncooking with wine\nqqzz\n")
    code, out, err = run("index", "books.txt", "--out", "books.softset")
    assert code == 0 and "4 items, 384 dimensions, encoder minilm@" in out
    assert err == "softset: first item: id '1', text 'ships on the sea'\n"
    _, out, _ = run("find", "--collection", "books.softset", '"a recipe" BUT NOT "a battle"', "--json")
    assert json.loads(out)["results"][0]["text"] == "cooking with wine"
    assert run("add", "books.softset", "books.txt")[0] == 0


def test_items_that_the_model_does_not_know_make_no_collection(run, home: Path) -> None:
    (home / "names.txt").write_text("qqzz\nxxqvy\n")
    code, out, err = run("index", "names.txt", "--model", "words", "--out", "c")
    assert code == 2 and out == "" and "no item has a vector" in err and "--text-field" in err
    assert not (home / "c").exists()


def test_invalid_query_of_a_file_is_reported_and_others_continue(run, home: Path) -> None:
    (home / "q.txt").write_text("\ufeffred\n{blue\nqqzz\ngreen\n")
    code, out, err = run("find", "--queries", "q.txt", "--json", "--top", "1")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 2 and [line["query"] for line in lines] == ["red", "{blue", "qqzz", "green"]
    assert "results" in lines[0] and "error" in lines[1] and "error" in lines[2] and "results" in lines[3]
    assert "q.txt, line 2: a comma or } was expected" in err and "q.txt, line 3: 'qqzz' has no vector" in err


def test_control_characters_in_ids_are_escaped(run, home: Path) -> None:
    ids = ["a\tb\nc", "\x1b[31mred", "d\\e"]
    (home / "i.jsonl").write_text("".join(json.dumps({"id": name, "text": name}) + "\n" for name in ids))
    np.save(home / "v.npy", np.ones((3, 2)))
    assert run("index", "i.jsonl", "--vectors-file", "v.npy", "--out", "c")[0] == 0
    query = '"' + ids[2].replace("\\", "\\\\") + '"'
    options = ("--include-examples", "--no-lexical")
    _, out, _ = run("find", "--collection", "c", query, *options, "--tsv")
    assert [line.split("\t")[1] for line in out.splitlines()] == ["a\\tb\\nc", "\\u001b[31mred", "d\\\\e"]
    _, out, _ = run("find", "--collection", "c", query, *options)
    assert "\x1b" not in out and len(out.splitlines()) == 3
    _, out, _ = run("find", "--collection", "c", query, *options, "--json")
    assert [hit["id"] for hit in json.loads(out)["results"]] == ids
    _, out, _ = run("find", "--collection", "c", query, "--tsv", "--min-score", "1", "--logic", "lattice")
    assert out == ""
    for bad in ('{"text": "x", "n": NaN}', '{"text": "\\ud800"}', '{"id": "", "text": "x"}'):
        (home / "bad.jsonl").write_text(bad + "\n")
        code, _, err = run("index", "bad.jsonl", "--out", "bad.softset")
        assert code == 2 and err.startswith("softset: ") and not (home / "bad.softset").exists()


def test_replaced_vectors_are_detected(run, home: Path) -> None:
    (home / "v.txt").write_text("sea 1 0\nwine 0 1\n")
    (home / "i.txt").write_text("sea\nwine\n")
    run("vectors", "import", "v.txt", "--name", "mine")
    assert run("index", "i.txt", "--model", "words:mine", "--out", "c")[0] == 0
    assert "sea" in run("find", "--collection", "c", "sea", "--top", "1")[1]
    (home / "v.txt").write_text("sea 0 1\nwine 1 0\n")
    run("vectors", "import", "v.txt", "--name", "mine", "--replace")
    code, _, err = run("find", "--collection", "c", "sea")
    assert code == 2 and "the model 'words:mine' was replaced after it encoded these items" in err
    assert run("vectors", "import", "v.txt", "--name", "glove-840b-300d", "--replace")[0] == 2


def test_help_is_fast() -> None:
    """The help of the whole program imports no NumPy."""
    code = "import sys, softset.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: print('numpy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.endswith("False\n") and "find" in shown


def test_recall_check_uses_the_valid_queries(run, home: Path) -> None:
    pytest.importorskip("faiss")
    (home / "q.txt").write_text("{dog, cat}\n{blue\n")
    code, _, err = run("find", "--queries", "q.txt", "--recall-check", "--top", "5")
    assert code == 2 and "of the exact top 5" in err and "line 2" in err
