"""Scores on Ray equal those of one process, also after crashes, and no part is computed twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import softset
from softset.errors import FileError, InputError
from softset.io.atomic import open_locked
from softset.jobs import score_files
from softset.jobs.inputs import list_spans, read_blocks
from tests.collections.test_items import write_bomb
from tests.jobs.conftest import QUIET, pairs, read, workers_of, write

pytestmark = QUIET
PARTS = ("precision", "recall", "score")


def expected(rows: list[dict], **options: object) -> dict[str, softset.Scores]:
    scores = softset.score([row["candidate"] for row in rows], [row["reference"] for row in rows], **options)
    return {row["id"]: score_row for row, score_row in zip(rows, scores.rows(), strict=True)}


def check(folder: Path, rows: list[dict], **options: object) -> None:
    rows_by_id, scores = read(folder), expected(rows, **options)
    assert rows_by_id.keys() == scores.keys()
    for name, score_row in scores.items():
        for part in PARTS:
            assert rows_by_id[name][part] == pytest.approx(getattr(score_row, part), abs=1e-6)
        assert (
            rows_by_id[name]["candidate_tokens"] == score_row.candidate_tokens and rows_by_id[name]["problem"] is None
        )


@pytest.mark.parametrize("options", [{"model": "words"}, {"model": "minilm", "layer": 4, "metric": "subspace"}])
def test_files_are_scored_as_by_one_process(two_processes, tmp_path: Path, options: dict) -> None:
    rows = pairs(900)
    for number in range(3):
        write(tmp_path / "in" / f"{number}.parquet", rows[300 * number : 300 * (number + 1)])
    report = score_files(str(tmp_path / "in" / "*.parquet"), tmp_path / "out", block=64, **options)
    assert (report.rows, report.made, report.rejected) == (900, 900, 0)
    check(tmp_path / "out", rows, **options)
    part = next((tmp_path / "out").glob("part-*"))
    assert pq.read_schema(part).metadata[b"softset"].decode() in report.signature
    others = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith("part-")}
    assert others == {"_softset.json", "_lock"}


def test_several_references_and_other_columns(two_processes, tmp_path: Path) -> None:
    rows = [
        {"key": number, "hyp": f"a red book {number}", "refs": ["a book", f"the red {number}"]} for number in range(50)
    ]
    write(tmp_path / "p.parquet", rows)
    report = score_files(
        str(tmp_path / "p.parquet"),
        tmp_path / "out",
        columns=("key", "hyp", "refs"),
        model="words",
        multi_reference="mean",
    )
    rows_by_id = read(tmp_path / "out")
    scores = softset.score(
        [row["hyp"] for row in rows], [row["refs"] for row in rows], model="words", multi_reference="mean"
    )
    assert [rows_by_id[number]["score"] for number in range(50)] == pytest.approx(scores.score.tolist(), abs=1e-6)
    assert "multi_reference:mean" in report.signature


def test_a_second_run_computes_only_missing_parts(two_processes, tmp_path: Path) -> None:
    rows = pairs(400)
    write(tmp_path / "in" / "a.parquet", rows[:200])
    write(tmp_path / "in" / "b.parquet", rows[200:])
    pattern, out = str(tmp_path / "in" / "*.parquet"), tmp_path / "out"
    assert score_files(pattern, out, block=50, model="words").made == 400
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert score_files(pattern, out, block=50, model="words").made == 0
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")} == before
    sorted(out.glob("part-*"))[0].unlink()
    (out / "_unfinished-x-1").write_text("half")
    assert score_files(pattern, out, block=50, model="words").made == 50
    rows[7]["candidate"] = "something else entirely"
    write(tmp_path / "in" / "a.parquet", rows[:200])
    with pytest.raises(InputError, match=r"also has 1 results of rows that are not in this input: .*--drop"):
        score_files(pattern, out, block=50, model="words")
    with pytest.raises(InputError, match="was started with the signature"):
        score_files(pattern, out, block=50, model="words", columns=("id", "reference", "candidate"))
    changed = score_files(pattern, out, block=50, model="words", drop=True)
    assert (changed.made, changed.dropped) == (0, 1)
    check(out, rows, model="words")
    assert not list(out.glob("_unfinished*"))


def test_a_damaged_part_is_computed_again(two_processes, tmp_path: Path) -> None:
    rows = pairs(100)
    write(tmp_path / "p.parquet", rows)
    score_files(str(tmp_path / "p.parquet"), tmp_path / "out", block=50, model="words")
    for part, content in zip(sorted((tmp_path / "out").glob("part-*")), (b"", b"PAR1 not at all"), strict=True):
        part.write_bytes(content)
    assert score_files(str(tmp_path / "p.parquet"), tmp_path / "out", block=50, model="words").made == 100
    check(tmp_path / "out", rows, model="words")


def test_one_job_at_a_time_writes_to_a_folder(two_processes, tmp_path: Path) -> None:
    write(tmp_path / "p.parquet", pairs(10))
    (tmp_path / "out").mkdir()
    with (
        open_locked(tmp_path / "out" / "_lock"),
        pytest.raises(InputError, match=r"another process is writing to .* now"),
    ):
        score_files(str(tmp_path / "p.parquet"), tmp_path / "out", model="words")
    assert score_files(str(tmp_path / "p.parquet"), tmp_path / "out", model="words").rows == 10


def test_blocks_are_complete_for_any_batch_size_of_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of texts of more than 2 GB, Parquet's reader gives fewer rows at once than were asked for."""

    write(tmp_path / "p.parquet", pairs(95), group=95)
    whole = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile, "iter_batches", lambda self, **options: whole(self, **{**options, "batch_size": 7})
    )
    spans = list_spans(str(tmp_path / "p.parquet"), ("id",), block=20)
    blocks = [
        (number, table["id"].to_pylist()) for span in spans for number, table in read_blocks(span, ("id",), block=20)
    ]
    assert [(number, len(names)) for number, names in blocks] == [(0, 20), (1, 20), (2, 20), (3, 20), (4, 15)]
    assert [name for _, names in blocks for name in names] == [f"0-{number}" for number in range(95)]


