"""What a server is told before it starts: where it listens, what it offers, and how much it takes on."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from softset.errors import InputError

__all__ = ["Limits", "Settings", "TooMuchError", "is_loopback"]

SHORTEST_KEY = 16


class TooMuchError(InputError):
    """More than the server takes at once."""


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for, and how much the server takes on at once; above that it says so and goes on.

    Attributes:
        body: bytes of a request.
        texts: texts, or queries, of a request.
        tokens: tokens of all texts of a request together.
        text_tokens: tokens of one text.
        query: characters of all queries of a request, and of the named sets that it brings along.
        cells: cells of a matrix of scores, links of an explanation, results of all queries.
        items: items of a collection that somebody drops on the server.
        item_bytes: bytes of the texts of such a collection.
        collections_kept: collections dropped on the server that are kept, the last ones used.
        lifetime: seconds that such a collection is kept after its last use.
        seconds: how long a request may take, waiting included.
        workers: requests that are worked on at once.
        waiting: further ones that wait for their turn; the next is refused with the advice to come again.
        models_kept: models that are in memory, the last ones used.

    >>> Limits(texts=0)
    Traceback (most recent call last):
    softset.errors.InputError: the limit texts is 0, but a number above 0 was wanted
    """

    body: int = 2 << 20
    texts: int = 1_024
    tokens: int = 32_768
    text_tokens: int = 4_096
    query: int = 10_000
    cells: int = 65_536
    items: int = 10_000
    item_bytes: int = 16 << 20
    collections_kept: int = 32
    lifetime: float = 3_600.0
    seconds: float = 30.0
    workers: int = 8
    waiting: int = 64
    models_kept: int = 4

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not value > 0:
                raise InputError(f"the limit {one.name} is {value}, but a number above 0 was wanted")

    def check(self, what: str, name: str, count: int) -> None:
        """Refuse more than a limit.

        >>> Limits().check("texts", "texts", 2_000)
        Traceback (most recent call last):
        softset.server.settings.TooMuchError: 1,024 texts are the most here, but there are 2,000: send less at once \
(softset serve --max-texts)
        """
        most = getattr(self, name)
        if count > most:
            flag = f"--max-{name.replace('_', '-')}"
            raise TooMuchError(
                f"{most:,} {what} are the most here, but there are {count:,}: send less at once (softset serve {flag})"
            )


@dataclass(frozen=True)
class Settings:
    """All that a server is told.

    Attributes:
        host: the address to listen at: this machine's own unless something else is said.
        port: the port; 0 takes any that is free.
        key: what requests must bring along; without one, only programs of this machine can reach the server.
        vectors: names of word vectors, and where each is, as `load_words` takes it; all that are here unless given.
        models: names of models, and where each is, as `load_encoder` takes it; all that are here unless given.
        collections: names of collections, and their folders.
        hosts: further names by which the server is called, such as that of a proxy before it.
        threads: threads of models and searches; all unless given.
        limits: how much it takes on.

    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    softset.errors.InputError: 0.0.0.0 can be reached from other machines: give an API key of at least 16 characters \
(--key-file, or SOFTSET_API_KEY), or listen at 127.0.0.1
    """

    host: str = "127.0.0.1"
    port: int = 8000
    key: str | None = None
    vectors: Mapping[str, str] | None = None
    models: Mapping[str, str] | None = None
    collections: Mapping[str, Path] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InputError(f"the port is {self.port}, but a number from 0 to 65535 was wanted")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}, but a number from 1 on was wanted")
        if self.key is not None and (len(self.key) < SHORTEST_KEY or not self.key.isascii() or " " in self.key):
            raise InputError(
                f"the API key must have at least {SHORTEST_KEY} characters, all of ASCII and no space: make one with "
                "python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if self.key is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines: give an API key of at least {SHORTEST_KEY} "
                "characters (--key-file, or SOFTSET_API_KEY), or listen at 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Tell whether only programs of this machine can reach an address.

    >>> [is_loopback(one) for one in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
