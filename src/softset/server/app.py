"""The FastAPI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from softset import __version__
from softset.server.middleware import RequestGuard
from softset.server.problems import MEDIA_TYPE, Problem, add_handlers
from softset.server.routes import collection_routes, set_routes, status_routes, text_routes
from softset.server.service import Service
from softset.server.settings import Settings

PAGE = Path(__file__).parent / "page"
DESCRIPTION = """Set algebra for embeddings: search words and items by set queries, and compare texts.

Successful responses contain the JSON that the command line prints. Errors are problems (RFC 9457) whose `detail` is the
message that the command line prints."""
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (400, 401, 404, 408, 413, 415, 421, 422, 500, 501, 503, 504)
}
# FastAPI can send traces, metrics and logs to a host that the environment names. This server sends nothing.
NO_TELEMETRY = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the ASGI application, to run it under your own server.

    >>> app = create_app(Settings(vectors={}, models={}))
    >>> "/v1/find" in app.openapi()["paths"]
    True
    """
    settings = settings or Settings()
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        purging = asyncio.create_task(service.purge_regularly())
        yield
        purging.cancel()
        await service.close()

    app = FastAPI(
        title="softset",
        description=DESCRIPTION,
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # the pages of FastAPI load scripts from another host
        redoc_url=None,
        lifespan=lifespan,
        middleware=[Middleware(RequestGuard, settings=settings, service=service)],
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type]  # a TypedDict with exactly these keys
        responses=ERROR_RESPONSES,
    )
    for routes in (set_routes(service), text_routes(service), collection_routes(service), status_routes(service)):
        app.include_router(routes)
    app.add_route("/metrics", lambda _: service.metrics.response())
    app.add_route("/v1", lambda _: RedirectResponse("/v1/openapi.json"))
    app.add_route("/", lambda _: FileResponse(PAGE / "index.html"))
    app.mount("/page", StaticFiles(directory=PAGE))
    add_handlers(app)
    _extend_openapi(app, with_key=settings.key is not None)
    app.state.service = service
    return app


def _extend_openapi(app: FastAPI, *, with_key: bool) -> None:
    """Add the schema of problems and the API key to the OpenAPI description."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        schema["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        if with_key:
            schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"key": []}]
        return schema

    app.openapi = openapi  # type: ignore[method-assign]  # the documented way to extend it
