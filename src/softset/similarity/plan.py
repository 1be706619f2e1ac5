"""The scoring plan: all options of a scorer, resolved for one encoder and one set of references."""

from dataclasses import dataclass
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
        encoder: encodes the texts; None if only vectors are scored.
        metric: the metric, resolved for this encoder.
        idf: token weights; None if the metric does not use them.
        moment: (d, d) the second moment of the encoder's unit vectors; None if it is unknown or not used.
        rescale: "chance", a calibration that fits the signature, or None.
        multi_reference: how to combine several references.
        signature: the facts above in one line.
    """

    encoder: Encoder | None
    metric: Metric
    idf: Idf | None
    moment: np.ndarray | None
    rescale: Rescale
    multi_reference: MultiReference
    signature: str


def resolve_plan(
    source: str,
    metric: Metric,
    *,
    encoder: Encoder | None = None,
    idf: Idf | None = None,
    moment: np.ndarray | None = None,
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    multiple_references: bool = False,
) -> ScoringPlan:
    """Return the plan for token sets with the signature `source`; `multiple_references` if a candidate has several."""
    from softset import __version__

    tokenizer = tokenizer_of(source)
    if idf is not None and idf.encoder != tokenizer:
        raise InputError(
            f"the idf weights were fitted with {idf.encoder}, but the texts are encoded with {tokenizer}: fit them "
            "with the same model"
        )
    resolved = metric.resolve(has_moment=moment is not None)
    weights = None if idf is None else idf.checksum
    base = f"{format_signature({'metric': resolved, 'idf': weights})}|{encoder_signature(source)}"
    level: str | None = None
    if isinstance(rescale, Calibration):
        if rescale.signature != base:
            raise InputError(
                f"this calibration was fitted with {rescale.signature}, but the scores have {base}: fit it with "
                "the same model, metric and options (and idf weights, if the metric uses them)"
            )
        level = "measured({:.6g},{:.6g},{:.6g})".format(*rescale.levels)
    elif rescale is not None:
        level = "chance"
    facts = {
        "softset": __version__,
        "rescale": level,
        "multi_reference": multi_reference if multiple_references else None,
    }
    signature = f"{format_signature(facts)}|{base}"
    return ScoringPlan(encoder, resolved, idf, moment, rescale, multi_reference, signature)
