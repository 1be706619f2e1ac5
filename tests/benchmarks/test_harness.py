"""The benchmark harness: records, skipped cases, the command line and the table."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.case import Case, Check, Measurement, SkipCase, Target, require_modules
from benchmarks.cases import CASES
from benchmarks.data import random_sentences, random_token_sets, set_query
from benchmarks.measurement import MatrixProduct, describe_machine, format_number, median_seconds, run_process
from benchmarks.table import details, markdown_table, text_table, update_page

ROOT = Path(__file__).parents[2]
KEYS = {"case", "softset", "baseline", "ratio", "target", "reached", "skipped"}
HIGH, LOW = Target("at least twice", 2, "higher"), Target("at most 0.1", 0.1, "lower")


def make_case(result: Measurement | SkipCase, target: Target = HIGH) -> Case:
    def run(quick: bool) -> Measurement:
        if isinstance(result, SkipCase):
            raise result
        return result

    return Case("sample", "something", "another library", "softset / baseline", target, run)


def benchmarks(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {name: value for name, value in os.environ.items() if name != "SOFTSET_DATA"} | variables
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


# Cases


def test_all_targets_have_a_case() -> None:
    expected = {"kernel-literal", "kernel-sgemm", "all-pairs-sgemm", "all-pairs-maxsim", "texts-bertscore"}
    expected |= {"texts-softset", "find-one", "find-many", "approximate-341k", "approximate-2m", "wmd", "wrd"}
    expected |= {"import-time", "import-memory", "startup", "memory", "scaling-kernel", "scaling-find"}
    assert expected <= set(CASES)
    for name, case in CASES.items():
        assert case.name == name and case.description and case.baseline and case.ratio_meaning and case.target.text


@pytest.mark.parametrize(
    ("target", "ratio", "reached"), [(HIGH, 2.0, True), (HIGH, 1.9, False), (LOW, 0.1, True), (LOW, 0.2, False)]
)
def test_a_target_has_a_direction(target: Target, ratio: float, reached: bool) -> None:
    record = make_case(Measurement(2.0, 1.0, "s", ratio), target).record()
    assert record.keys() >= KEYS and record["reached"] is reached
    assert record["target"] == target.bound and record["skipped"] is None


def test_checks_must_pass_too() -> None:
    record = make_case(Measurement(4.0, 1.0, "s", 4.0, checks=(Check(0.3, LOW),))).record()
    assert record["reached"] is False
    assert record["checks"] == [{"text": "at most 0.1", "bound": 0.1, "better": "lower", "value": 0.3, "passed": False}]


def test_a_case_that_cannot_run_is_skipped() -> None:
    record = make_case(SkipCase("the baseline is missing")).record(quick=True)
    assert record["skipped"] == "the baseline is missing" and record["reached"] is None and record["ratio"] is None
    with pytest.raises(SkipCase, match=r"no_such_module is not installed: pip install -r benchmarks/requirements\.txt"):
        require_modules("json", "no_such_module")


# Measurement


def test_tasks_alternate_after_a_warm_up() -> None:
    order: list[str] = []
    tasks = {name: lambda name=name: order.append(name) for name in "ab"}
    assert set(median_seconds(tasks, repeats=2, warmup=1)) == {"a", "b"}
    assert "".join(order) == "ababab"


def test_matrix_product_multiplies_different_matrices() -> None:
    product = MatrixProduct(8, 16, 8)
    product()
    assert not np.array_equal(product.A, product.B) and product.operations == 2 * 8 * 16 * 8
    assert product.C == pytest.approx(product.A @ product.B.T, abs=1e-4)


def test_peak_memory_is_that_of_the_child_process() -> None:
    ballast = np.ones(20_000_000)  # 160 MB in this process
    small = run_process([sys.executable, "-c", "print(1)"])
    large = run_process([sys.executable, "-c", "x = b'1' * 100_000_000; print(len(x))"])
    assert small.output == "1\n" and small.peak_memory < 100 and ballast[0]
    assert large.peak_memory - small.peak_memory > 5
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_process([sys.executable, "-c", "raise SystemExit(3)"])


def test_machine_and_numbers() -> None:
    assert "cores" in describe_machine() and "threads" in describe_machine()
    numbers = [format_number(number) for number in (12345.6, 123.4, 12.34, 1.234, 0.1234)]
    assert numbers == ["12,346", "123", "12.3", "1.23", "0.123"]


# Data


def test_random_data_are_reproducible() -> None:
    A, B = (random_token_sets(30, 8, 24, 32, seed=0) for _ in range(2))
    assert np.array_equal(A.vectors, B.vectors) and A.counts.min() >= 8 and A.counts.max() <= 24
    assert not np.array_equal(A.vectors[:9], random_token_sets(30, 8, 24, 32, seed=1).vectors[:9])
    assert random_sentences(5, seed=0) == random_sentences(5, seed=0) != random_sentences(5, seed=1)
    assert set_query(["red", 'a"b']) == '{"red", "a\\"b"}'


# The command line


def test_one_case_as_json() -> None:
    process = benchmarks("--case", "scaling-kernel", "--quick", "--json")
    record = json.loads(process.stdout)
    assert process.returncode == 0 and record.keys() >= KEYS and record["case"] == "scaling-kernel"
    assert record["quick"] is True and record["skipped"] is None
    assert record["ratio"] == record["softset"] / record["baseline"]


def test_a_case_without_its_data_is_skipped() -> None:
    process = benchmarks("--case", "texts-bertscore", "--quick", "--json")
    record = json.loads(process.stdout)
    assert process.returncode == 0 and "--data DIR" in record["skipped"] and record["reached"] is None
    missing = benchmarks("--case", "texts-bertscore", "--quick", "--data", "/nowhere")
    assert missing.returncode == 0 and "skipped: /nowhere/sts/raw/STSB-test.tsv is missing" in missing.stdout


def test_several_cases_make_a_table() -> None:
    process = benchmarks("--case", "scaling-kernel", "--case", "texts-softset", "--quick", "--threads", "1")
    assert process.returncode == 0 and "1 threads" in process.stdout
    header, first, second = process.stdout.splitlines()[2:]
    assert header.split() == ["case", "softset", "baseline", "unit", "ratio", "target", "reached"]
    assert first.startswith("scaling-kernel") and "16.0  times" in first and second.startswith("texts-softset")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--case", "nothing"), "the case 'nothing' is not known: use kernel-literal"),
        (("--write", "--quick"), "--write needs all cases in full"),
        (("--threads", "0"), "--threads must be 1 or more"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], message: str) -> None:
    process = benchmarks(*arguments)
    assert process.returncode == 2 and message in process.stderr and not process.stdout


def test_list_of_cases() -> None:
    process = benchmarks("--list")
    assert process.returncode == 0 and [line.split()[0] for line in process.stdout.splitlines()] == list(CASES)


# The table


def test_page_is_updated_between_its_comments(tmp_path: Path) -> None:
    result = Measurement(2.0, 1.0, "s", 2.0, ("one thread",), (Check(0.05, LOW),))
    records = [make_case(result).record(), make_case(SkipCase("no data")).record()]
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
    update_page(page, records, "a machine")
    text = page.read_text()
    assert text.startswith("before\n<!-- results -->\n\na machine.\n")
    assert text.endswith("<!-- end of results -->\nafter\n")
    assert "old" not in text and markdown_table(records) in text
    assert "| sample | 2.00 s | 1.00 s | 2.00 | at least twice | yes |" in text and "skipped: no data" in text
    assert "<!-- results -->" in (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_details_and_text_table() -> None:
    record = make_case(Measurement(2.0, 1.0, "s", 2.0, ("one thread",))).record()
    skipped = make_case(SkipCase("no data")).record()
    assert text_table([skipped]).splitlines()[1] == "sample  skipped: no data" and details(skipped) == []
    assert details(record)[-1] == "  one thread" and text_table([record]).splitlines()[1].endswith("yes")
