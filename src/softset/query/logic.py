"""How a tree of sets becomes memberships: five logics by name, and their parameters. `combining.py` carries them out.

=========  ========================================================================================================
lattice    the paper's: leaves are spans, | is the sum space, & the nearly shared directions (alpha), - is `without`
graded     leaves are graded sets (aperture), combined by conceptor logic; & stands on a floor
product    leaves are graded sets, their *memberships* are combined: a b, sqrt(a^2 + b^2 - a^2 b^2), sqrt(1 - a^2)
minmax     the same by min, max and sqrt(1 - a^2)
logistic   leaves are the middle of their examples, memberships are chances: a b, max(a, b), 1 - a (`centroid.py`)
=========  ========================================================================================================

The last is the default, for whitened vectors: it was chosen on the training and validation sets of LDA-1k, and
docs/results.md has the table of the test sets.
"""

from dataclasses import dataclass
from typing import ClassVar

from softset.errors import InputError

__all__ = ["Logic"]


@dataclass(frozen=True)
class Logic:
    """A logic by name, and what it needs: alpha of the lattice, aperture of graded sets, floor of the graded AND.

    >>> Logic("lattice", alpha=0.5)
    Logic(name='lattice', alpha=0.5, aperture=2.0, floor=0.05)
    >>> Logic().parameters, Logic("graded").parameters
    ((), ('aperture', 'floor'))
    """

    name: str = "logistic"
    alpha: float = 0.5
    aperture: float = 2.0
    floor: float = 0.05

    NAMES: ClassVar[tuple[str, ...]] = ("lattice", "graded", "product", "minmax", "logistic")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise InputError(f"the logic {self.name!r} is not known: use one of {', '.join(self.NAMES)}")
        if not 0 <= self.alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, but {self.alpha} was given")
        if not self.aperture > 0:
            raise InputError(f"the aperture must be above 0, but {self.aperture} was given")
        if not 0 < self.floor < 1:
            raise InputError(f"the floor must be above 0 and below 1, but {self.floor} was given")

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of those parameters that count."""
        return {"lattice": ("alpha",), "graded": ("aperture", "floor"), "logistic": ()}.get(self.name, ("aperture",))

    @property
    def preprocessing(self) -> str:
        """What is done to word vectors unless something else is wanted."""
        return "whiten(0.2)" if self.name == "logistic" else "none"

    @property
    def on_sets(self) -> bool:
        """Tell whether sets are combined (lattice, graded) rather than memberships."""
        return self.name in ("lattice", "graded")

    def __str__(self) -> str:
        """Return the name with the parameters that count."""
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in self.parameters)
        return f"{self.name}({values})" if values else self.name
