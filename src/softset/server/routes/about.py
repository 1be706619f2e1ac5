"""/v1/models, /v1/health and the counters: what the server offers, and how it is."""

from dataclasses import asdict

from fastapi import APIRouter, Response

from softset import __version__
from softset.server.schemas import HealthAnswer, OffersAnswer
from softset.server.service import Service

__all__ = ["about_routes"]


def about_routes(service: Service) -> APIRouter:
    """Return the routes of a service."""
    routes = APIRouter(prefix="/v1", tags=["server"])

    @routes.get("/models")
    async def models() -> OffersAnswer:
        """List the models, word vectors and collections that requests may name, and the limits of a request."""
        offers = service.offers
        return OffersAnswer(
            models=list(offers.models),
            vectors=list(offers.vectors),
            collections=list(offers.collections),
            limits=asdict(service.limits),
            softset=__version__,
        )

    @routes.get("/health")
    async def health() -> HealthAnswer:
        """Tell that the server is there; it wants no key."""
        return HealthAnswer(
            status="ok",
            softset=__version__,
            under_way=service.desk.under_way,
            models_loaded=service.offers.loaded,
        )

    @routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Return the server's counters as Prometheus reads them."""
        return service.counters.answer()

    return routes
