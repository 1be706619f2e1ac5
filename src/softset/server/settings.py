"""Settings of the server: where it listens, what it offers, and its limits."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from softset.errors import InputError

MIN_KEY_LENGTH = 16


class LimitError(InputError):
    """A request exceeds a limit of the server."""


def _limit(default: float, description: str, flag: str) -> Any:
    """Declare a limit with the flag of `softset serve` that sets it."""
    return field(default=default, metadata={"flag": flag, "help": description})


@dataclass(frozen=True)
class ServerLimits:
    """Limits for one request and for the server as a whole; `softset serve --help` and docs/server.md describe them.

    >>> ServerLimits(texts=0)
    Traceback (most recent call last):
    softset.errors.InputError: the limit texts is 0, but must be above 0
    """

    concurrency: int = _limit(8, "Maximum number of requests that are processed at the same time.", "--concurrency")
    queue: int = _limit(64, "Maximum number of waiting requests; further requests get status 503.", "--queue")
    timeout: float = _limit(30.0, "Maximum seconds for a request, including its time in the queue.", "--timeout")
    body: int = _limit(2 << 20, "Maximum size of a request body, in bytes.", "--max-body")
    texts: int = _limit(1_024, "Maximum number of texts or queries in a request.", "--max-texts")
    tokens: int = _limit(32_768, "Maximum number of tokens in all texts of a request.", "--max-tokens")
    text_tokens: int = _limit(4_096, "Maximum number of tokens in one text.", "--max-text-tokens")
    query: int = _limit(10_000, "Maximum number of characters in all queries and named sets.", "--max-query")
    cells: int = _limit(65_536, "Maximum number of matrix cells, explained token pairs or results.", "--max-cells")
    items: int = _limit(10_000, "Maximum number of items in a temporary collection.", "--max-items")
    item_bytes: int = _limit(16 << 20, "Maximum size of a temporary collection's texts, in bytes.", "--max-item-bytes")
    temporary_collections: int = _limit(32, "Maximum number of temporary collections.", "--max-collections")
    loaded_models: int = _limit(4, "Maximum number of models in memory; each layer counts as one.", "--max-models")
    lifetime: float = _limit(
        3_600.0, "Seconds from the last use of a temporary collection to its deletion.", "--lifetime"
    )

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not value > 0:
                raise InputError(f"the limit {limit.name} is {value}, but must be above 0")

    def check(self, what: str, name: str, count: float) -> None:
        """Raise an error if a count exceeds the named limit.

        >>> ServerLimits().check("texts", "texts", 2_000)
        Traceback (most recent call last):
        softset.server.settings.LimitError: the limit is 1,024 texts, but there are 2,000: send less at once or raise \
the limit (softset serve --max-texts)
        """
        limit = getattr(self, name)
        if count > limit:
            flag = self.__dataclass_fields__[name].metadata["flag"]
            raise LimitError(
                f"the limit is {limit:,} {what}, but there are {count:,}: send less at once or raise the limit "
                f"(softset serve {flag})"
            )


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    Attributes:
        host: address to listen on; the loopback address by default.
        port: port to listen on; 0 takes any free port.
        key: API key that requests must send; required unless the host is a loopback address.
        vectors: word vectors by name, as `load_words` takes them; all installed ones by default.
        models: models by name, as `load_encoder` takes them; all installed ones by default.
        collections: folders of collections by name.
        hosts: further host names of the server, for example the name of a proxy.
        threads: threads for models and searches; by default OMP_NUM_THREADS, or all cores.
        limits: limits for requests and for the server.

    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    softset.errors.InputError: other machines can reach 0.0.0.0: set an API key of at least 16 characters (--key-file \
or SOFTSET_API_KEY), or listen on 127.0.0.1
    """

    host: str = "127.0.0.1"
    port: int = 8000
    key: str | None = None
    vectors: Mapping[str, str] | None = None
    models: Mapping[str, str] | None = None
    collections: Mapping[str, Path] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    threads: int | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InputError(f"the port is {self.port}, but must be from 0 to 65535")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}, but must be at least 1")
        if self.key is not None and (
            len(self.key) < MIN_KEY_LENGTH or not self.key.isascii() or self.key.split() != [self.key]
        ):
            raise InputError(
                f"the API key must have at least {MIN_KEY_LENGTH} ASCII characters and no space: create one with "
                "python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if self.key is None and not is_loopback(self.host):
            raise InputError(
                f"other machines can reach {self.host}: set an API key of at least {MIN_KEY_LENGTH} characters "
                "(--key-file or SOFTSET_API_KEY), or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
