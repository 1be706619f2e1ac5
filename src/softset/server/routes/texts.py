"""/v1/score, /v1/matrix and /v1/explain: how alike texts are, and why."""

from typing import Any

from fastapi import APIRouter, Request, Response

from softset.errors import InputError
from softset.server.batching import BatchedEncoder
from softset.server.schemas import (
    EncoderRequest,
    ExplainAnswer,
    ExplainRequest,
    MatrixAnswer,
    MatrixRequest,
    ScoreAnswer,
    ScoreRequest,
)
from softset.server.service import Service
from softset.similarity.metrics import metric
from softset.similarity.scorer import Scorer

__all__ = ["texts_routes"]


def texts_routes(service: Service) -> APIRouter:
    """Return the routes of a service."""
    routes = APIRouter(prefix="/v1", tags=["texts"])

    @routes.post("/score", response_model=ScoreAnswer)
    async def score(asked: ScoreRequest, request: Request) -> Response:
        """Score each candidate against its reference, or its references: what `softset score --json` prints."""

        def work() -> Any:
            wanted = metric(asked.metric)
            references = [text for one in asked.references for text in ([one] if isinstance(one, str) else one)]
            encoder = _encoder(service, asked, [*asked.candidates, *references])
            scorer = Scorer(encoder, metric=wanted, rescale=asked.rescale, multi_reference=asked.multi_reference)
            return scorer.score(asked.candidates, asked.references).to_dict()

        return await service.answer(request, work)

    @routes.post("/matrix", response_model=MatrixAnswer)
    async def matrix(asked: MatrixRequest, request: Request) -> Response:
        """Score every candidate against every reference."""

        def work() -> Any:
            wanted = metric(asked.metric)
            others = asked.candidates if asked.references is None else asked.references
            service.limits.check("cells", "cells", len(asked.candidates) * len(others))
            encoder = _encoder(service, asked, [*asked.candidates, *(asked.references or [])])
            scorer = Scorer(encoder, metric=wanted, rescale=asked.rescale)
            return scorer.matrix(asked.candidates, asked.references).to_dict()

        return await service.answer(request, work)

    @routes.post("/explain", response_model=ExplainAnswer)
    async def explain(asked: ExplainRequest, request: Request) -> Response:
        """Explain how much each token of two texts belongs to the other: what `softset explain --json` prints."""

        def work() -> Any:
            distinct = list(dict.fromkeys(metric(one) for one in asked.metrics))
            both = [asked.candidate, asked.reference]
            for name, text in zip(("candidate", "reference"), both, strict=True):
                if not text.strip():
                    raise InputError(f"the {name} is empty: there is nothing to explain without words")
            encoder = _encoder(service, asked, both)
            left, right = encoder.count_tokens(both)
            service.limits.check("cells of links", "cells", left * right * len(distinct))
            return Scorer(encoder, metric=distinct[0]).explain(*both, metrics=distinct).to_dict()

        return await service.answer(request, work)

    return routes


def _encoder(service: Service, asked: EncoderRequest, texts: list[str]) -> BatchedEncoder:
    """Return the model that a request names, once it is clear that its texts are not too much for it."""
    service.limits.check("texts", "texts", len(texts))
    encoder = service.offers.encoder(
        service.offers.model_name(asked.model),
        layer=asked.layer,
        unit=asked.unit,
        special_tokens=asked.special_tokens,
        overflow=asked.overflow,
        max_length=asked.max_length,
    )
    service.check_texts(encoder, texts)
    return encoder
