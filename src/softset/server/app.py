"""The application: routes, errors, guards, and what happens at its beginning and end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response

from softset import __version__
from softset.server.assets import add_page
from softset.server.guards import Bodies, Counted, Hosts, Keys, Sealed
from softset.server.problems import MEDIA_TYPE, Problem, add_handlers
from softset.server.routes.about import about_routes
from softset.server.routes.collections import collections_routes
from softset.server.routes.sets import sets_routes
from softset.server.routes.texts import texts_routes
from softset.server.service import Service
from softset.server.settings import Settings, is_loopback

__all__ = ["create_app"]

ABOUT = """Set algebra for embeddings: which words or items belong to a set query, and how alike texts are.

Every answer is the JSON that the command line prints; every error is a problem (RFC 9457): its `detail` is the sentence
that the command line prints."""

# FastAPI can send traces, metrics and logs to wherever the environment says. This server sends nothing anywhere.
NO_TELEMETRY = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application of a server.

    >>> app = create_app(Settings(vectors={}, models={}))
    >>> "/v1/find" in app.openapi()["paths"]
    True
    """
    settings = settings or Settings()
    service = Service.of(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        purging = asyncio.create_task(_purging(service))
        yield
        purging.cancel()
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="softset",
        description=ABOUT,
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # FastAPI's own pages load their scripts from another host
        redoc_url=None,
        lifespan=lifespan,
        middleware=_guards(settings, service),
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type]  # of its keys, all are known
        responses=_problems(keyed=settings.key is not None),
    )
    for routes in (sets_routes(service), texts_routes(service), collections_routes(service), about_routes(service)):
        app.include_router(routes)
    app.add_route("/metrics", lambda _: service.counters.answer())
    app.add_route("/v1", _to_the_description)
    add_page(app)
    add_handlers(app)
    _describe(app, keyed=settings.key is not None)
    app.state.service = service
    return app


def _guards(settings: Settings, service: Service) -> list[Middleware]:
    """Return what a request passes, the outermost first."""
    guards = [Middleware(Counted, counters=service.counters), Middleware(Sealed)]
    if is_loopback(settings.host):
        guards.append(Middleware(Hosts, names=(settings.host, *settings.hosts)))
    if settings.key is not None:
        guards.append(Middleware(Keys, key=settings.key))
    return [*guards, Middleware(Bodies, limits=settings.limits, desk=service.desk)]


async def _purging(service: Service) -> None:
    """Delete what was dropped here and not used for long, whether or not anybody comes."""
    while True:
        await asyncio.sleep(min(service.limits.lifetime / 4, 60))
        await asyncio.to_thread(service.offers.drops.purge)


async def _to_the_description(_: Any) -> Response:
    return RedirectResponse("/v1/openapi.json")


def _problems(*, keyed: bool) -> dict[int | str, dict[str, Any]]:
    """Return what may go wrong anywhere, for the description of the interface."""
    schema = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    told = {
        400: "The body is no JSON.",
        404: "A name that is not known here.",
        408: "The request did not come to its end in time.",
        413: "More than the server takes at once.",
        415: "The request is not said to be JSON.",
        421: "A host name that is not the server's.",
        422: "What was asked for makes no sense.",
        500: "The server is at fault.",
        501: "A package is not installed.",
        503: "The server is busy: come again.",
        504: "It took too long.",
        **({401: "The API key is missing or wrong."} if keyed else {}),
    }
    return {status: {"description": sentence, "content": schema} for status, sentence in sorted(told.items())}


def _describe(app: FastAPI, *, keyed: bool) -> None:
    """Add the form of a problem, and the key, to the description that FastAPI makes when it is first read."""
    made = app.openapi

    def described() -> dict[str, Any]:
        schema = made()
        schema["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        if keyed:
            schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"key": []}]
        return schema

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to extend it
