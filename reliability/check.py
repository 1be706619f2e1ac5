"""A reliability check and its result."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


class CheckSkipped(Exception):  # noqa: N818 (not an error)
    """The check cannot run on this machine; the message says why."""


class CheckFailed(Exception):  # noqa: N818 (the outcome of a check)
    """The software failed; the message says how to reproduce it."""


@dataclass(frozen=True)
class CheckResult:
    """How much was tested, and figures about it."""

    scope: str
    figures: dict[str, str] = field(default_factory=dict)


Run = Callable[[bool], CheckResult]  # takes whether to run the short form


@dataclass(frozen=True)
class Check:
    """One row of the table in docs/reliability.md."""

    name: str
    group: str
    description: str
    goal: str
    run: Run

    def describe(self, short: bool) -> dict[str, Any]:
        """Return what is known about the check before it runs."""
        facts = {"name": self.name, "group": self.group, "description": self.description, "goal": self.goal}
        return facts | {"short": short, "ok": True, "skipped": None, "failure": None}

    def execute(self, short: bool) -> dict[str, Any]:
        """Run the check and return its result as a dictionary."""
        facts = self.describe(short)
        try:
            return facts | asdict(self.run(short))
        except CheckSkipped as reason:
            return facts | {"ok": None, "skipped": str(reason)}
        except CheckFailed as failure:
            return facts | {"ok": False, "failure": str(failure)}


CHECKS: dict[str, Check] = {}


def check(name: str, group: str, description: str, *, goal: str) -> Callable[[Run], Run]:
    """Return a decorator that adds a function to the checks."""

    def register(run: Run) -> Run:
        CHECKS[name] = Check(name, group, description, goal, run)
        return run

    return register


def failure_of(label: str, error: BaseException) -> CheckFailed:
    """Return the failure that an error means, with a label that says where it happened."""
    kind = "" if isinstance(error, CheckFailed) else f"{type(error).__name__}: "
    return CheckFailed(f"{label}: {kind}{str(error)[:300]}")


def expect(condition: object, message: str) -> None:
    """Fail the check unless a condition holds; unlike an assertion, `python -O` does not disable it."""
    if not condition:
        raise CheckFailed(message)
