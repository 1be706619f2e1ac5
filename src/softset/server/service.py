"""What every route needs: what is offered, where work is done, how much of it, and who counts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from softset.server.batching import BatchedEncoder
from softset.server.counters import Counters
from softset.server.desk import Desk
from softset.server.offers import Offers
from softset.server.settings import Limits, Settings

__all__ = ["Service"]


@dataclass(frozen=True)
class Service:
    """The parts of one server."""

    limits: Limits
    offers: Offers
    desk: Desk
    counters: Counters
    all_threads: int | None

    @classmethod
    def of(cls, settings: Settings) -> "Service":
        """Return the parts that some settings ask for."""
        counters, desk = Counters(), Desk(settings.limits)
        offers = Offers(settings, counters.batch)
        counters.watch("softset_under_way", "Requests that are worked on or wait.", lambda: desk.under_way)
        counters.watch("softset_models_loaded", "Models in memory.", lambda: offers.loaded)
        counters.watch("softset_collections_dropped", "Collections dropped here.", lambda: len(offers.drops))
        return cls(settings.limits, offers, desk, counters, settings.threads)

    @property
    def threads(self) -> int | None:
        """How many threads a search may use: with others beside it one, for together they get more done that way."""
        return 1 if self.desk.under_way > 1 else self.all_threads

    async def answer(self, request: Request, work: Callable[[], Any], status: int = 200) -> Response:
        """Return what some work makes, as JSON; both are done away from the loop that takes requests."""
        content = await self.desk.do(request, lambda: _as_json(work()))
        return Response(content, status, media_type="application/json")

    def check_queries(self, queries: Sequence[str], named: Mapping[str, Sequence[str]] | None) -> None:
        """Refuse too much to search for: how long it takes goes with the examples, named ones included."""
        examples = [text for some in (named or {}).values() for text in some]
        self.limits.check("queries", "texts", len(queries))
        self.limits.check("examples of named sets", "texts", len(examples))
        self.limits.check("characters of queries and named sets", "query", sum(map(len, (*queries, *examples))))

    def check_texts(self, encoder: BatchedEncoder, texts: Sequence[str]) -> None:
        """Refuse texts that are too many or too long, before anything is encoded."""
        self.limits.check("texts", "texts", len(texts))
        encoder.checked_counts(texts)

    def close(self) -> bool:
        """Finish what is under way, leave nothing behind, and tell whether all came to its end in time."""
        finished = self.desk.close()
        self.offers.close()
        return finished


def _as_json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
