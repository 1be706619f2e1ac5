"""What the server counts of itself, for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

__all__ = ["Counters"]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Counters:
    """Requests, their times, batches of the models, and the process's own memory and open files."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.requests = Counter(
            "softset_requests", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "softset_request_seconds", "How long requests took.", ["route"], buckets=SECONDS, registry=self.registry
        )
        self.callers = Histogram(
            "softset_batch_requests", "Requests that a model took at once.", buckets=SIZES, registry=self.registry
        )
        self.texts = Histogram(
            "softset_batch_texts", "Texts that a model took at once.", buckets=SIZES, registry=self.registry
        )

    def watch(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Show a number that is asked for when the counters are read."""
        Gauge(name, about, registry=self.registry).set_function(value)

    def batch(self, callers: int, texts: int) -> None:
        """Count one batch."""
        self.callers.observe(callers)
        self.texts.observe(texts)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def answer(self) -> Response:
        """Return all of it as Prometheus reads it."""
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)
