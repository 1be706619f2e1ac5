"""Schemas of request bodies. FastAPI validates requests with them and describes them in OpenAPI."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_LIST_ITEMS = 100_000  # validation runs in the event loop, so it must be fast
MAX_OBJECT_KEYS = 1_000
QUERY = "{red, blue, green} & {apple, peach, banana}"
LogicName = Literal["logistic", "graded", "lattice"]


def _check_encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start} is a lone surrogate, which is not valid text") from None
    return text


def _check_size(value: Any) -> Any:
    limit = MAX_OBJECT_KEYS if isinstance(value, dict) else MAX_LIST_ITEMS
    if isinstance(value, dict | list) and len(value) > limit:
        raise ValueError(f"{len(value):,} elements were given, but the limit is {limit:,}")
    return value


Text = Annotated[str, AfterValidator(_check_encodable)]
Texts = Annotated[list[Text], Field(fail_fast=True), BeforeValidator(_check_size)]


class _RequestBody(BaseModel):
    """Base of all request bodies: unknown fields are refused, and values are not converted between types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, value: Any) -> Any:
        return _check_size(value)


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class SetRequest(_RequestBody):
    """Options of all set queries."""

    logic: LogicName | None = Field(None, description="How sets are combined; logistic by default.")
    alpha: float | None = Field(None, ge=0, lt=1, description="Tolerance of AND in the lattice logic.")
    aperture: Annotated[float | Literal["inf"], AfterValidator(float)] | None = Field(
        None, description="Aperture of graded sets, above 0; larger values give crisper sets, inf crisp sets."
    )
    floor: float | None = Field(None, gt=0, lt=1, description="Minimum grade in intersections of graded sets.")
    preprocessing: Literal["none", "centre", "all-but-the-top", "whiten"] | None = Field(
        None, description="Preprocessing of word vectors; by default that of the logic."
    )
    vectors: Text | None = Field(None, description="Name of word vectors, see /v1/models.")
    collection: Text | None = Field(None, description="Name of a collection to search instead of word vectors.")
    sets: Annotated[dict[Text, Texts], BeforeValidator(_check_size)] | None = Field(
        None, description="Examples of named sets, which queries refer to as @name."
    )
    skip_unknown: bool = Field(False, description="Skip examples without a vector, and list them.")
    plain: bool = Field(False, description='Read the query as a question in plain words, with "but not" and "or".')
    lexical: bool = Field(True, description="In collections, count the words of texts beside their vectors.")
    explain: bool = Field(
        False, description="Add the membership in each set, the nearest examples, and the membership without BUT NOT."
    )

    def options(self, *exclude: str) -> dict[str, Any]:
        """Return the options of the search, which have the names of the arguments in Python."""
        not_options = {"query", "texts", "vectors", "collection", "percentile"}
        return self.model_dump(exclude={*not_options, *exclude})


class SearchRequest(SetRequest):
    """Options of searches."""

    top: int = Field(10, ge=1, le=1000, description="Maximum number of results.")
    offset: int = Field(0, ge=0, le=10_000, description="Number of best results to skip, for the next page.")
    min_score: float = Field(0.0, ge=0, le=1, description="Minimum membership of results.")
    distinct: float | None = Field(
        None, gt=0, le=1, description="Leave out results whose cosine with a better result is at least this value."
    )
    restrict_vocab: int | None = Field(
        None, ge=1, description="Search only this many words from the start; most files list frequent words first."
    )
    include_examples: bool = Field(False, description="Include the examples of the query in the results.")
    variants: bool = Field(False, description="Include case, plural and spelling variants of the examples.")
    filter: Text | None = Field(
        None, description='Condition on the metadata of items, such as year > 1900 and lang in ("en", "de").'
    )


class FindRequest(SearchRequest):
    """A search with one query, or with several."""

    query: Text | Annotated[Texts, Field(min_length=1)]
    excluded: bool = Field(False, description="List the items that BUT NOT removes, instead of the best items.")
    percentile: bool = Field(False, description="Add the percentage of items that rank below each result.")
    model_config = _examples({"query": QUERY, "top": 3}, {"query": ["{dog, cat} BUT NOT {wolf, lion}", "~red & fruit"]})


class MapRequest(SearchRequest):
    """A search whose sets and results are projected to two dimensions."""

    query: Text
    model_config = _examples({"query": QUERY, "top": 20})


class MembershipRequest(SetRequest):
    """A query, and texts whose membership is computed."""

    query: Text
    texts: Texts = Field(min_length=1)
    model_config = _examples({"query": QUERY, "texts": ["orange", "dog"]})


class EncoderRequest(_RequestBody):
    """The model that encodes texts, and its options."""

    model: Text | None = Field(None, description="Name of a model; by default the first one of /v1/models.")
    layer: int | float | Text = Field(
        "last", description="Number of a layer, negative from the end; a fraction of the depth such as 0.5; or last."
    )
    unit: Literal["token", "word"] = "token"
    special_tokens: bool = Field(False, description="Include special tokens such as [CLS].")
    overflow: Literal["window", "truncate", "error"] = "window"
    max_length: int | None = Field(None, ge=1, description="Maximum number of tokens per window.")

    def options(self) -> dict[str, Any]:
        """Return the options that are not the default ones; they have the names of the arguments in Python."""
        names = {"layer", "unit", "special_tokens", "overflow", "max_length"}
        return self.model_dump(include=names, exclude_defaults=True)


class MetricRequest(EncoderRequest):
    """Candidates, and the metric that compares them with references."""

    candidates: Texts = Field(min_length=1)
    metric: Text = Field("softset", description="A metric such as subspace(weights=l2).")
    rescale: Literal["chance"] | None = None


class ScoreRequest(MetricRequest):
    """Candidates, each with one reference or a list of references."""

    references: Texts | Annotated[list[Texts], Field(fail_fast=True), BeforeValidator(_check_size)]
    multi_reference: Literal["best", "mean", "union"] = "best"
    model_config = _examples(
        {"candidates": ["A red book."], "references": ["The book is red."]},
        {"candidates": ["It rains."], "references": [["Rain falls.", "It is dry."]], "metric": "bertscore"},
    )


class MatrixRequest(MetricRequest):
    """Candidates and references that are compared pairwise; candidates with each other if there are no references."""

    references: Texts | None = None
    model_config = _examples({"candidates": ["red", "blue"], "references": ["green", "pen"], "model": "words"})


class ExplainRequest(EncoderRequest):
    """Two texts whose scores are explained token by token."""

    candidate: Text
    reference: Text
    metrics: Texts = Field(["bertscore", "softset"], min_length=1, max_length=6)
    model_config = _examples({"candidate": "Royalty", "reference": "The king and the queen."})


class AddItemsRequest(_RequestBody):
    """Texts for a temporary collection."""

    texts: Texts = Field(min_length=1)
    model_config = _examples({"texts": ["A calm lake"]})


class CreateCollectionRequest(AddItemsRequest):
    """Texts of a new temporary collection."""

    model: Text | None = Field(None, description="Model that encodes the texts; by default the first of /v1/models.")
    model_config = _examples({"texts": ["A storm at sea", "Bread and butter"], "model": "words"})
