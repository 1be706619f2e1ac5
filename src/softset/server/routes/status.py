"""Routes /v1/models, /v1/health and /v1/metrics."""

from dataclasses import asdict

from fastapi import APIRouter, Response

from softset import __version__
from softset.server.responses import HealthResponse, ResourcesResponse
from softset.server.service import Service

__all__ = ["status_routes"]


def status_routes(service: Service) -> APIRouter:
    """Return the routes that describe the server."""
    routes = APIRouter(prefix="/v1", tags=["server"])

    @routes.get("/models")
    async def models() -> ResourcesResponse:
        """List the models, word vectors and collections that requests may name, and the limits for requests."""
        return ResourcesResponse(
            models=list(service.resources.models),
            vectors=list(service.resources.vectors),
            collections=list(service.resources.collections),
            limits=asdict(service.limits),
            softset=__version__,
        )

    @routes.get("/health")
    async def health() -> HealthResponse:
        """Return the state of the server. No API key is needed."""
        return HealthResponse(
            status="ok",
            softset=__version__,
            requests_in_progress=service.pool.in_progress,
            models_loaded=service.resources.models_loaded,
        )

    @routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Return metrics for Prometheus."""
        return service.metrics.response()

    return routes
