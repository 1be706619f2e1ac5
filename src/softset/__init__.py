"""Set algebra for embeddings.

Build a set from a few examples, combine sets with AND, OR and NOT, and ask how much anything belongs:

>>> from softset import Subspace
>>> flat = Subspace.span([[1, 0, 0], [0, 1, 0]])
>>> upright = Subspace.span([[0, 1, 0], [0, 0, 1]])
>>> flat & upright
Subspace(dim=1, ambient=3)
>>> round(float(flat.membership([3, 0, 4])), 3)
0.6
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softset.algebra import GradedSubspace, SoftSet, Subspace
    from softset.encoders.base import Encoder
    from softset.encoders.loading import load_encoder
    from softset.encoders.tokensets import TokenSets
    from softset.errors import SoftsetError
    from softset.search.words import WordVectors, load_words
    from softset.similarity.calibration import Calibration
    from softset.similarity.idf import Idf
    from softset.similarity.metrics.registry import metric
    from softset.similarity.scorer import Scorer
    from softset.similarity.scores import Scores
    from softset.similarity.scoring import pairwise, score

__version__ = "0.6.0"

__all__ = [
    "Calibration",
    "Encoder",
    "GradedSubspace",
    "Idf",
    "Scorer",
    "Scores",
    "SoftSet",
    "SoftsetError",
    "Subspace",
    "TokenSets",
    "WordVectors",
    "load_encoder",
    "load_words",
    "metric",
    "pairwise",
    "score",
]

_HOME = {
    "Calibration": "softset.similarity.calibration",
    "Encoder": "softset.encoders.base",
    "GradedSubspace": "softset.algebra",
    "Idf": "softset.similarity.idf",
    "Scorer": "softset.similarity.scorer",
    "Scores": "softset.similarity.scores",
    "SoftSet": "softset.algebra",
    "SoftsetError": "softset.errors",
    "Subspace": "softset.algebra",
    "TokenSets": "softset.encoders.tokensets",
    "WordVectors": "softset.search.words",
    "load_encoder": "softset.encoders.loading",
    "load_words": "softset.search.words",
    "metric": "softset.similarity.metrics.registry",
    "pairwise": "softset.similarity.scoring",
    "score": "softset.similarity.scoring",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `import softset` costs next to nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'softset' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
