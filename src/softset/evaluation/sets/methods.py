"""What is compared: every leaf with every logic that fits it, under every preprocessing; a name tells all three."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from softset.errors import InputError
from softset.evaluation.sets.leaves import Leaf, crisp, graded, plain
from softset.evaluation.sets.logics import logics_of
from softset.query.logic import Logic

__all__ = ["BASELINE", "DEFAULT", "PREPROCESSINGS", "Method", "all_methods", "chosen", "the_one"]

PREPROCESSINGS = ("none", "centre", "all-but-the-top", "whiten(0.2)")
APERTURES = (1.0, 2.0)


@dataclass(frozen=True)
class Method:
    """Vectors after some preprocessing, sets made of them, and how sets combine.

    >>> Method("none", crisp(), "product").name
    'none/crisp/product'
    """

    preprocessing: str
    leaf: Leaf
    logic: str

    @property
    def name(self) -> str:
        """The three names, a stroke between them."""
        return f"{self.preprocessing}/{self.leaf.name}/{self.logic}"


BASELINE = Method("none", crisp(), "lattice(alpha=0.5)")
DEFAULT = f"{Logic().preprocessing}/centroid/{Logic().name}"  # what `softset find` does


def all_methods() -> list[Method]:
    """Return all that fits together, by preprocessing and leaf.

    >>> [method.name for method in all_methods()][:2], DEFAULT in [method.name for method in all_methods()]
    (['none/near/product', 'none/near/minmax'], True)
    """
    leaves = [*plain(), crisp(), *map(graded, sorted({*APERTURES, Logic().aperture}))]
    return [Method(name, leaf, logic) for name in PREPROCESSINGS for leaf in leaves for logic in logics_of(leaf)]


def the_one(name: str) -> Method:
    """Return the method of a name.

    >>> the_one("none/crisp/product").logic
    'product'
    """
    found = next((method for method in all_methods() if method.name == name), None)
    if found is None:
        raise InputError(f"no method is called {name!r}: a name is preprocessing/leaf/logic, as {BASELINE.name}")
    return found


def chosen(patterns: Sequence[str]) -> list[Method]:
    """Return the methods whose names fit one of some patterns with * and ?; all of them without patterns.

    >>> [method.name for method in chosen(["none/crisp/lattice*5)"])]
    ['none/crisp/lattice(alpha=0.5)']
    >>> chosen(["none/gradet/*"])
    Traceback (most recent call last):
    softset.errors.InputError: no method fits 'none/gradet/*': a name is preprocessing/leaf/logic, as none/near/product
    """
    methods = all_methods()
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in methods):
            raise InputError(f"no method fits {pattern!r}: a name is preprocessing/leaf/logic, as {methods[0].name}")
    return [one for one in methods if not patterns or any(fnmatchcase(one.name, pattern) for pattern in patterns)]
