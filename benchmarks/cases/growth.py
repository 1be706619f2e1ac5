"""How time grows with the work: 1, 4 and 16 times as much."""

from collections.abc import Callable

from benchmarks.case import Case, Check, Outcome, Target
from benchmarks.cases.kernel import pairs, scored
from benchmarks.data import query, words
from benchmarks.measuring import Task, alternating, threads

__all__ = ["CASES"]

STEPS = (1, 4, 16)
TARGET = Target("no faster than the work; a tenth is left for noise", 1.1, "lower")
STEP = Target("the same of 4 times the work", 1.1, "lower")


def _growth(make: Callable[[bool], tuple[dict[int, Task], str]]) -> Callable[[bool], Outcome]:
    def run(quick: bool) -> Outcome:
        tasks, note = make(quick)
        seconds = alternating({str(step): tasks[step] for step in STEPS}, 5 if quick else 15, warm=2)
        grown = {step: seconds[str(step)] / seconds["1"] for step in STEPS}
        spent = ", ".join(f"{1e3 * seconds[str(step)]:.1f}" for step in STEPS)
        return Outcome(
            ours=grown[16],
            peer=16,
            unit="times",
            ratio=grown[16] / 16,
            notes=(f"{note}: {spent} ms, {threads()} threads",),
            also=(Check(grown[4] / 4, STEP),),
        )

    return run


def _kernel(quick: bool) -> tuple[dict[int, Task], str]:
    unit = 20 if quick else 125
    sides = {step: pairs(step * unit) for step in STEPS}
    tasks = {step: lambda A=A, B=B: scored(A, B) for step, (A, B) in sides.items()}
    return tasks, f"{unit}, {4 * unit} and {16 * unit} pairs"


def _find(quick: bool) -> tuple[dict[int, Task], str]:
    vectors = words(quick)
    sizes = {step: len(vectors) * step // 16 for step in STEPS}
    parts = {step: vectors.restrict(size) for step, size in sizes.items()}
    # Words that all parts have; the parts are vocabularies of their own, so that nothing is done for words left out.
    asked = query([word for word in parts[1].words[:1000] if word.isalpha()][100:105])
    tasks = {step: lambda part=part: part.find(asked, top=100) for step, part in parts.items()}
    return tasks, " and ".join(f"{size:,}" for size in sizes.values()) + " words"


def _case(name: str, what: str, make: Callable[[bool], tuple[dict[int, Task], str]]) -> Case:
    return Case(name, what, "the work: 16 times as much", "growth of time / growth of work", TARGET, _growth(make))


CASES = (
    _case("growth-kernel", "the pair kernel with 1, 4 and 16 times as many pairs", _kernel),
    _case("growth-find", "one set, top 100, over 1, 4 and 16 times as many words", _find),
)
