"""Growth of the time with 1, 4 and 16 times as much work."""

from collections.abc import Callable

from benchmarks.case import Case, Check, Measurement, Target
from benchmarks.cases.kernel import random_pairs, softset_scores
from benchmarks.data import set_query, word_vectors
from benchmarks.measurement import Task, median_seconds, thread_count

__all__ = ["CASES"]

FACTORS = (1, 4, 16)
TARGET = Target("at most linear growth, with 10 % tolerance", 1.1, "lower")
TARGET_OF_4 = Target("growth with 4 times the work", 1.1, "lower")


def _measure_growth(make_tasks: Callable[[bool], tuple[dict[int, Task], str]]) -> Callable[[bool], Measurement]:
    def run(quick: bool) -> Measurement:
        tasks, note = make_tasks(quick)
        seconds = median_seconds({str(factor): tasks[factor] for factor in FACTORS}, 5 if quick else 15, warmup=2)
        growth = {factor: seconds[str(factor)] / seconds["1"] for factor in FACTORS}
        times = ", ".join(f"{1e3 * seconds[str(factor)]:.1f}" for factor in FACTORS)
        return Measurement(
            softset=growth[16],
            baseline=16,
            unit="times",
            ratio=growth[16] / 16,
            notes=(f"{note}: {times} ms, {thread_count()} threads",),
            checks=(Check(growth[4] / 4, TARGET_OF_4),),
        )

    return run


def _kernel_tasks(quick: bool) -> tuple[dict[int, Task], str]:
    count = 20 if quick else 125
    pairs = {factor: random_pairs(factor * count) for factor in FACTORS}
    tasks = {factor: lambda A=A, B=B: softset_scores(A, B) for factor, (A, B) in pairs.items()}
    return tasks, f"{count}, {4 * count} and {16 * count} pairs"


def _find_tasks(quick: bool) -> tuple[dict[int, Task], str]:
    vectors = word_vectors(quick)
    parts = {factor: vectors.restrict(len(vectors) * factor // 16) for factor in FACTORS}
    query = set_query([word for word in parts[1].words[:1000] if word.isalpha()][100:105])
    tasks = {factor: lambda part=part: part.find(query, top=100) for factor, part in parts.items()}
    return tasks, ", ".join(f"{len(part):,}" for part in parts.values()) + " words"


def _case(name: str, description: str, make_tasks: Callable[[bool], tuple[dict[int, Task], str]]) -> Case:
    baseline, meaning = "the work, which is 16 times as much", "growth of time / growth of work"
    return Case(name, description, baseline, meaning, TARGET, _measure_growth(make_tasks))


CASES = (
    _case("scaling-kernel", "the pair kernel with 1, 4 and 16 times as many pairs", _kernel_tasks),
    _case("scaling-find", "one set, top 100, with 1, 4 and 16 times as many words", _find_tasks),
)