def test_a_small_file_of_many_gigabytes_is_an_error(tmp_path: Path) -> None:
    write_bomb(tmp_path / "bomb.parquet")
    for span in list_spans(str(tmp_path / "bomb.parquet"), ("text",)):
        with pytest.raises(FileError, match="has rows that decode to more than 1 GB in one block"):
            next(read_blocks(span, ("text",)))


def test_a_text_that_is_not_utf8_is_reported_with_its_id(two_processes, tmp_path: Path) -> None:

    texts = pa.array([b"a red book", b"caf\xe9", b"blue"]).view(pa.string())
    pq.write_table(
        pa.table({"id": ["a", "b", "c"], "candidate": texts, "reference": ["red", "red", "red"]}), tmp_path / "p"
    )
    report = score_files(str(tmp_path / "p"), tmp_path / "out", model="words")
    assert report.problems == (("b", "the candidate is of type bytes, not a text"),) and report.rows == 3


def test_files_with_different_columns_are_an_error(tmp_path: Path) -> None:

    write(tmp_path / "in" / "a.parquet", pairs(3))
    write(tmp_path / "in" / "b.parquet", [{**row, "id": number} for number, row in enumerate(pairs(3))])
    with pytest.raises(
        InputError, match=r"the ids in .*b.parquet have the type int64, but those in .*a.parquet have string"
    ):
        score_files(str(tmp_path / "in" / "*.parquet"), tmp_path / "out", model="words")
    twice = pa.Table.from_arrays([pa.array(["a"])] * 4, names=["id", "id", "candidate", "reference"])
    pq.write_table(twice, tmp_path / "twice")
    with pytest.raises(InputError, match="has several columns 'id'"):
        score_files(str(tmp_path / "twice"), tmp_path / "out", model="words")
    with pytest.raises(InputError, match="workers must be at least 1, but 0 was given"):
        score_files(str(tmp_path / "in" / "a.parquet"), tmp_path / "out", model="words", workers=0)


def test_equal_rows_in_two_files_are_both_scored(two_processes, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "in" / f"{name}.parquet", [{"id": "x", "candidate": "red", "reference": "blue"}])
    assert score_files(str(tmp_path / "in" / "*.parquet"), tmp_path / "out", model="words").rows == 2
    assert len(list((tmp_path / "out").glob("part-*"))) == 2


def test_bad_rows_get_a_problem_and_do_not_stop_the_job(two_processes, tmp_path: Path) -> None:
    rows = pairs(60)
    rows[3]["candidate"] = None
    rows[4]["reference"] = "x " * 600_000
    rows[5]["candidate"] = "word " * 700
    write(tmp_path / "p.parquet", rows)
    report = score_files(
        str(tmp_path / "p.parquet"), tmp_path / "out", block=32, model="minilm", overflow="error", max_length=64
    )
    assert dict(report.problems).keys() == {"0-3", "0-4", "0-5"} and report.rejected == 3
    rows_by_id = read(tmp_path / "out")
    assert rows_by_id["0-3"]["score"] is None and "missing" in rows_by_id["0-3"]["problem"]
    assert (
        "at most 1,000,000 are allowed" in rows_by_id["0-4"]["problem"]
        and "shorten the text" in rows_by_id["0-5"]["problem"]
    )
    good = [row for number, row in enumerate(rows) if number not in (3, 4, 5)]
    scores = expected(good, max_length=64)
    assert all(
        rows_by_id[name]["score"] == pytest.approx(score_row.score, abs=1e-6) for name, score_row in scores.items()
    )


