"""The files of the page. They are read once at startup; a request never selects a file on disk."""

from hashlib import sha256
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["FOLDER", "add_page"]

FOLDER = Path(__file__).parent / "page"
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class _PageFile:
    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes()
        self.media_type = MEDIA_TYPES[path.suffix]
        self.etag = f'"{sha256(self.content).hexdigest()[:16]}"'

    async def respond(self, request: Request) -> Response:
        """Return the file, or status 304 if the browser has it in its cache."""
        headers = {"etag": self.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def add_page(app: Starlette) -> None:
    """Serve the page at / and its files under /page/."""
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in MEDIA_TYPES:
            app.add_route("/" if path.name == "index.html" else f"/page/{path.name}", _PageFile(path).respond)
