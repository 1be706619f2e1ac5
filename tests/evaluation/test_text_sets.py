"""The evaluation of set queries over texts on tiny data in the four formats."""

import gzip
import json
from math import log2
from pathlib import Path

import numpy as np
import pytest

import softset
from softset import cli
from softset.collections.items import Item
from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder
from softset.evaluation.text_sets import evaluation, tasks
from softset.evaluation.text_sets.evaluation import METHODS, choose_text_methods, text_rows
from softset.evaluation.text_sets.tasks import DATASETS, TextDataset, TextQuery, join, text_set
from softset.query.expression import leaves

THINGS = "whales ships songs horses bread wine rivers stars towns kings queens books".split()


def write_lines(folder: Path, name: str, rows: list[dict]) -> None:
    content = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "text-sets" / f"{name}.jsonl.gz").write_bytes(gzip.compress(content.encode(), mtime=0))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {"LIMIT_PEOPLE": 30, "LIMIT_LIKES": 4, "LIMIT_QUERIES": 3, "REUTERS_QUERIES": 2}.items():
        monkeypatch.setattr(tasks, name, value)
    for name, value in {"EXAMPLE_STORIES": 2, "MIN_STORIES": 4, "MAX_STORIES": 60}.items():
        monkeypatch.setattr(tasks, name, value)
    folder = tmp_path / "data"
    (folder / "text-sets").mkdir(parents=True)
    docs = [{"_id": f"d{n}", "text": f"A film about {THINGS[n % 12]} and {THINGS[n * 5 % 12]}."} for n in range(24)]
    write_lines(folder, "quest-evidence-docs", docs)
    queries = [
        ("_", ["whales"], ["d0", "d12"]),
        ("_ or _", ["whales", "ships"], ["d0", "d1", "d13"]),
        ("_ that are not _", ["whales", "ships"], ["d12", "unknown"]),
        ("_ that are also _ but not _", ["whales", "ships", "wine"], ["d5"]),
        ("_ that are also _", ["whales"], ["d5"]),  # an atom is missing
        ("_", ["songs"], ["unknown"]),  # no document is known
    ]
    rows = [{"template": t, "atoms": a, "query": f"films about {a}", "docs_with_evidence": d} for t, a, d in queries]
    write_lines(folder, "quest-evidence-queries-train", rows)
    write_lines(folder, "comlq-corpus", [{"_id": row["_id"], "text": row["text"]} for row in docs])
    rows = [{"_id": f"q{n}", "text": f"Which films show {THINGS[n]}?"} for n in range(3)]
    write_lines(folder, "comlq-queries-dev", rows)
    (folder / "text-sets" / "comlq-qrels-dev.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq0\td0\t2\nq0\td12\t1\nq2\td2\t1\n"
    )
    stories = []
    for n in range(60):
        topics = [["crude"], ["ship"], ["crude", "ship"], ["grain"]][n % 4]
        text = " ".join({"crude": "oil prices rose", "ship": "ships left port", "grain": "wheat"}[t] for t in topics)
        place = ["usa", "uk"][n % 8 > 3]
        stories.append({"id": f"s{n}", "title": f"Story {n}", "text": text, "topics": topics, "places": [place]})
    write_lines(folder, "reuters-train", stories)
    (folder / "text-sets" / "limit-items.txt").write_text("\n".join(THINGS) + "\n\n")
    return folder


def read(data: Path, name: str, limit: int | None = None) -> TextDataset:
    return DATASETS[name](DataFolder(data), limit)


def test_quest(data: Path) -> None:
    dataset = read(data, "quest")
    assert len(dataset.items) == 24 and dataset.items[1] == Item("d1", "A film about ships and wine.")
    assert [(query.task, str(query.query), dict(query.gains)) for query in dataset.queries] == [
        ("A", "{whales}", {"d0": 1, "d12": 1}),
        ("A or B", "{whales} | {ships}", {"d0": 1, "d1": 1, "d13": 1}),
        ("A not B", "{whales} - {ships}", {"d12": 1}),
        ("A and B not C", str(join([text_set(a) for a in ("whales", "ships", "wine")], "&-")), {"d5": 1}),
    ]
    assert len(read(data, "quest", 2).queries) == 2


