"""What requests say and what answers hold, as types: FastAPI checks the ones and describes both."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = [
    "DropAnswer",
    "DropRequest",
    "ExplainAnswer",
    "ExplainRequest",
    "FindAnswer",
    "FindRequest",
    "HealthAnswer",
    "MapAnswer",
    "MapRequest",
    "MatrixAnswer",
    "MatrixRequest",
    "MembershipAnswer",
    "MembershipRequest",
    "MoreRequest",
    "OffersAnswer",
    "QueryFailure",
    "ScoreAnswer",
    "ScoreRequest",
]

EXAMPLE = "{red, blue, green} & {apple, peach, banana}"
LogicName = Literal["lattice", "graded", "product", "minmax", "logistic"]


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a surrogate pair at character {error.start} is no text") from None
    return text


MOST_PARTS = 100_000  # of a list; how many of them are taken is the operator's to say, and checked later


def _bounded(given: Any) -> Any:
    """Refuse what is too large to be looked at one by one: that is done in the loop that takes requests."""
    if isinstance(given, dict | list) and len(given) > (MOST_PARTS if isinstance(given, list) else MOST_PARTS // 100):
        raise ValueError(f"{len(given):,} parts are too many")
    return given


Text = Annotated[str, AfterValidator(_encodable)]
Texts = Annotated[list[Text], Field(fail_fast=True), BeforeValidator(_bounded)]
Share = Annotated[float, Field(ge=0, le=1)]


class Request(BaseModel):
    """What all requests share: nothing that is not named here, and every value of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, given: Any) -> Any:
        return _bounded(given)


