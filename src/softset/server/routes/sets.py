"""Routes /v1/find, /v1/membership and /v1/map, for set queries."""

from typing import Any

from fastapi import APIRouter

from softset.errors import InputError
from softset.search.find import SearchableSource
from softset.server.cost import distinct_seconds, search_seconds
from softset.server.requests import FindRequest, MapRequest, MembershipRequest, SearchRequest, SetRequest
from softset.server.responses import FindResponse, MapResponse, MembershipResponse, QueryErrorResponse
from softset.server.service import Service
from softset.server.worker_pool import raise_if_disconnected

EXPLAIN_COST = 10  # an explained result counts as ten results
BATCH = 128  # queries that are searched in one pass


def set_routes(service: Service) -> APIRouter:
    """Return the routes for set queries."""
    routes = APIRouter(prefix="/v1", tags=["sets"])
    service.add_post(routes, "/find", find, FindResponse | list[FindResponse | QueryErrorResponse])
    service.add_post(routes, "/membership", membership, MembershipResponse)
    service.add_post(routes, "/map", map_, MapResponse)
    return routes


def find(service: Service, body: FindRequest) -> Any:
    """Find the words or items with the highest membership in a query, as `softset find --json` does.

    For a list of queries, the response is a list. A query that fails has its error in that list.
    """
    queries = body.query if isinstance(body.query, list) else [body.query]
    source = _checked_source(service, body, queries)
    cost = len(queries) * (body.offset + body.top * (EXPLAIN_COST if body.explain else 1))
    service.limits.check("results (an explained one counts as ten)", "cells", cost)
    options = {**body.options(), "threads": service.search_threads}
    if not isinstance(body.query, list):
        return source.find(body.query, **options).to_dict(percentile=body.percentile)
    found: list[dict[str, Any]] = []
    for start in range(0, len(queries), BATCH):
        raise_if_disconnected()
        batch = queries[start : start + BATCH]
        for query, result in zip(batch, source.find_each(batch, **options), strict=True):
            if isinstance(result, InputError):
                found.append({"query": query, "error": str(result)})
            else:
                found.append(result.to_dict(percentile=body.percentile))
    return found


def membership(service: Service, body: MembershipRequest) -> Any:
    """Compute the membership of words or texts in a query, as `softset membership --json` does."""
    service.limits.check("texts", "texts", len(body.texts))
    options = {**body.options(), "threads": service.search_threads}
    return _checked_source(service, body, [body.query]).membership(body.query, body.texts, **options).to_dict()


def map_(service: Service, body: MapRequest) -> Any:
    """Project the sets and the best items of a query to two dimensions."""
    options = {**body.options("explain"), "threads": service.search_threads}
    return _checked_source(service, body, [body.query]).map(body.query, **options).to_dict()


def _checked_source(service: Service, body: SetRequest, queries: list[str]) -> SearchableSource:
    """Return the source that a request searches, after a check of its queries and named sets against the limits."""
    limits, sets = service.limits, body.sets or {}
    examples = [example for members in sets.values() for example in members]
    limits.check("queries", "texts", len(queries))
    limits.check("examples in named sets", "texts", len(examples))
    limits.check("characters in queries and named sets", "query", sum(map(len, (*queries, *examples))))
    source = service.resources.source(body.vectors, body.collection)
    seconds = search_seconds(queries, sets, body.logic, source)
    if isinstance(body, SearchRequest) and body.distinct is not None:
        seconds += distinct_seconds(len(queries), body.offset + body.top, source.dimensions)
    service.check_seconds(seconds)
    return source