def test_comlq(data: Path) -> None:
    queries = read(data, "comlq").queries
    assert [query.question for query in queries] == ["Which films show whales?", "Which films show songs?"]
    assert [dict(query.gains) for query in queries] == [{"d0": 2, "d12": 1}, {"d2": 1}]


def test_reuters(data: Path) -> None:
    dataset = read(data, "reuters")
    rows = {f"s{n}": ({0: {"crude"}, 1: {"ship"}, 2: {"crude", "ship"}, 3: {"grain"}}[n % 4]) for n in range(60)}
    names = {"crude oil": "crude", "shipping": "ship", "grain": "grain"}
    assert dataset.items[0].text == "Story 0. oil prices rose" and read(data, "reuters") == dataset
    assert {query.task.split(",")[0] for query in dataset.queries} == {
        "topic and place", "topic or topic", "topic not topic"
    }  # fmt: skip
    for query in dataset.queries:
        if query.task.endswith("by stories"):
            shown = {example.text for leaf in leaves(query.query) for example in leaf.items}
            assert query.examples == shown and not shown & set(query.gains) and not shown & query.leaks
        elif query.task == "topic not topic, by name":
            a, b = (names[leaf.items[0].text] for leaf in leaves(query.query))
            assert set(query.gains) == {name for name, topics in rows.items() if a in topics and b not in topics}
            assert query.leaks == {name for name, topics in rows.items() if {a, b} <= topics}
            assert " but not " in query.question


def test_limit(data: Path) -> None:
    dataset = read(data, "limit")
    assert len(dataset.items) == 30 and len({query.task for query in dataset.queries}) == len(tasks.QUEST_TEMPLATES)
    likes = {
        item.id: set(item.text.rstrip(".").partition("likes ")[2].replace(" and ", ", ").split(", "))
        for item in dataset.items
    }
    assert all(len(liked) == 4 <= len(THINGS) and liked <= set(THINGS) for liked in likes.values())
    operators = dict(tasks.QUEST_TEMPLATES.values())
    for query in dataset.queries:
        first, *others = (leaf.items[0].text for leaf in leaves(query.query))
        wanted = {name for name, liked in likes.items() if first in liked}
        for operator, thing in zip(operators[query.task], others, strict=True):
            people = {name for name, liked in likes.items() if thing in liked}
            wanted = {"&": wanted & people, "|": wanted | people, "-": wanted - people}[operator]
        assert set(query.gains) == wanted and wanted


@pytest.mark.parametrize("name", DATASETS)
def test_every_method_has_rows(data: Path, name: str) -> None:
    dataset, reported = read(data, name, 2), list[tuple[int, int]]()
    encoder = softset.load_encoder("words")
    rows = text_rows(dataset, encoder, METHODS, samples=20, seed=1, progress=lambda *done: reported.append(done))
    assert reported[-1] == (len(dataset.queries), len(dataset.queries))
    assert all(row.task == "text sets" and row.dataset.startswith(f"{dataset.name}: ") for row in rows)
    assert all(0 <= row.value <= 1 and row.low <= row.value + 1e-12 and row.value <= row.high + 1e-12 for row in rows)
    assert all((row.p is None) == (row.method == "fusion") and row.default == (row.method == "softset") for row in rows)
    for task in dict.fromkeys(query.task for query in dataset.queries):
        methods = {row.method for row in rows if row.dataset == f"{dataset.name}: {task}"}
        expected = set(METHODS) - ({"ignore B"} if "not" not in task else set())
        assert methods == expected - ({"plain question"} if task.endswith("by stories") else set())


def test_a_clear_query_is_answered(data: Path) -> None:
    items = tuple(Item(name, text) for name, text in [("a", "a whale hunt"), ("b", "wine and bread"), ("c", "a war")])
    query = TextQuery("A", "whales", text_set("whales"), {"a": 1.0})
    dataset = TextDataset("Tiny", items, (query,))
    rows = text_rows(dataset, softset.load_encoder("words"), ("softset", "bm25", "cosine"), samples=20, seed=1)
    assert {(row.method, row.metric): row.value for row in rows} == {
        (method, metric): 1.0 for method in ("softset", "bm25", "cosine") for metric in ("nDCG@10", "MAP", "R@100")
    }


# Measures


def measures(gains: dict[str, float], ranking: list[str], dataset: str = "", leaks: str = "") -> dict[str, float]:
    query = TextQuery("A", "a", text_set("a"), gains, frozenset(leaks.split()))
    return dict(evaluation._measures(query, ranking, dataset))