def _shown(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


# Sets


class SetRequest(Request):
    """Where a query's sets are found, and how they combine."""

    logic: LogicName | None = Field(None, description="How sets combine; logistic unless given.")
    alpha: float | None = Field(None, ge=0, lt=1, description="Tolerance of AND in the lattice.")
    aperture: float | Literal["inf"] | None = Field(None, description="How graded sets are; inf is crisp.")
    floor: float | None = Field(None, gt=0, lt=1, description="What AND of graded sets stands on.")
    preprocessing: Literal["none", "centre", "all-but-the-top", "whiten"] | None = Field(
        None, description="What is done to word vectors first; what suits the logic unless given."
    )
    vectors: Text | None = Field(None, description="Word vectors by name: see /v1/models.")
    collection: Text | None = Field(None, description="A collection by name, in place of word vectors.")
    sets: Annotated[dict[Text, Texts], BeforeValidator(_bounded)] | None = Field(
        None, description="Examples of named sets, which queries call @name."
    )
    skip_unknown: bool = Field(False, description="Leave out words that have no vector, and list them.")
    explain: bool = Field(False, description="Add each set's share, and the examples that carry it.")


class SearchRequest(SetRequest):
    """What a search may be told beside its query."""

    top: int = Field(10, ge=1, le=1000, description="How many items to return at most.")
    least: Share = Field(0.0, description="Only items with at least this membership.")
    restrict: int | None = Field(None, ge=1, description="Search only the first so many words, the most frequent.")
    with_examples: bool = Field(False, description="Keep the query's own words among the results.")


class FindRequest(SearchRequest):
    """Which items belong most to a query; of a list of queries, to each."""

    query: Text | Annotated[Texts, Field(min_length=1)]
    model_config = _shown({"query": EXAMPLE, "top": 3}, {"query": ["{dog, cat} BUT NOT {wolf, lion}", "~red & fruit"]})


class MapRequest(SearchRequest):
    """The sets of a query and its best items as points of a plane."""

    query: Text
    model_config = _shown({"query": EXAMPLE, "top": 20})


class MembershipRequest(SetRequest):
    """How much texts belong to a query."""

    query: Text
    texts: Texts = Field(min_length=1)
    model_config = _shown({"query": EXAMPLE, "texts": ["orange", "dog"]})


class LeafMembership(BaseModel):
    """An item's membership in one set of the query, and the cosines with the examples it is nearest to."""

    leaf: str
    membership: float
    negated: bool
    examples: dict[str, float]


class Hit(BaseModel):
    """An item that was found; `percentile` is the share of all items that rank below it."""

    id: str
    membership: float
    percentile: float
    text: str | None = None
    metadata: dict[str, Any] | None = None
    leaves: list[LeafMembership] | None = None


class FindAnswer(BaseModel):
    """The result of one query, as `softset find --json` prints it."""

    query: str
    logic: str
    signature: str
    results: list[Hit]
    resolved_as: dict[str, str] | None = None
    notes: list[str] | None = None
    unknown: list[str] | None = None


class QueryFailure(BaseModel):
    """One of several queries that could not be answered."""

    query: str
    error: str


class ItemMembership(BaseModel):
    """One text's membership; null if it has no vector, and such are skipped."""

    id: str
    membership: float | None
    resolved_as: str | None = None
    leaves: list[LeafMembership] | None = None


class MembershipAnswer(BaseModel):
    """The memberships of texts, as `softset membership --json` prints them."""

    query: str
    logic: str
    signature: str
    memberships: list[ItemMembership]
    notes: list[str] | None = None
    unknown: list[str] | None = None


class Point(BaseModel):
    """Where something is on the map."""

    name: str
    x: float
    y: float


class MappedSet(Point):
    """A set's middle, and its examples."""

    examples: list[Point]


class MapAnswer(BaseModel):
    """A map; `explained_variance` is the plane's share of the points' variance."""

    sets: list[MappedSet]
    items: list[Point]
    explained_variance: float


# Texts


class EncoderRequest(Request):
    """Which model encodes texts, and how."""

    model: Text | None = Field(None, description="A model by name, the first of /v1/models unless given: minilm.")
    layer: int | float | Text = Field(
        "last", description="A number, a negative one from the end, a share of the depth, last; also as text, as 0.5."
    )
    unit: Literal["token", "word"] = "token"
    special_tokens: bool = Field(False, description="Count marks such as [CLS] as members of the sets.")
    overflow: Literal["window", "truncate", "error"] = "window"
    max_length: int | None = Field(None, ge=1, description="Tokens at once.")


class ScoreRequest(EncoderRequest):
    """How alike candidates are to their references, or each to its list of references."""

    candidates: Texts = Field(min_length=1)
    references: Texts | Annotated[list[Texts], Field(fail_fast=True), BeforeValidator(_bounded)]
    metric: Text = Field("softset", description="A metric, such as subspace(weights=l2).")
    rescale: Literal["chance"] | None = None
    multi_reference: Literal["best", "mean", "union"] = "best"
    model_config = _shown(
        {"candidates": ["A red book."], "references": ["The book is red."], "layer": 4},
        {"candidates": ["It rains."], "references": [["Rain falls.", "It is dry."]], "metric": "bertscore"},
    )


class MatrixRequest(EncoderRequest):
    """How alike every candidate is to every reference; to every candidate, if there are none."""

    candidates: Texts = Field(min_length=1)
    references: Texts | None = None
    metric: Text = "softset"
    rescale: Literal["chance"] | None = None
    model_config = _shown({"candidates": ["red", "blue"], "references": ["green", "pen"], "model": "words"})


class ExplainRequest(EncoderRequest):
    """Why two texts score what they do, token by token."""

    candidate: Text
    reference: Text
    metrics: Texts = Field(["bertscore", "softset"], min_length=1, max_length=6)
    model_config = _shown({"candidate": "Royalty", "reference": "The king and the queen."})


class Segment(BaseModel):
    """The scores of one pair."""

    precision: float
    recall: float
    score: float
    candidate_tokens: int
    reference_tokens: int
    truncated: int
    unknown: int
    empty: bool
    saturated: bool
    best_reference: int


class ScoreAnswer(BaseModel):
    """Scores and their means, as `softset score --json` prints them."""

    signature: str
    precision: float
    recall: float
    score: float
    pairs: int
    segments: list[Segment]


class MatrixAnswer(BaseModel):
    """Scores of every candidate, a row each, with every reference."""

    signature: str
    precision: list[list[float]]
    recall: list[list[float]]
    score: list[list[float]]


class Side(BaseModel):
    """One of the two texts, its tokens, and where these are in it."""

    text: str | None
    tokens: list[str]
    spans: list[tuple[int, int]] | None


class Level(BaseModel):
    """What unrelated texts score."""

    precision: float
    recall: float
    score: float
    how: str


class View(BaseModel):
    """What one metric sees in the two texts."""

    metric: str
    precision: float
    recall: float
    score: float
    candidate_membership: list[float]
    reference_membership: list[float]
    candidate_weights: list[float]
    reference_weights: list[float]
    candidate_links: list[list[float]]
    reference_links: list[list[float]]
    links: str
    chance: Level | None


class ExplainAnswer(BaseModel):
    """An explanation, as `softset explain --json` prints it."""

    signature: str
    candidate: Side
    reference: Side
    cosines: list[list[float]]
    metrics: list[View]


# Collections, and the server itself


class DropRequest(Request):
    """Lines of text to be searched."""

    texts: Texts = Field(min_length=1)
    model: Text | None = Field(None, description="What reads the lines; the first of /v1/models unless given.")
    model_config = _shown({"texts": ["A storm at sea", "Bread and butter"], "model": "words"})


class MoreRequest(Request):
    """More lines for a collection."""

    texts: Texts = Field(min_length=1)
    model_config = _shown({"texts": ["A calm lake"]})


class DropAnswer(BaseModel):
    """The collection's name, how many items it has, how many of them have no vector, and how long it stays."""

    collection: str
    items: int
    blank: int
    seconds: float


class OffersAnswer(BaseModel):
    """What requests may name, and how much they may ask for."""

    models: list[str]
    vectors: list[str]
    collections: list[str]
    limits: dict[str, int | float]
    softset: str


class HealthAnswer(BaseModel):
    """The server is there; `under_way` requests are being worked on or wait."""

    status: Literal["ok"]
    softset: str
    under_way: int
    models_loaded: int
