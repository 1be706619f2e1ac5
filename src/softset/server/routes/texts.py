"""Routes /v1/score, /v1/matrix and /v1/explain, which compare texts."""

from typing import Any

import numpy as np
from fastapi import APIRouter

from softset.errors import InputError
from softset.server.cost import scoring_seconds
from softset.server.limited_encoder import LimitedEncoder
from softset.server.requests import EncoderRequest, ExplainRequest, MatrixRequest, ScoreRequest
from softset.server.responses import ExplainResponse, MatrixResponse, ScoreResponse
from softset.server.service import Service
from softset.server.worker_pool import raise_if_disconnected
from softset.similarity.metrics import metric
from softset.similarity.scorer import Scorer


def text_routes(service: Service) -> APIRouter:
    """Return the routes that compare texts."""
    routes = APIRouter(prefix="/v1", tags=["texts"])
    service.add_post(routes, "/score", score, ScoreResponse)
    service.add_post(routes, "/matrix", matrix, MatrixResponse)
    service.add_post(routes, "/explain", explain, ExplainResponse)
    return routes


def score(service: Service, body: ScoreRequest) -> Any:
    """Score each candidate against its reference or references, as `softset score --json` does."""
    parsed_metric = metric(body.metric)
    groups = [[group] if isinstance(group, str) else group for group in body.references]
    n, references = len(body.candidates), [text for group in groups for text in group]
    encoder, counts = _encoder(service, body, [*body.candidates, *references])
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rows = counts[np.minimum(owners, n - 1)]  # the scorer reports a different number of candidates
    service.check_seconds(scoring_seconds(parsed_metric.NAME, rows, counts[n:], encoder.dimensions))
    scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale, multi_reference=body.multi_reference)
    return scorer.score(body.candidates, body.references, progress=raise_if_disconnected).to_dict()


def matrix(service: Service, body: MatrixRequest) -> Any:
    """Score each candidate against each reference."""
    parsed_metric, n = metric(body.metric), len(body.candidates)
    references = body.candidates if body.references is None else body.references
    service.limits.check("cells", "cells", n * len(references))
    encoder, counts = _encoder(service, body, [*body.candidates, *(body.references or [])])
    rows, columns = counts[:n, None], counts[len(counts) - len(references) :]
    service.check_seconds(scoring_seconds(parsed_metric.NAME, rows, columns, encoder.dimensions))
    scorer = Scorer(encoder, metric=parsed_metric, rescale=body.rescale)
    return scorer.matrix(body.candidates, body.references, progress=raise_if_disconnected).to_dict()


def explain(service: Service, body: ExplainRequest) -> Any:
    """Explain the scores of two texts token by token, as `softset explain --json` does."""
    metrics = list(dict.fromkeys(metric(name) for name in body.metrics))
    for name, text in (("candidate", body.candidate), ("reference", body.reference)):
        if not text.strip():
            raise InputError(f"the {name} is empty: there are no tokens to explain")
    texts = [body.candidate, body.reference]
    encoder, counts = _encoder(service, body, texts)
    service.limits.check("links", "cells", int(counts.prod()) * len(metrics))
    return Scorer(encoder, metric=metrics[0]).explain(*texts, metrics=metrics).to_dict()


def _encoder(service: Service, body: EncoderRequest, texts: list[str]) -> tuple[LimitedEncoder, np.ndarray]:
    """Return the model that a request names, and the number of tokens of each text, after a check of the limits."""
    encoder = service.resources.encoder(body.model, **body.options())
    return encoder, encoder.check(texts)
