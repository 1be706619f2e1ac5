"""/v1/find, /v1/membership and /v1/map: sets of examples over word vectors and collections."""

from typing import Any

from fastapi import APIRouter, Request, Response

from softset.errors import SoftsetError
from softset.search.find import SearchableSource
from softset.server.schemas import (
    FindAnswer,
    FindRequest,
    MapAnswer,
    MapRequest,
    MembershipAnswer,
    MembershipRequest,
    QueryFailure,
    SearchRequest,
    SetRequest,
)
from softset.server.service import Service

__all__ = ["sets_routes"]


def sets_routes(service: Service) -> APIRouter:
    """Return the routes of a service."""
    routes = APIRouter(prefix="/v1", tags=["sets"])

    @routes.post("/find", response_model=FindAnswer | list[FindAnswer | QueryFailure])
    async def find(asked: FindRequest, request: Request) -> Response:
        """Find the words, or items, that belong most to a query.

        The answer is what `softset find --json` prints. Of a list of queries it is a list; one that cannot be answered
        has its error there, and the others are answered.
        """

        def work() -> Any:
            several = isinstance(asked.query, list)
            queries = asked.query if isinstance(asked.query, list) else [asked.query]
            service.check_queries(queries, asked.sets)
            service.limits.check("results (ten times as many if explained)", "cells", _cost(asked, len(queries)))
            items, options = _items(service, asked), {**_search_options(asked), "threads": service.threads}
            if not several:
                return items.find_many(queries, **options)[0].to_dict()
            return _found(items, queries, options)

        return await service.answer(request, work)

    @routes.post("/membership", response_model=MembershipAnswer)
    async def membership(asked: MembershipRequest, request: Request) -> Response:
        """Tell how much words or texts belong to a query: what `softset membership --json` prints."""

        def work() -> Any:
            service.check_queries([asked.query], asked.sets)
            service.limits.check("texts", "texts", len(asked.texts))
            items = _items(service, asked)
            options = {**_set_options(asked), "threads": service.threads}
            return items.membership(asked.query, asked.texts, **options).to_dict()

        return await service.answer(request, work)

    @routes.post("/map", response_model=MapAnswer)
    async def map_(asked: MapRequest, request: Request) -> Response:
        """Return the sets of a query and its best items as points of a plane, for a picture."""

        def work() -> Any:
            service.check_queries([asked.query], asked.sets)
            options = {**_search_options(asked), "threads": service.threads}
            return _items(service, asked).map(asked.query, **options).to_dict()

        return await service.answer(request, work)

    return routes


def _items(service: Service, asked: SetRequest) -> SearchableSource:
    return service.offers.items(asked.vectors, asked.collection)


def _set_options(asked: SetRequest) -> dict[str, Any]:
    """Return the arguments that say what sets are made of."""
    numbers = {name: getattr(asked, name) for name in ("alpha", "aperture", "floor")}
    return {
        "logic": asked.logic,
        "preprocessing": asked.preprocessing,
        "sets": asked.sets,
        "skip_unknown": asked.skip_unknown,
        "explain": asked.explain,
        **{name: float(value) for name, value in numbers.items() if value is not None},
    }


def _search_options(asked: SearchRequest) -> dict[str, Any]:
    return {
        **_set_options(asked),
        "top": asked.top,
        "min_score": asked.least,
        "restrict_vocab": asked.restrict,
        "include_examples": asked.with_examples,
    }


def _cost(asked: SearchRequest, queries: int) -> int:
    return queries * asked.top * (10 if asked.explain else 1)


def _found(items: SearchableSource, queries: list[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of several queries, all at once, or each alone if one of them is wrong."""
    try:
        return [one.to_dict() for one in items.find_many(queries, **options)]
    except SoftsetError:
        return [_found_alone(items, query, options) for query in queries]


def _found_alone(items: SearchableSource, query: str, options: dict[str, Any]) -> dict[str, Any]:
    try:
        return items.find(query, **options).to_dict()
    except SoftsetError as error:
        return {"query": query, "error": str(error)}
