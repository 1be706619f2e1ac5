"""Prometheus metrics of the server."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

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
