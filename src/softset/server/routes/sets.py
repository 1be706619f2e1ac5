"""Routes /v1/find, /v1/membership and /v1/map, for set queries."""

from typing import Any

from fastapi import APIRouter, Request, Response

from softset.errors import SoftsetError
from softset.search.find import SearchableSource
from softset.server.requests import FindRequest, MapRequest, MembershipRequest, SetRequest
from softset.server.responses import FindResponse, MapResponse, MembershipResponse, QueryErrorResponse
from softset.server.service import Service

EXPLAIN_COST = 10  # an explained result counts as ten results


def set_routes(service: Service) -> APIRouter:
    """Return the routes for set queries."""
    routes = APIRouter(prefix="/v1", tags=["sets"])

    def source(body: SetRequest) -> SearchableSource:
        return service.resources.source(body.vectors, body.collection)

    @routes.post("/find", response_model=FindResponse | list[FindResponse | QueryErrorResponse])
    async def find(body: FindRequest, request: Request) -> Response:
        """Find the words or items with the highest membership in a query, as `softset find --json` does.

        For a list of queries, the response is a list. A query that fails has its error in that list.
        """

        def work() -> Any:
            queries = body.query if isinstance(body.query, list) else [body.query]
            service.check_queries(queries, body.sets)
            cost = len(queries) * body.top * (EXPLAIN_COST if body.explain else 1)
            service.limits.check("results (an explained one counts as ten)", "cells", cost)
            options = {**body.options(), "threads": service.search_threads}
            if isinstance(body.query, list):
                return _find_each(source(body), queries, options, percentile=body.percentile)
            return source(body).find(body.query, **options).to_dict(percentile=body.percentile)

        return await service.respond(request, work)

    @routes.post("/membership", response_model=MembershipResponse)
    async def membership(body: MembershipRequest, request: Request) -> Response:
        """Compute the membership of words or texts in a query, as `softset membership --json` does."""

        def work() -> Any:
            service.check_queries([body.query], body.sets)
            service.limits.check("texts", "texts", len(body.texts))
            threads = service.search_threads
            return source(body).membership(body.query, body.texts, **body.options(), threads=threads).to_dict()

        return await service.respond(request, work)

    @routes.post("/map", response_model=MapResponse)
    async def map_(body: MapRequest, request: Request) -> Response:
        """Project the sets and the best items of a query to two dimensions."""

        def work() -> Any:
            service.check_queries([body.query], body.sets)
            threads = service.search_threads
            return source(body).map(body.query, **body.options("explain"), threads=threads).to_dict()

        return await service.respond(request, work)

    return routes


def _find_each(
    source: SearchableSource, queries: list[str], options: dict[str, Any], *, percentile: bool
) -> list[dict[str, Any]]:
    """Run all queries together, or one by one if one of them fails."""
    try:
        return [result.to_dict(percentile=percentile) for result in source.find_many(queries, **options)]
    except SoftsetError as error:
        if len(queries) == 1:
            return [{"query": queries[0], "error": str(error)}]
        return [_find_each(source, [query], options, percentile=percentile)[0] for query in queries]
