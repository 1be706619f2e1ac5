"""Routes under /v1. Each one validates a request, calls the library and returns its result."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from softset import __version__
from softset.collections.collection import Collection
from softset.errors import InputError
from softset.search.find import SearchableSource
from softset.server import requests, responses
from softset.server.cost import distinct_seconds, scoring_seconds, search_seconds
from softset.server.limited_encoder import LimitedEncoder
from softset.server.service import Service
from softset.server.worker_pool import raise_if_disconnected
from softset.similarity.metrics import metric
from softset.similarity.scorer import Scorer

EXPLAIN_COST = 10  # an explained result counts as ten results
BATCH = 128  # queries that are searched in one pass


def set_routes(service: Service) -> APIRouter:
    """Return the routes for set queries."""
    routes = APIRouter(prefix="/v1", tags=["sets"])
    service.add_post(
        routes, "/find", find, responses.FindResponse | list[responses.FindResponse | responses.QueryErrorResponse]
    )
    service.add_post(routes, "/membership", membership, responses.MembershipResponse)
    service.add_post(routes, "/map", map_, responses.MapResponse)
    return routes


def find(service: Service, body: requests.FindRequest) -> Any:
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


def membership(service: Service, body: requests.MembershipRequest) -> Any:
    """Compute the membership of words or texts in a query, as `softset membership --json` does."""
    service.limits.check("texts", "texts", len(body.texts))
    options = {**body.options(), "threads": service.search_threads}
    return _checked_source(service, body, [body.query]).membership(body.query, body.texts, **options).to_dict()


def map_(service: Service, body: requests.MapRequest) -> Any:
    """Project the sets and the best items of a query to two dimensions."""
    options = {**body.options("explain"), "threads": service.search_threads}
    return _checked_source(service, body, [body.query]).map(body.query, **options).to_dict()


def _checked_source(service: Service, body: requests.SetRequest, queries: list[str]) -> SearchableSource:
    """Return the source that a request searches, after a check of its queries and named sets against the limits."""
    limits, sets = service.limits, body.sets or {}
    examples = [example for members in sets.values() for example in members]
    limits.check("queries", "texts", len(queries))
    limits.check("examples in named sets", "texts", len(examples))
    limits.check("characters in queries and named sets", "query", sum(map(len, (*queries, *examples))))
    source = service.resources.source(body.vectors, body.collection)
    seconds = search_seconds(queries, sets, body.logic, source)
    if isinstance(body, requests.SearchRequest) and body.distinct is not None:
        seconds += distinct_seconds(len(queries), body.offset + body.top, source.dimensions)
    service.check_seconds(seconds)
    return source


def text_routes(service: Service) -> APIRouter:
    """Return the routes that compare texts."""
    routes = APIRouter(prefix="/v1", tags=["texts"])
    service.add_post(routes, "/score", score, responses.ScoreResponse)
    service.add_post(routes, "/matrix", matrix, responses.MatrixResponse)
    service.add_post(routes, "/explain", explain, responses.ExplainResponse)
    return routes


def score(service: Service, body: requests.ScoreRequest) -> Any:
    """Score each candidate against its reference or references, as `softset score --json` does."""
    parsed_metric = metric(body.metric)
    groups = [[group] if isinstance(group, str) else group for group in body.references]
    n, references = len(body.candidates), [text for group in groups for text in group]
    encoder, counts = _encoder(service, body, [*body.candidates, *references])
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rows = counts[np.minimum(owners, n - 1)]  # the scorer reports a different number of candidates
    service.check_seconds(scoring_seconds(parsed_metric.NAME, rows, counts[n:], encoder.dimensions))
    scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale, multi_reference=body.multi_reference)
    return scorer.score(body.candidates, body.references, progress=raise_if_disconnected).to_dict()


def matrix(service: Service, body: requests.MatrixRequest) -> Any:
    """Score each candidate against each reference."""
    parsed_metric, n = metric(body.metric), len(body.candidates)
    references = body.candidates if body.references is None else body.references
    service.limits.check("cells", "cells", n * len(references))
    encoder, counts = _encoder(service, body, [*body.candidates, *(body.references or [])])
    rows, columns = counts[:n, None], counts[len(counts) - len(references) :]
    service.check_seconds(scoring_seconds(parsed_metric.NAME, rows, columns, encoder.dimensions))
    scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale)
    return scorer.matrix(body.candidates, body.references, progress=raise_if_disconnected).to_dict()


def explain(service: Service, body: requests.ExplainRequest) -> Any:
    """Explain the scores of two texts token by token, as `softset explain --json` does."""
    metrics = list(dict.fromkeys(metric(name) for name in body.metrics))
    for name, text in (("candidate", body.candidate), ("reference", body.reference)):
        if not text.strip():
            raise InputError(f"the {name} is empty: there are no tokens to explain")
    texts = [body.candidate, body.reference]
    encoder, counts = _encoder(service, body, texts)
    service.limits.check("links", "cells", int(counts.prod()) * len(metrics))
    return Scorer(encoder, metric=metrics[0]).explain(*texts, metrics=metrics).to_dict()


def _encoder(service: Service, body: requests.EncoderRequest, texts: list[str]) -> tuple[LimitedEncoder, np.ndarray]:
    """Return the model that a request names, and the number of tokens of each text, after a check of the limits."""
    encoder = service.resources.encoder(body.model, **body.options())
    return encoder, encoder.check(texts)


def collection_routes(service: Service) -> APIRouter:
    """Return the routes that create, extend and delete temporary collections."""
    routes = APIRouter(prefix="/v1/collections", tags=["collections"])
    temporary = service.resources.temporary
    service.add_post(routes, "", create, responses.CollectionResponse, HTTPStatus.CREATED)

    @routes.post("/{name}/items", response_model=responses.CollectionResponse)
    async def add_items(name: str, body: requests.AddItemsRequest, request: Request) -> Response:
        """Add items to a temporary collection."""
        return await service.respond(request, lambda: _describe(service, name, temporary.add(name, body.texts)))

    @routes.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def delete(name: str, request: Request) -> Response:
        """Delete a temporary collection."""
        await service.pool.run(request, lambda: temporary.remove(name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return routes


def create(service: Service, body: requests.CreateCollectionRequest) -> Any:
    """Create a temporary collection. `/v1/find` searches it by the returned name, which cannot be guessed."""
    return _describe(service, *service.resources.create_collection(body.texts, body.model))


def _describe(service: Service, name: str, collection: Collection) -> dict[str, Any]:
    return {
        "collection": name,
        "items": len(collection),
        "without_vector": int((collection.norms == 0).sum()),
        "lifetime": service.limits.lifetime,
    }


def status_routes(service: Service) -> APIRouter:
    """Return the routes that describe the server."""
    routes = APIRouter(prefix="/v1", tags=["server"])

    @routes.get("/models")
    async def models() -> dict[str, Any]:
        """List the models, word vectors and collections that requests may name, and the limits for requests."""
        resources = service.resources
        names = {name: list(getattr(resources, name)) for name in ("models", "vectors", "collections")}
        return {**names, "limits": asdict(service.limits), "softset": __version__}

    @routes.get("/health")
    async def health() -> dict[str, Any]:
        """Return the state of the server. No API key is needed."""
        return {
            "status": "ok",
            "softset": __version__,
            "requests_in_progress": service.pool.in_progress,
            "models_loaded": service.resources.models_loaded,
        }

    @routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Return metrics for Prometheus."""
        return service.metrics.response()

    return routes
