"""The scoring plan: all options of a scorer, resolved for one encoder and one set of references."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from softset.encoders.base import Encoder
from softset.encoders.signature import format_signature
from softset.errors import InputError
from softset.similarity.calibration import Calibration
from softset.similarity.idf import Idf, encoder_signature, tokenizer_of
from softset.similarity.metrics import Metric
from softset.similarity.rescaling import Rescale

MultiReference = Literal["best", "mean", "union"]


@dataclass(frozen=True, eq=False)
class ScoringPlan:
    """Everything that decides the scores of one call.

    Attributes:
        source: the signature of the token sets.
        encoder: encodes the texts; None if only vectors are scored.
        metric: the metric, resolved for this encoder.
        idf: token weights; None if the metric does not use them.
        moment: (d, d) the second moment of the encoder's unit vectors; None if it is unknown or not used.
        min_level_rows: chance levels are computed for sets of at least this size; smaller ones cannot be saturated.
        rescale: "chance", a calibration that fits the signature, or None.
        multi_reference: how to combine several references.
        multiple_references: whether a candidate has several references.
    """

    source: str
    encoder: Encoder | None
    metric: Metric
    idf: Idf | None
    moment: np.ndarray | None
    min_level_rows: int
    rescale: Rescale
    multi_reference: MultiReference
    multiple_references: bool

    def __post_init__(self) -> None:
        tokenizer = tokenizer_of(self.source)
        if self.idf is not None and self.idf.encoder != tokenizer:
            raise InputError(
                f"the idf weights were fitted with {self.idf.encoder}, but the texts are encoded with {tokenizer}: fit "
                "them with the same model"
            )
        if isinstance(self.rescale, Calibration) and self.rescale.signature != self._base:
            raise InputError(
                f"this calibration was fitted with {self.rescale.signature}, but the scores have {self._base}: fit it "
                "with the same model, metric and options (and idf weights, if the metric uses them)"
            )

    @property
    def _base(self) -> str:
        weights = None if self.idf is None else self.idf.checksum
        return f"{format_signature({'metric': self.metric, 'idf': weights})}|{encoder_signature(self.source)}"

    @cached_property
    def signature(self) -> str:
        """The facts above in one line."""
        from softset import __version__

        level: str | None = self.rescale if isinstance(self.rescale, str) else None
        if isinstance(self.rescale, Calibration):
            level = "measured({:.6g},{:.6g},{:.6g})".format(*self.rescale.levels)
        combined = self.multi_reference if self.multiple_references else None
        facts = {"softset": __version__, "rescale": level, "multi_reference": combined}
        return f"{format_signature(facts)}|{self._base}"
