"""Schemas of responses. They are derived from the result classes of the library, whose `to_dict` is the response."""

from inspect import signature
from typing import Any, get_type_hints

import numpy as np
from pydantic import BaseModel, create_model

from softset.search.projection_2d import Point, ProjectedSet, Projection2D
from softset.search.results import Hit, ItemMembership, LeafMembership, MembershipResult, SearchResult
from softset.similarity.explain.data import ChanceLevel, ExplainedText, Explanation, MetricView
from softset.similarity.scores import NUMBERS, ScoreMatrix, ScoreRow


def _derive(source: type, omit: tuple[str, ...] = (), /, **changed: Any) -> Any:
    """Return a model with the fields of a dataclass or named tuple; fields with a default are optional.

    `changed` has other types for some fields, or further fields; a pair (type, None) makes a field optional.
    """
    hints = {name: list[Any] if hint is np.ndarray else hint for name, hint in get_type_hints(source).items()}
    types = {name: hint for name, hint in (hints | changed).items() if name not in omit}
    optional = {name for name, argument in signature(source).parameters.items() if argument.default != argument.empty}
    definitions: dict[str, Any] = {
        name: hint if isinstance(hint, tuple) else (hint, None if name in optional else ...)
        for name, hint in types.items()
    }
    return create_model(source.__name__, __doc__=source.__doc__, **definitions)


def _list(item: Any) -> Any:
    return list[item]


_Leaf = _derive(LeafMembership, examples=dict[str, float])
_Point = _derive(Point)
_Text = _derive(ExplainedText)
_ProjectedSet = _derive(ProjectedSet, ("centre",), **get_type_hints(Point), examples=_list(_Point))
_View = _derive(MetricView, chance=_derive(ChanceLevel) | None)

FindResponse = _derive(
    SearchResult,
    ("rows", "plan", "source"),
    results=_list(_derive(Hit, ("index",), percentile=(float, None), leaves=(_list(_Leaf), None))),
)
MembershipResponse = _derive(
    MembershipResult, ("rows",), memberships=_list(_derive(ItemMembership, leaves=_list(_Leaf)))
)
MapResponse = _derive(Projection2D, sets=_list(_ProjectedSet), items=_list(_Point))
MatrixResponse = _derive(ScoreMatrix, ("score_kind",), **dict.fromkeys(NUMBERS, list[list[float]]))
ExplainResponse = _derive(Explanation, ("views",), candidate=_Text, reference=_Text, metrics=_list(_View))


class ScoreResponse(BaseModel):
    """Mean scores, and the scores of each pair."""

    signature: str
    precision: float
    recall: float
    score: float
    pairs: int
    segments: _list(_derive(ScoreRow))  # type: ignore[valid-type]  # a model that is created at run time


class QueryErrorResponse(BaseModel):
    """The error of one query in a list of queries."""

    query: str
    error: str


class CollectionResponse(BaseModel):
    """A temporary collection; it expires `lifetime` seconds after its last use."""

    collection: str
    items: int
    without_vector: int
    lifetime: float
