"""An HTTP server of metric pages that does what a test tells it to."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

#: Answers one GET request.
Answer = Callable[["Request"], None]


class Request(http.server.BaseHTTPRequestHandler):
    """One connection; `server.answer` answers its requests."""

    protocol_version = "HTTP/1.1"
    server: Pages

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        self.server.answer(self)

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Send a whole response."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


class Pages(http.server.ThreadingHTTPServer):
    """Serves `page`, or what `answer` makes, on a free port of 127.0.0.1."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, page: str = "", port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Request)
        self.page = page
        self.answer: Answer = lambda request: request.reply(self.page.encode())
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.scheme = "http"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def port(self) -> int:
        """The port."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"{self.scheme}://127.0.0.1:{self.port}/metrics"

    def __enter__(self) -> Pages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is expected here."""


def with_tls(pages: Pages, certificate: Path, key: Path) -> Pages:
    """The same server over TLS."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    pages.socket = context.wrap_socket(pages.socket, server_side=True)
    pages.scheme = "https"
    return pages
