"""Real servers of HTTP/2: nginx, and nghttpd of nghttp2. Both listen on 127.0.0.1 alone."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from servers import die_with_parent, free_port

_START_LIMIT_S = 30.0

_NGINX = """
daemon off;
user root;
worker_processes 1;
pid {root}/pid;
error_log {root}/error.log;
events {{ worker_connections 200; }}
http {{
  log_format short '$status $server_protocol $request_method $uri';
  access_log {root}/access.log short;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{
    listen 127.0.0.1:{port} {listen};
    {lines}
    root {root}/files;
    location = /moved {{ return 301 /; }}
    location = /broken {{ return 500 "no"; }}
  }}
}}
"""


class Server:
    """A process that listens on `port`."""

    def __init__(self, root: Path, command: Sequence[str | Path], port: int) -> None:
        self.root = root
        self.port = port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def target(self, **more: Any) -> dict[str, Any]:
        """The `target` section of the engine's specification."""
        return {"protocol": "http", "host": "127.0.0.1", "port": self.port, "sslmode": "disable", **more}

    def signal(self, number: signal.Signals) -> None:
        """Send it to the server."""
        assert self._process is not None
        self._process.send_signal(number)

    def __enter__(self) -> Server:
        with (self.root / "output.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self.root, stdout=log, stderr=log, preexec_fn=die_with_parent
            )
        deadline = time.monotonic() + _START_LIMIT_S
        while not self._listens():
            assert self._process.poll() is None, (self.root / "output.log").read_text()
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.01)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_START_LIMIT_S)

    def _listens(self) -> bool:
        """Return whether the port listens, without a connection that the server would count."""
        ours = f"0100007F:{self.port:04X} 00000000:0000 0A"
        return any(ours in line for line in Path("/proc/net/tcp").read_text().splitlines())


class Nginx(Server):
    """nginx with the files that are in `root`/files."""

    def __init__(self, root: Path, *, listen: str = "http2", lines: str = "") -> None:
        port = free_port()
        (root / "files").mkdir(parents=True, exist_ok=True)
        (root / "files" / "index.html").write_text("hello")
        settings = root / "nginx.conf"
        settings.write_text(_NGINX.format(root=root, port=port, listen=listen, lines=lines))
        super().__init__(root, ["/usr/sbin/nginx", "-c", settings, "-p", root], port)

    def log(self, lines: int) -> list[str]:
        """Its access log: a line a request.

        It may come a moment after the response, so `lines` are waited for.
        """
        deadline = time.monotonic() + 5
        while True:
            entries = (self.root / "access.log").read_text().splitlines()
            if len(entries) >= lines or time.monotonic() > deadline:
                return entries
            time.sleep(0.01)


class Nghttpd(Server):
    """nghttpd without TLS; what is uploaded comes back."""

    def __init__(self, root: Path, *options: str) -> None:
        port = free_port()
        (root / "index.html").write_text("hello")
        command = ["nghttpd", "--no-tls", "--address=127.0.0.1", "--echo-upload", *options]
        super().__init__(root, [*command, f"--htdocs={root}", str(port)], port)
