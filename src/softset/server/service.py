"""The parts of a server that all routes share."""

import asyncio
import json
from collections.abc import Callable
from inspect import get_annotations
from typing import Any

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from softset.server.resources import Resources
from softset.server.settings import Settings
from softset.server.worker_pool import WorkerPool

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


class ServerMetrics:
    """Counts and durations of requests, and memory and open files of the process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        labels = ["route", "status"]
        self._requests = Counter("softset_requests", "Requests by route and status.", labels, registry=registry)
        self._seconds = Histogram(
            "softset_request_seconds", "Duration of requests.", ["route"], buckets=BUCKETS, registry=registry
        )

    def add_gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed when the metrics are read."""
        Gauge(f"softset_{name}", description, registry=self._registry).set_function(value)

    def record(self, route: str, status: int, seconds: float) -> None:
        """Record one request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def response(self) -> Response:
        """Return all metrics in the text format of Prometheus."""
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


class Service:
    """The resources, worker pool, metrics and limits of one server."""

    def __init__(self, settings: Settings) -> None:
        self.limits = settings.limits
        self.resources = Resources(settings)
        self.pool = WorkerPool(settings.limits)
        self.metrics = ServerMetrics()
        self.finished = True  # False if some jobs still ran when the server stopped
        self._threads = settings.threads
        gauge = self.metrics.add_gauge
        gauge("requests_in_progress", "Running and queued requests.", lambda: self.pool.in_progress)
        gauge("models_loaded", "Models in memory.", lambda: self.resources.models_loaded)
        gauge("temporary_collections", "Temporary collections.", lambda: len(self.resources.temporary))

    @property
    def search_threads(self) -> int | None:
        """Threads for one search: 1 if several requests run, since the total throughput is then higher."""
        return 1 if self.pool.in_progress > 1 else self._threads

    def add_post(
        self, routes: APIRouter, path: str, work: Callable[["Service", Any], Any], response: Any, status: int = 200
    ) -> None:
        """Add a POST route that calls `work` with this service and the body, whose type `work` declares."""

        async def endpoint(body: Any, request: Request) -> Response:
            return await self.respond(request, lambda: work(self, body), status)

        endpoint.__annotations__["body"] = get_annotations(work)["body"]
        endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
        routes.post(path, response_model=response, status_code=status)(endpoint)

    async def respond(self, request: Request, work: Callable[[], Any], status: int = 200) -> Response:
        """Run a function in a worker thread and return its result as JSON."""

        def work_to_json() -> bytes:
            return json.dumps(work(), ensure_ascii=False, allow_nan=False).encode()

        return Response(await self.pool.run(request, work_to_json), status, media_type="application/json")

    def check_seconds(self, seconds: float) -> None:
        """Raise an error if the estimated time of a request exceeds the timeout."""
        self.limits.check("seconds of computation (estimated)", "timeout", round(seconds, 1))

    async def purge_regularly(self) -> None:
        """Delete expired temporary collections until cancelled."""
        while True:
            await asyncio.sleep(min(self.limits.lifetime / 4, 60))
            await asyncio.to_thread(self.resources.temporary.purge)

    async def close(self) -> None:
        """Wait for running jobs, up to the timeout, and delete the temporary collections."""
        await self.pool.close()
        self.finished = self.pool.in_progress == 0
        await asyncio.to_thread(self.resources.temporary.close)
