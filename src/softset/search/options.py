"""The options of queries and searches, in Python, on the command line and over HTTP."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypedDict

from softset.algebra import SoftSet
from softset.errors import InputError
from softset.query.background import MembershipCalibration
from softset.query.expression import SetExpression
from softset.query.logic import Logic, default_logic, resolve_logic
from softset.query.named_sets import Sets
from softset.query.parsed import ParsedQuery, Query, parse_query
from softset.query.questions import parse_question
from softset.search.filtered import ItemFilter

NamedSets = Mapping[str, Sequence[str] | SetExpression | SoftSet]


class PlanOptions(TypedDict, total=False):
    """The options of a query.

    Attributes:
        logic: "logistic" (default), "lattice" (the paper's) or "graded". The default of a query with a Subspace is
            "lattice", and with a GradedSubspace "graded".
        alpha: the tolerance of AND in the logic "lattice".
        aperture: the aperture of graded subspaces; infinity makes them crisp.
        floor: the minimum grade in intersections of the logic "graded".
        preprocessing: the preprocessing of word vectors, such as "none" or "centre"; by default that of the logic.
        sets: named sets, which queries refer to as @name: `softset.Sets`, or a dictionary of lists of examples.
        calibration: the function from scores to memberships that `calibrate` returned for this query.
        skip_unknown: leave out examples without a vector, and list them, instead of raising an error.
        plain: the query is a question in plain words: phrases such as "but not" and "or" split it into sets.
        lexical: in collections with a lexical index, whether the words of texts count beside their vectors.
    """

    logic: str | Logic | None
    alpha: float | None
    aperture: float | None
    floor: float | None
    preprocessing: str | None
    sets: NamedSets | None
    calibration: MembershipCalibration | None
    skip_unknown: bool
    plain: bool
    lexical: bool


class MembersOptions(PlanOptions, total=False):
    """The options of `members` and `count`: those of `PlanOptions` and the following.

    Attributes:
        filter: search only the items that match: a condition such as 'year > 1900 and lang in ("en", "de")', a boolean
            array (n,), or a function from an `Item` to bool. Memberships do not depend on it. With `approximate`, the
            items that match are searched exactly.
    """

    filter: ItemFilter | None


class FindOptions(MembersOptions, total=False):
    """The options of a search: those of `MembersOptions` and the following.

    Attributes:
        offset: the number of best items to skip, to show the next page.
        min_score: the lowest membership of a hit.
        distinct: leave out a hit whose cosine with a better hit is at least this, such as 0.95.
        include_examples: keep the query's own examples among the hits.
        variants: keep case, plural and spelling variants of the examples among the hits; `include_examples` does, too.
        explain: add the membership in each set of the query to every hit, and what it would be without BUT NOT.
        excluded: list the items whose memberships BUT NOT reduces most, instead of the best items.
        approximate: search an index of nearest neighbours, which is built at the first use. Complements are refused,
            because nearly every item belongs to them.
        threads: the number of threads; by default OMP_NUM_THREADS, or all cores.
        restrict_vocab: search only the first n items; examples are looked up among all.
    """

    offset: int
    min_score: float
    distinct: float | None
    include_examples: bool
    variants: bool
    explain: bool
    excluded: bool
    approximate: bool
    threads: int | None
    restrict_vocab: int | None


def named_sets(options: PlanOptions) -> Sets:
    """Return the named sets of the options."""
    sets = options.get("sets")
    return sets if isinstance(sets, Sets) else Sets(sets)


def parse_all(queries: Iterable[Query], options: PlanOptions) -> list[ParsedQuery]:
    """Return queries, or questions in plain words, as parsed queries."""
    if options.get("plain"):
        return [parse_question(query) for query in queries]
    sets = named_sets(options)
    return [parse_query(query, sets) for query in queries]


def logic_of(query: ParsedQuery, options: PlanOptions) -> Logic:
    """Return the logic that the options name, by default the one that suits the sets of the query."""
    alpha, aperture, floor = options.get("alpha"), options.get("aperture"), options.get("floor")
    return resolve_logic(options.get("logic") or default_logic(query.tree), alpha=alpha, aperture=aperture, floor=floor)


def check_find_options(top: int, options: FindOptions) -> None:
    """Raise InputError for a number that is out of its range, or for options that exclude each other."""
    counts = {"top": top, "threads": options.get("threads"), "restrict_vocab": options.get("restrict_vocab")}
    for name, value in counts.items():
        if value is not None and not (_is_number(value, Integral) and value >= 1):
            raise InputError(f"{name} must be a positive whole number, but {value!r} was given")
    offset, distinct, min_score = options.get("offset", 0), options.get("distinct"), options.get("min_score", 0.0)
    if not (_is_number(offset, Integral) and offset >= 0):
        raise InputError(f"offset must be a whole number, 0 or more, but {offset!r} was given")
    if not (_is_number(min_score, Real) and 0 <= min_score <= 1):
        raise InputError(f"min_score must be a number from 0 to 1, but {min_score!r} was given")
    if distinct is not None and not (_is_number(distinct, Real) and 0 < distinct <= 1):
        raise InputError(f"distinct must be a cosine above 0 and at most 1, such as 0.95, but {distinct!r} was given")
    if options.get("approximate") and options.get("restrict_vocab") is not None:
        raise InputError("an approximate search always covers all items: leave out restrict_vocab or approximate")


def _is_number(value: Any, kind: type) -> bool:
    """Return whether a value is a number of Python or NumPy of a kind; True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool)
