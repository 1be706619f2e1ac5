"""What went wrong, as application/problem+json (RFC 9457), in the same sentence that the command line prints."""

import json
import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from softset.errors import InputError, MissingExtraError, QueryError, SoftsetError
from softset.server.settings import TooMuchError

__all__ = ["BadRequestError", "Problem", "add_handlers", "problem"]

LOG = logging.getLogger("softset.server")
MEDIA_TYPE = "application/problem+json"

# Fields that may be of several types: of each the checks would say that it is not the other.
WANTED = {
    "query": "a text such as {red, blue} & fruit, or a list of at least one",
    "references": "a list of texts, or of a list of texts for each candidate,",
    "layer": "a number, a share from 0.0 to 1.0, or last",
    "aperture": "a number above 0, or inf,",
}


class Problem(BaseModel):
    """Why there is no answer: `detail` is one sentence for a person, with the query and a mark under the place."""

    type: str = Field("about:blank", examples=["about:blank"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["'qwxz' has no vector here"])
    position: int | None = Field(None, description="The character of the query, from 0.")


class BadRequestError(InputError):
    """A request that is refused with a status of its own."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


def problem(status: int, detail: str, *, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Return a problem as a response."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(json.dumps(content).encode(), status, headers, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Let an application answer every error with a problem."""
    app.add_exception_handler(SoftsetError, _ours)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, error: Exception) -> Response:
    if isinstance(error, BadRequestError):
        return problem(error.status, str(error), headers=error.headers)
    if isinstance(error, TooMuchError):
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
    if isinstance(error, QueryError):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), position=error.position)
    if isinstance(error, MissingExtraError):
        return problem(HTTPStatus.NOT_IMPLEMENTED, str(error))
    if isinstance(error, InputError):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
    return await _unexpected(request, error)  # a file of the server's: its place is nobody else's concern


async def _unreadable(request: Request, error: Exception) -> Response:
    """Say what is wrong with a body that does not fit the description of its parts; the first thing will do."""
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 (what it was added for)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {first['ctx']['error'].lower()}")
    field = first["loc"][1] if len(first["loc"]) > 1 else None
    if field in WANTED and first["type"] not in ("missing", "value_error"):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{field}: {WANTED[field]} was wanted")
    place = ".".join(str(part) for part in first["loc"][1:] if str(part).isidentifier() or isinstance(part, int))
    said = str(first["msg"]).removeprefix("Value error, ")
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{place or 'the body'}: {said[:1].lower()}{said[1:]}"[:1000])


async def _of_the_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (what it was added for)
    told = {
        404: f"there is nothing at {request.url.path[:100]}: /v1/openapi.json lists what there is",
        405: f"{request.method} does not go with {request.url.path[:100]}: /v1/openapi.json says what does",
        400: "the body is no JSON",
    }
    detail = told.get(error.status_code, str(error.detail))
    return problem(error.status_code, detail, headers=dict(error.headers or {}))


async def _unexpected(request: Request, error: Exception) -> Response:
    LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    sentence = "the server cannot answer this, through no fault of yours: its log says why"
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
