"""Set algebra for embeddings.

Build a set from a few examples, combine sets with AND, OR and NOT, and measure the membership of any vector:

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

if TYPE_CHECKING:  # the same names as in _MODULES, for type checkers; tests/test_surface.py compares them
    from softset.algebra import GradedSubspace as GradedSubspace
    from softset.algebra import SoftSet as SoftSet
    from softset.algebra import Subspace as Subspace
    from softset.collections.collection import Collection as Collection
    from softset.encoders.base import Encoder as Encoder
    from softset.encoders.loading import load_encoder as load_encoder
    from softset.encoders.tokensets import TokenSets as TokenSets
    from softset.errors import SoftsetError as SoftsetError
    from softset.evaluation.systems import compare as compare
    from softset.query.expression import SetExpression as SetExpression
    from softset.query.named_sets import Sets as Sets
    from softset.search.words import WordVectors as WordVectors
    from softset.search.words import load_words as load_words
    from softset.similarity.functions import pairwise as pairwise
    from softset.similarity.functions import score as score
    from softset.similarity.idf import Idf as Idf
    from softset.similarity.metrics.registry import metric as metric
    from softset.similarity.rescaling import Calibration as Calibration
    from softset.similarity.scorer import Scorer as Scorer
    from softset.similarity.scores import Scores as Scores

__version__ = "0.6.0"

_MODULES = {
    "Calibration": "softset.similarity.rescaling",
    "Collection": "softset.collections.collection",
    "Encoder": "softset.encoders.base",
    "GradedSubspace": "softset.algebra",
    "Idf": "softset.similarity.idf",
    "Scorer": "softset.similarity.scorer",
    "Scores": "softset.similarity.scores",
    "SetExpression": "softset.query.expression",
    "Sets": "softset.query.named_sets",
    "SoftSet": "softset.algebra",
    "SoftsetError": "softset.errors",
    "Subspace": "softset.algebra",
    "TokenSets": "softset.encoders.tokensets",
    "WordVectors": "softset.search.words",
    "compare": "softset.evaluation.systems",
    "load_encoder": "softset.encoders.loading",
    "load_words": "softset.search.words",
    "metric": "softset.similarity.metrics.registry",
    "pairwise": "softset.similarity.functions",
    "score": "softset.similarity.functions",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that `import softset` is fast."""
    if name not in _MODULES:
        raise AttributeError(f"module 'softset' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
