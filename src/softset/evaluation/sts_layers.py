"""One vector against sets of vectors, on a layer that no sentence task has tuned and on one that it has (table 6).

The paper takes BERT and SimCSE. Within one model that was tuned for sentences the same question is asked of a layer in
the middle, whose vectors are still those of tokens, and of the last.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from softset.encoders.base import Encoder
from softset.errors import InputError
from softset.evaluation.results import Table
from softset.evaluation.sts import StsRun
from softset.evaluation.sts_data import SentencePairs
from softset.io.checkpoint import PartFolder

__all__ = ["LAYERS", "METHODS", "compare_layers"]

LAYERS = (0.5, "last")  # the middle and the end
METHODS = ("cls", "average", "bertscore", "subspace")


def compare_layers(
    runs: Sequence[StsRun],
    pairs: SentencePairs,
    *,
    parts: PartFolder | None = None,
    facts: dict[str, Any] | None = None,
) -> Table:
    """Return one column a run, each named by the layer of its encoder."""
    tables = [run.table([replace(pairs, name=f"{pairs.name}, {named(run.encoder)}")], parts=parts) for run in runs]
    rows = tuple(row for table in tables for row in table.rows if row.metric != "seconds")
    signatures = {named(run.encoder): run.encoder.signature for run in runs}
    about = {**tables[0].facts, **(facts or {}), "encoder": signatures}
    title = "One vector against sets of vectors: correlation with people's judgements"
    return Table(title, rows, tables[0].baseline, about)


def named(encoder: Encoder) -> str:
    """Return the name of an encoder's layer.

    >>> import softset
    >>> named(softset.load_encoder("minilm", layer=0.5))
    'layer 3'
    """
    layer = getattr(getattr(encoder, "encoder", encoder), "layer", None)
    if layer is None:
        raise InputError("this model has no layers to compare: use one that reads tokens, such as minilm")
    return f"layer {layer}"
