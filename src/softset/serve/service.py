"""What every route needs: what is offered, where work is done, how much of it, and who counts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from softset.serve.batching import BatchedEncoder
from softset.serve.counters import Counters
from softset.serve.desk import Desk
from softset.serve.offers import Offers
from softset.serve.problems import BadRequestError
from softset.serve.settings import Limits, Settings

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

    def check_query(self, queries: Sequence[str]) -> None:
        """Refuse too many queries, or too long ones: how long a search takes goes with the examples of all of them."""
        self.check_count(len(queries), "queries")
        length = sum(map(len, queries))
        if length > self.limits.query:
            raise _too_much("the query of a request", self.limits.query, "characters", length, "--max-query")

    def check_count(self, count: int, what: str = "texts") -> None:
        """Refuse too many texts or queries."""
        if count > self.limits.texts:
            raise _too_much("a request", self.limits.texts, what, count, "--max-texts")

    def check_cells(self, count: int) -> None:
        """Refuse too large a matrix."""
        if count > self.limits.cells:
            raise _too_much("a matrix", self.limits.cells, "cells", count, "--max-cells")

    def check_tokens(self, encoder: BatchedEncoder, texts: Sequence[str]) -> None:
        """Refuse texts that are too long together."""
        count = encoder.count_tokens(texts)
        if count > self.limits.tokens:
            raise _too_much("a request", self.limits.tokens, "tokens", count, "--max-tokens")

    def close(self) -> None:
        """Finish what is under way, and leave nothing behind."""
        self.desk.close()
        self.offers.close()


def _as_json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def _too_much(what: str, most: int, unit: str, count: int, flag: str) -> BadRequestError:
    return BadRequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"{what} may have {most:,} {unit} here, but this has {count:,}: send less at once (softset serve {flag})",
    )
