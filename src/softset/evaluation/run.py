"""What every evaluation of metrics has: an encoder, the methods to compare, draws by a seed, and whom to tell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softset import __version__
from softset.encoders.base import Encoder, Progress
from softset.evaluation.agreement import Finding
from softset.evaluation.methods import DEFAULT, Method, usable_methods
from softset.evaluation.results import Row

__all__ = ["Run", "found_row"]


@dataclass(frozen=True, eq=False)
class Run:
    """An encoder, the methods to compare, and how; `table` of those that are made of it gives the result.

    Attributes:
        encoder: what encodes the texts.
        methods: what is compared; those that the encoder cannot serve are left out.
        samples: draws of the bootstrap.
        seed: of these draws, and of all else that is drawn.
        note: is told what was left out, and how long each part took.
        progress: is told how many texts are done.
    """

    FACTS: ClassVar[dict[str, str]] = {}  # what a reader of the table should know

    encoder: Encoder
    methods: Sequence[Method]
    samples: int = 1000
    seed: int = 12345
    note: Callable[[str], None] = lambda _: None
    progress: Progress | None = None

    def facts(self) -> dict[str, Any]:
        """Return what makes the numbers, beside the data.

        >>> import softset
        >>> Run(softset.load_encoder("words"), [], samples=9).facts()["samples"]
        9
        """
        return {"encoder": self.encoder.signature, "samples": self.samples, "seed": self.seed, **self.FACTS}

    def made_by(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a run that goes on.

        >>> import softset
        >>> Run(softset.load_encoder("words"), [Method.named("average")]).made_by({"limit": 3})["methods"]
        ['average']
        """
        return {"softset": __version__, "methods": [one.name for one in self.methods], **self.facts(), **data}

    def usable(self) -> tuple[list[Method], np.ndarray | None]:
        """Return the methods that the encoder can serve, and its second moment; tell which it cannot, and why.

        >>> import softset
        >>> methods, moment = Run(softset.load_encoder("words"), [Method.named("average")]).usable()
        >>> moment.shape
        (300, 300)
        """
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None)
        return usable_methods(self.methods, self.encoder.encode(["a"]), moment, self.note), moment


def found_row(task: str, dataset: str, method: str, metric: str, found: Finding, n: int, seconds: float) -> Row:
    """Return the row of what was found.

    >>> found_row("sts", "STS12", "average", "spearman", Finding(0.5, 0.4, 0.6, None, 0.0, None), 9, 0.1).high
    0.6
    """
    return Row(
        task=task,
        dataset=dataset,
        method=method,
        metric=metric,
        value=found.value,
        n=n,
        low=found.low,
        high=found.high,
        p=found.p,
        seconds=round(seconds, 4),
        default=method == DEFAULT,
    )
