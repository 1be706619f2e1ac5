"""What a check is: a name, what it does and what is to be reached, and a run that tells what happened."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Broken", "Check", "Finding", "Skip", "expect"]


class Skip(Exception):  # noqa: N818 (no error: the check cannot be made here, and says why)
    """What a check needs is not here; the message is one sentence that says what."""


class Broken(Exception):  # noqa: N818 (what a check is there to find)
    """The software did not survive; the message has what to reproduce it with."""


@dataclass(frozen=True)
class Finding:
    """How much was tried, in words, and figures of it."""

    tried: str
    figures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One line of the table. A run in short form only shows that nothing obvious is broken."""

    name: str
    group: str
    about: str
    wanted: str
    run: Callable[[bool], Finding]

    def told(self, short: bool) -> dict[str, Any]:
        """Return what is known of the check before it runs."""
        about = {"name": self.name, "group": self.group, "about": self.about, "wanted": self.wanted}
        return about | {"short": short, "ok": True, "skipped": None, "broken": None}

    def record(self, short: bool) -> dict[str, Any]:
        """Run the check; what it finds broken is a result too, and says how to see it again."""
        told = self.told(short)
        try:
            return told | asdict(self.run(short))
        except Skip as reason:
            return told | {"ok": None, "skipped": str(reason)}
        except Broken as what:
            return told | {"ok": False, "broken": str(what)}


def expect(holds: object, what: str) -> None:
    """Say what broke unless something holds; an assertion could be switched off."""
    if not holds:
        raise Broken(what)
