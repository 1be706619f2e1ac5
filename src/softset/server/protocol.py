"""HTTP as uvicorn speaks it, without patience for those who connect and say nothing."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["ImpatientProtocol"]

HEAD_SECONDS = 10.0  # from the first byte of a request, or the connection, to the end of its head
MOST_CONNECTIONS = 512  # below the number of files that systems let a process have open


class ImpatientProtocol(H11Protocol):
    """Closes connections on which no request begins in time, and those that are too many."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Take a connection, or close it at once."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Read what came, and wait for the rest if it is no whole head."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Let the clock run while no request is under way, and stop it when one is."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not under_way and self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
