"""Routes /v1/models, /v1/health and /v1/metrics."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response

from softset import __version__
from softset.server.service import Service


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
