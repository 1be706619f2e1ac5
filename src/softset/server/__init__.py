"""The engine over HTTP: a typed interface under /v1 for programs, and a page at / for people.

Needs the extra `serve`. `softset serve` is its command line; `create_app(Settings())` is the application itself, for
whoever runs it under a server of his own.
"""

from softset.server.settings import Limits, Settings

__all__ = ["Limits", "Settings", "create_app", "serve"]


def __getattr__(name: str) -> object:
    """Import what needs the extra when it is asked for: settings can be read, and refused, without it."""
    if name == "create_app":
        from softset.server.app import create_app

        return create_app
    if name == "serve":
        from softset.server.running import serve

        return serve
    raise AttributeError(f"module 'softset.server' has no attribute {name!r}")
