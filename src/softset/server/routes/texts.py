"""Routes /v1/score, /v1/matrix and /v1/explain, which compare texts."""

from typing import Any

from fastapi import APIRouter, Request, Response

from softset.errors import InputError
from softset.server.limited_encoder import LimitedEncoder
from softset.server.requests import EncoderRequest, ExplainRequest, MatrixRequest, ScoreRequest
from softset.server.responses import ExplainResponse, MatrixResponse, ScoreResponse
from softset.server.service import Service
from softset.similarity.metrics import metric
from softset.similarity.scorer import Scorer


def text_routes(service: Service) -> APIRouter:
    """Return the routes that compare texts."""
    routes = APIRouter(prefix="/v1", tags=["texts"])

    @routes.post("/score", response_model=ScoreResponse)
    async def score(body: ScoreRequest, request: Request) -> Response:
        """Score each candidate against its reference or references, as `softset score --json` does."""

        def work() -> Any:
            parsed_metric = metric(body.metric)
            references = [text for group in body.references for text in ([group] if isinstance(group, str) else group)]
            encoder = _encoder(service, body, [*body.candidates, *references])
            scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale, multi_reference=body.multi_reference)
            return scorer.score(body.candidates, body.references).to_dict()

        return await service.respond(request, work)

    @routes.post("/matrix", response_model=MatrixResponse)
    async def matrix(body: MatrixRequest, request: Request) -> Response:
        """Score each candidate against each reference."""

        def work() -> Any:
            parsed_metric = metric(body.metric)
            columns = body.candidates if body.references is None else body.references
            service.limits.check("cells", "cells", len(body.candidates) * len(columns))
            encoder = _encoder(service, body, [*body.candidates, *(body.references or [])])
            scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale)
            return scorer.matrix(body.candidates, body.references).to_dict()

        return await service.respond(request, work)

    @routes.post("/explain", response_model=ExplainResponse)
    async def explain(body: ExplainRequest, request: Request) -> Response:
        """Explain the scores of two texts token by token, as `softset explain --json` does."""

        def work() -> Any:
            metrics = list(dict.fromkeys(metric(name) for name in body.metrics))
            for name, text in (("candidate", body.candidate), ("reference", body.reference)):
                if not text.strip():
                    raise InputError(f"the {name} is empty: there are no tokens to explain")
            texts = [body.candidate, body.reference]
            encoder = _encoder(service, body, texts)
            candidate_tokens, reference_tokens = encoder.count_tokens(texts)
            service.limits.check("links", "cells", candidate_tokens * reference_tokens * len(metrics))
            return Scorer(encoder, metric=metrics[0]).explain(*texts, metrics=metrics).to_dict()

        return await service.respond(request, work)

    return routes


def _encoder(service: Service, body: EncoderRequest, texts: list[str]) -> LimitedEncoder:
    """Return the model that a request names, after a check of the texts against the limits."""
    encoder = service.resources.encoder(body.model, **body.options())
    encoder.check(texts)
    return encoder
