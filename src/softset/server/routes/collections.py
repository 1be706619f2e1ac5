"""Routes under /v1/collections, for temporary collections."""

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from softset.collections.collection import Collection
from softset.server.requests import AddItemsRequest, CreateCollectionRequest
from softset.server.responses import CollectionResponse
from softset.server.service import Service


def collection_routes(service: Service) -> APIRouter:
    """Return the routes that create, extend and delete temporary collections."""
    routes = APIRouter(prefix="/v1/collections", tags=["collections"])
    resources = service.resources

    @routes.post("", status_code=HTTPStatus.CREATED, response_model=CollectionResponse)
    async def create(body: CreateCollectionRequest, request: Request) -> Response:
        """Create a temporary collection. `/v1/find` searches it by the returned name, which cannot be guessed."""
        create = partial(resources.create_collection, body.texts, body.model)
        return await service.respond(request, lambda: describe(*create()), HTTPStatus.CREATED)

    @routes.post("/{name}/items", response_model=CollectionResponse)
    async def add_items(name: str, body: AddItemsRequest, request: Request) -> Response:
        """Add items to a temporary collection."""
        return await service.respond(request, lambda: describe(name, resources.temporary.add(name, body.texts)))

    @routes.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def delete(name: str, request: Request) -> Response:
        """Delete a temporary collection."""
        await service.pool.run(request, lambda: resources.temporary.remove(name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def describe(name: str, collection: Collection) -> dict[str, Any]:
        return {
            "collection": name,
            "items": collection.size,
            "without_vector": int((collection.norms == 0).sum()),
            "lifetime": service.limits.lifetime,
        }

    return routes