def test_measures_of_a_ranking() -> None:
    values = measures({"a": 3, "b": 1, "c": 1}, ["x", "a", "y", "b"], leaks="x z")
    ideal = 3 + 1 / log2(3) + 1 / log2(4)
    assert values == pytest.approx(
        {"nDCG@10": (3 / log2(3) + 1 / log2(5)) / ideal, "MAP": (1 / 2 + 2 / 4) / 3, "R@100": 2 / 3, "leak": 1 / 2}
    )
    assert measures({"a": 1}, []) == {"nDCG@10": 0, "MAP": 0, "R@100": 0}
    assert measures({"a": 2, "b": 1}, ["a", "b"]) == pytest.approx({"nDCG@10": 1, "MAP": 1, "R@100": 1})


def test_measures_have_cutoffs() -> None:
    others = [f"x{n}" for n in range(200)]
    values = measures({"a": 1}, [*others[:10], "a"])
    assert values["nDCG@10"] == 0 and values["MAP"] == pytest.approx(1 / 11) and values["R@100"] == 1
    assert (
        measures({"a": 1}, [*others[:99], "a"])["R@100"] == 1 and measures({"a": 1}, [*others[:100], "a"])["R@100"] == 0
    )
    assert measures({"a": 1}, [*others[:100], "b"], leaks="b")["leak"] == 0
    gains = dict.fromkeys(others, 1.0)
    assert measures(gains, others)["R@100"] == 0.5 and measures(gains, others, "LIMIT form")["R@100"] == 1


# Errors and the command line


def test_unknown_methods_are_refused() -> None:
    assert choose_text_methods([]) == METHODS and choose_text_methods(["bm25"]) == ("bm25",)
    with pytest.raises(InputError, match="there is no method 'near': use one of softset, plain question"):
        choose_text_methods(["bm25", "near"])


def test_damaged_data_is_named(data: Path) -> None:
    write_lines(data, "comlq-corpus", [])
    (data / "text-sets" / "comlq-corpus.jsonl.gz").write_bytes(gzip.compress(b'{"_id": "a", "text": "b"}\n{"_id"\n'))
    with pytest.raises(FileError, match=r"comlq-corpus\.jsonl\.gz has no JSON in line 2"):
        read(data, "comlq")
    (data / "text-sets" / "limit-items.txt").unlink()
    with pytest.raises(FileError, match=r"limit-items\.txt is missing"):
        read(data, "limit")


@pytest.fixture
def run(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["eval", "texts", *arguments])
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return runner


def test_command(run, data: Path, tmp_path: Path) -> None:
    arguments = ("--data", str(data), "--model", "words", "--samples", "20", "--limit", "2")
    arguments += ("--method", "softset", "--method", "fusion")
    code, out, err = run(*arguments, "--dataset", "quest", "--dataset", "limit", "--out", str(tmp_path / "results"))
    assert code == 0 and out.startswith("Set queries over texts\n"), err
    assert "QUEST evidence: A or B" in out and "LIMIT form: A" in out and "ComLQ" not in out
    kept = json.loads((tmp_path / "results" / "texts.json").read_text())
    assert set(kept["facts"]["data"]) == {
        "text-sets/quest-evidence-docs.jsonl.gz", "text-sets/quest-evidence-queries-train.jsonl.gz",
        "text-sets/limit-items.txt",
    }  # fmt: skip
    code, out, _ = run(*arguments, "--json")
    rows = json.loads(out)
    assert code == 0 and {row["dataset"].split(":")[0] for row in rows} == {
        "QUEST evidence", "ComLQ", "Reuters", "LIMIT form"
    }  # fmt: skip
    assert {row["method"] for row in rows} == {"softset", "fusion"} and np.isfinite(
        [row["value"] for row in rows]
    ).all()
    assert json.loads(run(*arguments, "--json")[1]) == rows


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--dataset", "ques"), "there is no dataset 'ques'; did you mean 'quest'?"),
        (("--method", "near"), "there is no method 'near'"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_bad_options_give_one_sentence(run, data: Path, arguments: tuple[str, ...], sentence: str) -> None:
    code, _, err = run("--data", str(data), "--model", "words", *arguments)
    assert code == 2 and sentence in err and "Traceback" not in err
