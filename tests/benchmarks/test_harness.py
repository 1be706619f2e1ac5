"""The harness: what a case says as JSON, what it does without its data, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.case import Case, Check, Outcome, Skip, Target, needs
from benchmarks.cases import CASES
from benchmarks.data import query, sentences, token_sets
from benchmarks.measuring import Sgemm, alternating, machine, process, shown
from benchmarks.table import aligned, markdown, remarks, renew

ROOT = Path(__file__).parents[2]
KEYS = {"case", "ours", "peer", "ratio", "target", "ok", "skipped"}
HIGH, LOW = Target("at least twice", 2, "higher"), Target("at most 0.1", 0.1, "lower")


def made(outcome: Outcome | Skip, target: Target = HIGH) -> Case:
    def run(quick: bool) -> Outcome:
        if isinstance(outcome, Skip):
            raise outcome
        return outcome

    return Case("sample", "something", "somebody", "ours / peer", target, run)


def benchmarks(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {name: value for name, value in os.environ.items() if name != "SOFTSET_DATA"} | variables
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


# A case


def test_every_row_of_the_goal_has_a_case() -> None:
    wanted = {"kernel-literal", "kernel-sgemm", "all-pairs-sgemm", "all-pairs-maxsim", "texts-bertscore"}
    wanted |= {"texts-softset", "find-one", "find-many", "approximate-341k", "approximate-2m", "wmd", "wrd"}
    wanted |= {"import-time", "import-memory", "start", "memory", "growth-kernel", "growth-find"}
    assert wanted <= set(CASES)
    for name, case in CASES.items():
        assert case.name == name and case.about and case.peer and case.ratio_is and case.target.text


@pytest.mark.parametrize(
    ("target", "ratio", "ok"), [(HIGH, 2.0, True), (HIGH, 1.9, False), (LOW, 0.1, True), (LOW, 0.2, False)]
)
def test_a_target_has_a_direction(target: Target, ratio: float, ok: bool) -> None:
    found = made(Outcome(2.0, 1.0, "s", ratio), target).record()
    assert found.keys() >= KEYS and found["ok"] is ok and found["target"] == target.bound and found["skipped"] is None


def test_a_further_bound_counts_too() -> None:
    found = made(Outcome(4.0, 1.0, "s", 4.0, also=(Check(0.3, LOW),))).record()
    assert found["ok"] is False
    assert found["also"] == [{"what": "at most 0.1", "value": 0.3, "target": 0.1, "better": "lower", "ok": False}]


def test_a_case_that_cannot_run_is_skipped() -> None:
    found = made(Skip("the peer is not here")).record(quick=True)
    assert found["skipped"] == "the peer is not here" and found["ok"] is None and found["ratio"] is None
    with pytest.raises(Skip, match=r"no_such_peer is not installed: pip install -r benchmarks/requirements\.txt"):
        needs("json", "no_such_peer")


# Measuring


def test_tasks_take_turns_after_a_warm_up() -> None:
    order: list[str] = []
    tasks = {name: lambda name=name: order.append(name) for name in "ab"}
    assert set(alternating(tasks, repeats=2, warm=1)) == {"a", "b"}
    assert "".join(order) == "ababab"


def test_the_product_is_one_of_two_different_matrices() -> None:
    product = Sgemm(8, 16, 8)
    product()
    assert not np.array_equal(product.A, product.B) and product.operations == 2 * 8 * 16 * 8
    assert product.C == pytest.approx(product.A @ product.B.T, abs=1e-4)


def test_a_process_is_measured_by_itself() -> None:
    ballast = np.ones(20_000_000)  # 160 MB, which are not the child's
    small = process([sys.executable, "-c", "print(1)"])
    large = process([sys.executable, "-c", "x = b'1' * 100_000_000; print(len(x))"])
    assert small.said == "1\n" and small.peak < 100 < 95 + large.peak - small.peak and ballast[0]
    with pytest.raises(RuntimeError, match="exit code 3"):
        process([sys.executable, "-c", "raise SystemExit(3)"])


def test_the_machine_is_described() -> None:
    assert "cores" in machine() and "threads for all" in machine()
    assert [shown(one) for one in (12345.6, 123.4, 12.34, 1.234, 0.1234)] == ["12,346", "123", "12.3", "1.23", "0.123"]


# Data


def test_data_are_the_same_every_time() -> None:
    A, B = (token_sets(30, 8, 24, 32, seed=0) for _ in range(2))
    assert np.array_equal(A.vectors, B.vectors) and A.counts.min() >= 8 and A.counts.max() <= 24
    assert not np.array_equal(A.vectors[:9], token_sets(30, 8, 24, 32, seed=1).vectors[:9])
    assert sentences(5, seed=0) == sentences(5, seed=0) != sentences(5, seed=1)
    assert query(["red", 'a"b']) == '{"red", "a\\"b"}'


# The command


def test_one_case_as_json() -> None:
    done = benchmarks("--case", "growth-kernel", "--quick", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found.keys() >= KEYS and found["case"] == "growth-kernel"
    assert found["quick"] is True and found["skipped"] is None and found["ratio"] == found["ours"] / found["peer"]


def test_without_its_data_a_case_says_so_and_does_not_fail() -> None:
    done = benchmarks("--case", "texts-bertscore", "--quick", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and "--data DIR" in found["skipped"] and found["ok"] is None
    missing = benchmarks("--case", "texts-bertscore", "--quick", "--data", "/nowhere")
    assert missing.returncode == 0 and "skipped: /nowhere/sts/raw/STSB-test.tsv is missing" in missing.stdout


def test_several_cases_are_a_table() -> None:
    done = benchmarks("--case", "growth-kernel", "--case", "texts-softset", "--quick", "--threads", "1")
    assert done.returncode == 0 and "1 threads for all" in done.stdout
    header, first, second = done.stdout.splitlines()[2:]
    assert header.split() == ["case", "ours", "peer", "ratio", "target", "ok"]
    assert first.startswith("growth-kernel") and "16.0  times" in first and second.startswith("texts-softset")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--case", "nothing"), "there is no case 'nothing'; known are kernel-literal"),
        (("--write", "--quick"), "--write wants all cases in full"),
        (("--threads", "0"), "--threads must be 1 or more"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    done = benchmarks(*arguments)
    assert done.returncode == 2 and problem in done.stderr and not done.stdout


def test_the_list() -> None:
    done = benchmarks("--list")
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == list(CASES)


# The table


def test_the_page_is_renewed_between_its_comments(tmp_path: Path) -> None:
    outcome = Outcome(2.0, 1.0, "s", 2.0, ("one thread",), (Check(0.05, LOW),))
    found = [made(outcome).record(), made(Skip("no data")).record()]
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
    renew(page, found, "a machine")
    text = page.read_text()
    assert text.startswith("before\n<!-- results -->\n\na machine.\n") and text.endswith(
        "<!-- end of results -->\nafter\n"
    )
    assert "old" not in text and markdown(found) in text
    assert "| sample | 2.00 s | 1.00 s | 2.00 | at least twice | yes |" in text and "skipped: no data" in text
    assert "<!-- results -->" in (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_remarks_and_the_aligned_table() -> None:
    good, skipped = made(Outcome(2.0, 1.0, "s", 2.0, ("one thread",))).record(), made(Skip("no data")).record()
    assert aligned([skipped]).splitlines()[1] == "sample  skipped: no data" and remarks(skipped) == []
    assert remarks(good)[-1] == "  one thread" and aligned([good]).splitlines()[1].endswith("yes")
