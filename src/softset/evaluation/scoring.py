"""Many methods on the same pairs: texts are encoded and laid out once, and each method's own time is taken."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from softset.evaluation.methods import Method
from softset.similarity.chance import Levels, rescaling
from softset.similarity.metrics import PRF
from softset.similarity.pairs import Pairs

__all__ = ["Scored", "score_blocks"]


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores (n,) of each method, and the seconds that its metric took; laying out pairs is not counted."""

    values: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def under(self, prefix: str) -> "Scored":
        """Return the same with a word before the name of every method.

        >>> Scored({"average": np.ones(1)}, {"average": 0.1}).under("mine/").seconds
        {'mine/average': 0.1}
        """
        return Scored(
            {prefix + name: one for name, one in self.values.items()},
            {prefix + name: one for name, one in self.seconds.items()},
        )

    def and_those(self, others: "Scored") -> "Scored":
        """Return the scores of both.

        >>> one, other = (Scored({name: np.ones(1)}, {name: 0.1}) for name in "ab")
        >>> list(one.and_those(other).values)
        ['a', 'b']
        """
        return Scored(self.values | others.values, self.seconds | others.seconds)


def score_blocks(
    methods: Sequence[Method], blocks: Iterable[tuple[slice, Pairs]], n: int, moment: np.ndarray | None = None
) -> Scored:
    """Return the scores of n pairs that come in blocks, by every method; the second moment is for chance levels.

    >>> from softset.encoders.tokensets import TokenSets
    >>> sets = TokenSets.from_arrays([[[1.0, 0.0]], [[0.6, 0.8]]])
    >>> pairs = Pairs.of(sets, sets, np.array([0]), np.array([1]))
    >>> score_blocks([Method.named("subspace")], [(slice(0, 1), pairs)], 1).values["subspace"].round(3)
    array([0.6])
    """
    distinct = {one.scored: one for one in methods}
    found = {name: np.zeros((3, n)) for name in distinct}
    seconds = dict.fromkeys(distinct, 0.0)
    for here, pairs in blocks:
        _ = pairs.units  # made once for all methods, so that the first to ask does not pay for the others
        for name, method in distinct.items():
            begun = time.perf_counter()
            found[name][:, here] = _numbers(method, pairs, moment)
            seconds[name] += time.perf_counter() - begun
    values = {one.name: getattr(PRF(*found[one.scored]), one.field) for one in methods}
    return Scored(values, {one.name: seconds[one.scored] for one in methods})


def _numbers(method: Method, pairs: Pairs, moment: np.ndarray | None) -> PRF:
    numbers = method.metric.served(moment=pairs.moment is not None).of_pairs(pairs)
    rescaled = rescaling("chance" if method.chance else None, method.metric)
    if rescaled is None:
        return numbers
    return rescaled.of_pairs(numbers, pairs, Levels.of(method.metric, pairs, moment), "")
