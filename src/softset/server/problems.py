"""Error responses as application/problem+json (RFC 9457), with the message that the command line prints."""

import json
import logging
from http import HTTPStatus
from http.client import responses
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from softset.errors import InputError, MissingExtraError, QueryError, SoftsetError
from softset.server.settings import LimitError

LOG = logging.getLogger("softset.server")
MEDIA_TYPE = "application/problem+json"
STATUSES = {  # the first class that matches an error decides
    LimitError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    MissingExtraError: HTTPStatus.NOT_IMPLEMENTED,
    InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
}

# For fields with several types, pydantic reports one error for each type. These messages replace them.
EXPECTED = {
    "query": "a text such as {red, blue} & fruit, or a list with at least one query",
    "references": "a list of texts, or a list with one list of texts for each candidate",
    "layer": "a number, a fraction from 0.0 to 1.0, or last",
    "aperture": "a number above 0 or inf",
}


class Problem(BaseModel):
    """The description of an error; `detail` is for people, and shows the position in an invalid query."""

    type: str = Field("about:blank", examples=["about:blank"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["'qwxz' has no vector here"])
    position: int | None = Field(None, description="The index of the wrong character in the query.")


class RequestError(InputError):
    """An error with its own HTTP status and headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)  # these arguments make a copy when the error is unpickled
        self.status, self.message, self.headers = status, message, headers or {}

    def __str__(self) -> str:
        return self.message


def problem(status: int, detail: str, *, headers: dict[str, str] | None = None, **members: Any) -> Response:
    """Return an error response."""
    title = responses.get(status, "Error")
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, **members}
    return Response(json.dumps(content).encode(), status, headers, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem."""
    app.add_exception_handler(SoftsetError, _softset_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)


async def _softset_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return problem(error.status, str(error), headers=error.headers)
    position: dict[str, Any] = {"position": error.position} if isinstance(error, QueryError) else {}
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return problem(status, str(error), **position)
    return await _unexpected_error(request, error)  # a damaged file of the server: its path is not for clients


async def _validation_error(_: Request, error: Exception) -> Response:
    """Report the first error in the body of a request."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 (narrows the type)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {first['ctx']['error'].lower()}")
    field = first["loc"][1] if len(first["loc"]) > 1 else None
    if field in EXPECTED and first["type"] not in ("missing", "value_error"):
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{field}: must be {EXPECTED[field]}")
    path = ".".join(str(part) for part in first["loc"][1:] if str(part).isidentifier() or isinstance(part, int))
    message = str(first["msg"]).removeprefix("Value error, ")
    detail = f"{path or 'the body'}: {message[:1].lower()}{message[1:]}"
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail[:1000])


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (narrows the type)
    path = request.url.path[:100]
    details = {
        400: "the body is not JSON",
        404: f"there is nothing at {path}: see /v1/openapi.json for all paths",
        405: f"{path} does not support {request.method}: see /v1/openapi.json",
    }
    detail = details.get(error.status_code, str(error.detail))
    return problem(error.status_code, detail, headers=dict(error.headers or {}))


async def _unexpected_error(request: Request, error: Exception) -> Response:
    LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: see the log of the server")
