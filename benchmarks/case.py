"""What a benchmark case is: a name, a target, and a run that gives two numbers and their ratio."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

__all__ = ["Case", "Check", "Outcome", "Skip", "Target", "needs"]

Better = Literal["higher", "lower"]


class Skip(Exception):  # noqa: N818 (no error: the case cannot be run here, and says why)
    """The data or the peer of a case is not here; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Target:
    """What the ratio has to reach, in words and as a bound."""

    text: str
    bound: float
    better: Better

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.better == "higher" else ratio <= self.bound


@dataclass(frozen=True)
class Check:
    """A second number of the same run that has a bound of its own."""

    value: float
    target: Target

    @property
    def ok(self) -> bool:
        return self.target.met(self.value)

    def record(self) -> dict[str, Any]:
        return {
            "what": self.target.text,
            "value": self.value,
            "target": self.target.bound,
            "better": self.target.better,
            "ok": self.ok,
        }


@dataclass(frozen=True)
class Outcome:
    """What a run measured: ours and the peer's in one unit, their ratio, and what else is worth saying."""

    ours: float
    peer: float
    unit: str
    ratio: float
    notes: tuple[str, ...] = ()
    also: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Case:
    """One line of the table. `ratio_is` says what the ratio is made of; `target.better` which way is better."""

    name: str
    about: str
    peer: str
    ratio_is: str
    target: Target
    run: Callable[[bool], Outcome]

    def record(self, quick: bool = False) -> dict[str, Any]:
        """Run the case, or say why it cannot be; the keys are always the same."""
        found: dict[str, Any] = {
            "case": self.name,
            "about": self.about,
            "against": self.peer,
            "ours": None,
            "peer": None,
            "unit": None,
            "ratio": None,
            "ratio_is": self.ratio_is,
            "better": self.target.better,
            "target": self.target.bound,
            "target_text": self.target.text,
            "ok": None,
            "also": [],
            "notes": [],
            "quick": quick,
            "skipped": None,
        }
        try:
            outcome = self.run(quick)
        except Skip as reason:
            return {**found, "skipped": str(reason)}
        ok = self.target.met(outcome.ratio) and all(one.ok for one in outcome.also)
        return {
            **found,
            "ours": float(outcome.ours),
            "peer": float(outcome.peer),
            "unit": outcome.unit,
            "ratio": float(outcome.ratio),
            "ok": bool(ok),
            "also": [one.record() for one in outcome.also],
            "notes": list(outcome.notes),
        }


def needs(*modules: str) -> None:
    """Skip the case where a peer is not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise Skip(f"{missing[0]} is not installed: pip install -r benchmarks/requirements.txt")
