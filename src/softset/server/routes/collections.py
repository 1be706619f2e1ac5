"""Routes under /v1/collections, for temporary collections."""

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
    temporary = service.resources.temporary
    service.add_post(routes, "", create, CollectionResponse, HTTPStatus.CREATED)

    @routes.post("/{name}/items", response_model=CollectionResponse)
    async def add_items(name: str, body: AddItemsRequest, request: Request) -> Response:
        """Add items to a temporary collection."""
        return await service.respond(request, lambda: _describe(service, name, temporary.add(name, body.texts)))

    @routes.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def delete(name: str, request: Request) -> Response:
        """Delete a temporary collection."""
        await service.pool.run(request, lambda: temporary.remove(name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return routes


def create(service: Service, body: CreateCollectionRequest) -> Any:
    """Create a temporary collection. `/v1/find` searches it by the returned name, which cannot be guessed."""
    return _describe(service, *service.resources.create_collection(body.texts, body.model))


def _describe(service: Service, name: str, collection: Collection) -> dict[str, Any]:
    return {
        "collection": name,
        "items": len(collection),
        "without_vector": int((collection.norms == 0).sum()),
        "lifetime": service.limits.lifetime,
    }
