"""The definition of a benchmark case: a name, a target, and a function that measures softset and a baseline."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, Literal

__all__ = ["Case", "Check", "Measurement", "SkipCase", "Target", "require_modules"]


class SkipCase(Exception):  # noqa: N818 (not an error)
    """Raised when the data or the baseline of a case is missing; the message says how to get it."""


@dataclass(frozen=True)
class Target:
    """A bound for a number, with its description."""

    text: str
    bound: float
    better: Literal["higher", "lower"]

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.better == "higher" else value <= self.bound


@dataclass(frozen=True)
class Check:
    """A second number of the same run that has its own target."""

    value: float
    target: Target

    @property
    def passed(self) -> bool:
        return self.target.is_met(self.value)

    def record(self) -> dict[str, Any]:
        return {**asdict(self.target), "value": self.value, "passed": self.passed}


@dataclass(frozen=True)
class Measurement:
    """The result of a run: the numbers of softset and of the baseline in one unit, and their ratio."""

    softset: float
    baseline: float
    unit: str
    ratio: float
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Case:
    """One row of the result table.

    Attributes:
        name: the name on the command line.
        description: what is measured.
        baseline: what it is compared with.
        ratio_meaning: how the ratio is computed.
        target: the bound of the ratio.
        run: a function of `quick` that measures.
    """

    name: str
    description: str
    baseline: str
    ratio_meaning: str
    target: Target
    run: Callable[[bool], Measurement]

    def record(self, quick: bool = False) -> dict[str, Any]:
        """Run the case and return a JSON object; `skipped` is the reason if the case cannot run."""
        record: dict[str, Any] = {
            "case": self.name,
            "description": self.description,
            "compared_with": self.baseline,
            "softset": None,
            "baseline": None,
            "unit": None,
            "ratio": None,
            "ratio_meaning": self.ratio_meaning,
            "better": self.target.better,
            "target": self.target.bound,
            "target_text": self.target.text,
            "reached": None,
            "checks": [],
            "notes": [],
            "quick": quick,
            "skipped": None,
        }
        try:
            result = self.run(quick)
        except SkipCase as reason:
            return {**record, "skipped": str(reason)}
        reached = self.target.is_met(result.ratio) and all(check.passed for check in result.checks)
        return {
            **record,
            "softset": float(result.softset),
            "baseline": float(result.baseline),
            "unit": result.unit,
            "ratio": float(result.ratio),
            "reached": bool(reached),
            "checks": [check.record() for check in result.checks],
            "notes": list(result.notes),
        }


def require_modules(*names: str) -> None:
    """Skip the case if a module is not installed."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SkipCase(f"{missing[0]} is not installed: pip install -r benchmarks/requirements.txt")