def test_a_worker_that_is_killed_is_replaced(two_processes, tmp_path: Path) -> None:
    rows = pairs(1_600, words=14)
    write(tmp_path / "p.parquet", rows, group=100)
    out, killed = tmp_path / "out", []

    def kill(done: int, _: int) -> None:
        if done == 3 and not killed:
            killed.append(workers_of(os.getpid(), "_JobWorker")[0])
            os.kill(killed[0], signal.SIGKILL)

    report = score_files(str(tmp_path / "p.parquet"), out, block=50, model="minilm", layer=2, progress=kill)
    assert killed and report.rows == 1_600
    check(out, rows, model="minilm", layer=2)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_finished_parts_survive_a_killed_driver(tmp_path: Path, number: int, code: int) -> None:
    rows = pairs(3_000, words=14)
    write(tmp_path / "p.parquet", rows, group=100)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "softset", "jobs", "score", "--input", str(tmp_path / "p.parquet")]
    command += ["--out", str(out), "--block-size", "50", "--layer", "2", "--json"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(out.glob("part-*"))) < 8:
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.02)
    driver.send_signal(number)
    assert driver.wait() == code
    time.sleep(1)
    there = len(list(out.glob("part-*")))
    assert 8 <= there < 60
    again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    report = json.loads(again.stdout.splitlines()[-1])
    assert report["rows"] == 3_000 and 0 < report["made"] <= 3_000 - 50 * 8
    check(out, rows, layer=2)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", "no file matches"),
        ("columns", "has no column 'reference'; its columns are id, candidate"),
        ("torn", "is not a complete Parquet file"),
        ("text", "is not a complete Parquet file"),
        ("empty", "have no rows"),
    ],
)
def test_bad_input_is_a_clear_error(tmp_path: Path, name: str, sentence: str) -> None:
    path = tmp_path / f"{name}.parquet"
    if name == "columns":
        write(path, [{"id": "1", "candidate": "a"}])
    elif name == "torn":
        write(path, pairs(100))
        path.write_bytes(path.read_bytes()[:-100])
    elif name == "text":
        path.write_text("id,candidate,reference\n")
    elif name == "empty":
        write(path, [], schema=pa.schema([(name, pa.string()) for name in ("id", "candidate", "reference")]))
    with pytest.raises((InputError, FileError), match=sentence) as caught:
        score_files(str(path), tmp_path / "out", model="words")
    assert "\n" not in str(caught.value) and not (tmp_path / "out").exists()


def test_an_output_folder_of_another_job_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "p.parquet", pairs(3))
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_softset.json").write_text('{"signature": "another"}')
    for name, sentence in (
        ("file", "is a file"),
        ("mine", "holds other files"),
        ("other", "was started with the signature"),
    ):
        with pytest.raises(InputError, match=sentence):
            score_files(str(tmp_path / "p.parquet"), tmp_path / name, model="words")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "ray://127.0.0.1:1"])
def test_an_unreachable_cluster_is_an_error(tmp_path: Path, address: str) -> None:
    write(tmp_path / "p.parquet", pairs(3))
    command = [sys.executable, "-m", "softset", "jobs", "score", "--input", str(tmp_path / "p.parquet")]
    command += ["--out", str(tmp_path / "out"), "--model", "words", "--address", address]
    begun = time.monotonic()
    tried = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert tried.returncode == 2 and time.monotonic() - begun < 20
    assert "Ray cluster" in tried.stderr and tried.stderr.count("\n") == 1


def test_metrics_with_idf_weights_need_fitted_weights(tmp_path: Path) -> None:
    write(tmp_path / "p.parquet", pairs(3))
    with pytest.raises(InputError, match="needs idf weights of all texts"):
        score_files(str(tmp_path / "p.parquet"), tmp_path / "out", model="words", metric="subspace(weights=idf)")


def test_a_full_disk_is_an_error(two_processes, tmp_path: Path) -> None:
    """On a file system of a megabyte: one sentence, and with room again a second run goes on."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        rows = pairs(6_000)
        write(tmp_path / "p.parquet", rows, group=500)
        with pytest.raises(InputError, match=r"No space left on device.*finished parts are kept"):
            score_files(str(tmp_path / "p.parquet"), small / "out", block=100, model="words")
        assert not list((small / "out").glob("_unfinished*"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        report = score_files(str(tmp_path / "p.parquet"), small / "out", block=100, model="words")
        assert report.rows == 6_000 and report.made < 6_000
        check(small / "out", rows, model="words")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
