"""HTTP server: a JSON API under /v1 and a web page at /.

Needs the extra `serve`. `softset serve` starts it from the command line; `create_app(Settings())` returns the ASGI
application, to run it under your own server.
"""

from softset.server.settings import ServerLimits, Settings

__all__ = ["ServerLimits", "Settings", "create_app", "serve"]


def __getattr__(name: str) -> object:
    """Import the names that need the extra `serve` when they are first used."""
    if name == "create_app":
        from softset.server.app import create_app

        return create_app
    if name == "serve":
        from softset.server.uvicorn_runner import serve

        return serve
    raise AttributeError(f"module 'softset.server' has no attribute {name!r}")
