"""/v1/collections: lines of text that somebody drops here, to be searched for a while."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from softset.collections.collection import Collection
from softset.server.schemas import DropAnswer, DropRequest, MoreRequest
from softset.server.service import Service

__all__ = ["collections_routes"]


def collections_routes(service: Service) -> APIRouter:
    """Return the routes of a service."""
    routes = APIRouter(prefix="/v1", tags=["collections"])
    drops = service.offers.drops

    @routes.post("/collections", status_code=HTTPStatus.CREATED, response_model=DropAnswer)
    async def drop(asked: DropRequest, request: Request) -> Response:
        """Make a collection of lines; `/v1/find` searches it by the name that is returned, which nobody can guess."""

        def work() -> Any:
            model = service.offers.model_name(asked.model)
            encoder = service.offers.encoder(model)
            service.check_texts(encoder, asked.texts)
            name = service.offers.full_name(model, encoder)
            return _facts(*drops.create(asked.texts, encoder, name))

        return await service.answer(request, work, HTTPStatus.CREATED)

    @routes.post("/collections/{name}/items", response_model=DropAnswer)
    async def more(name: str, asked: MoreRequest, request: Request) -> Response:
        """Add lines to a collection that was dropped here."""

        def work() -> Any:
            service.check_texts(drops.encoder_of(name), asked.texts)
            return _facts(name, drops.add(name, asked.texts))

        return await service.answer(request, work)

    @routes.delete("/collections/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove(name: str, request: Request) -> Response:
        """Delete a collection that was dropped here."""
        await service.desk.do(request, lambda: drops.remove(name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _facts(name: str, made: Collection) -> dict[str, Any]:
        blank = int((made.norms == 0).sum())
        return {"collection": name, "items": made.size, "blank": blank, "seconds": service.limits.lifetime}

    return routes
