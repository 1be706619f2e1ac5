"""Routes /v1/score, /v1/matrix and /v1/explain, which compare texts."""

from math import ceil
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from softset.errors import InputError
from softset.server.cost import scoring_seconds
from softset.server.limited_encoder import LimitedEncoder
from softset.server.requests import EncoderRequest, ExplainRequest, MatrixRequest, ScoreRequest
from softset.server.responses import ExplainResponse, MatrixResponse, ScoreResponse
from softset.server.service import Service
from softset.server.worker_pool import raise_if_disconnected
from softset.similarity.metrics import metric
from softset.similarity.scorer import Scorer
from softset.similarity.scores import NUMBERS


def text_routes(service: Service) -> APIRouter:
    """Return the routes that compare texts."""
    routes = APIRouter(prefix="/v1", tags=["texts"])

    @routes.post("/score", response_model=ScoreResponse)
    async def score(body: ScoreRequest, request: Request) -> Response:
        """Score each candidate against its reference or references, as `softset score --json` does."""

        def work() -> Any:
            parsed_metric = metric(body.metric)
            groups = [[group] if isinstance(group, str) else group for group in body.references]
            references = [text for group in groups for text in group]
            encoder, counts = _encoder(service, body, [*body.candidates, *references])
            owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
            n = len(body.candidates)
            rows = counts[np.minimum(owners, n - 1)]  # the scorer reports a different number of candidates
            service.check_seconds(scoring_seconds(parsed_metric.NAME, rows, counts[n:], encoder.dimensions))
            scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale, multi_reference=body.multi_reference)
            return scorer.score(body.candidates, body.references, progress=raise_if_disconnected).to_dict()

        return await service.respond(request, work)

    @routes.post("/matrix", response_model=MatrixResponse)
    async def matrix(body: MatrixRequest, request: Request) -> Response:
        """Score each candidate against each reference."""

        def work() -> Any:
            parsed_metric = metric(body.metric)
            columns = body.candidates if body.references is None else body.references
            service.limits.check("cells", "cells", len(body.candidates) * len(columns))
            encoder, counts = _encoder(service, body, [*body.candidates, *(body.references or [])])
            n = len(body.candidates)
            rows, others = counts[:n, None], counts[:n] if body.references is None else counts[n:]
            seconds = scoring_seconds(parsed_metric.NAME, rows, others, encoder.dimensions)
            service.check_seconds(seconds)
            scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale)
            return _matrix(scorer, body.candidates, columns, ceil(n / max(seconds, 1)))

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
            encoder, counts = _encoder(service, body, texts)
            service.limits.check("links", "cells", int(counts.prod()) * len(metrics))
            return Scorer(encoder, metric=metrics[0]).explain(*texts, metrics=metrics).to_dict()

        return await service.respond(request, work)

    return routes


def _encoder(service: Service, body: EncoderRequest, texts: list[str]) -> tuple[LimitedEncoder, np.ndarray]:
    """Return the model that a request names, and the number of tokens of each text, after a check of the limits."""
    encoder = service.resources.encoder(body.model, **body.options())
    return encoder, encoder.check(texts)


def _matrix(scorer: Scorer, candidates: list[str], references: list[str], block: int) -> dict[str, Any]:
    """Return the scores of all pairs; after each block of rows the work stops if the client has disconnected."""
    A = scorer.encode(candidates)
    B = A if references is candidates else scorer.encode(references)
    matrix: dict[str, Any] = {}
    for start in range(0, len(A), block):
        rows = scorer.matrix(A.take(range(start, min(start + block, len(A)))), B).to_dict()
        matrix = {name: matrix.get(name, []) + rows[name] for name in NUMBERS} | {"signature": rows["signature"]}
        raise_if_disconnected()
    return matrix
