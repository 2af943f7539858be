"""A small web shop with a database: log in, browse, order. `python tests/shop.py --port 8080` runs it alone.

    POST /login          form user, password      sets the cookie `session`; JSON with a token
    GET  /items?page=2   a page of items, as JSON of about 1 KB, and the path of the next page
    GET  /items/7        one item as HTML, with a token against forged orders
    POST /orders         JSON item, quantity      with cookie, and the token as X-Token; 201 with Location
    GET  /orders/3       one's own order, as JSON
    POST /photos         multipart form with a file; JSON with its name, type, size and the form's fields
    GET  /stock          only for the user `clerk`, by Basic credentials, or for the token `s3cret-token`

Users are `user1` to `user50`; the password of each is its name and `-pw`.
"""

from __future__ import annotations

import argparse
import base64
import email.parser
import email.policy
import hashlib
import json
import re
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

USERS, ITEMS, PAGE = 50, 100, 10
CLERK = base64.b64encode(b"clerk:clerk-pw").decode()
BEARER = "s3cret-token"

SCHEMA = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, password TEXT);
CREATE TABLE sessions (id TEXT PRIMARY KEY, user INTEGER REFERENCES users, token TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price INTEGER, stock INTEGER);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, user INTEGER REFERENCES users, item INTEGER REFERENCES items, quantity INTEGER
);
"""


def _hashed(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def create(database: Path) -> None:
    """A new database with users and items."""
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)
        users = [(f"user{number}", _hashed(f"user{number}-pw")) for number in range(1, USERS + 1)]
        connection.executemany("INSERT INTO users (name, password) VALUES (?, ?)", users)
        items = [(f"Item {number}", 100 + number, 1_000_000) for number in range(1, ITEMS + 1)]
        connection.executemany("INSERT INTO items (name, price, stock) VALUES (?, ?, ?)", items)
    connection.close()


class Handler(BaseHTTPRequestHandler):
    """One connection; each thread has a connection to the database."""

    protocol_version = "HTTP/1.1"
    server_version = "shop"
    disable_nagle_algorithm = True
    wbufsize = -1
    database: Path
    _local = threading.local()

    @property
    def sql(self) -> sqlite3.Connection:
        if not hasattr(self._local, "connection"):
            connection = sqlite3.connect(self.database, timeout=30, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            self._local.connection = connection
        connection = self._local.connection
        assert isinstance(connection, sqlite3.Connection)
        return connection

    def reply(
        self, status: int, body: object, headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def session(self) -> tuple[int, str] | None:
        """User and token of the cookie's session."""
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        query = "SELECT user, token FROM sessions WHERE id = ?"
        row = self.sql.execute(query, (cookie.value if cookie else "",)).fetchone()
        return None if row is None else (row[0], row[1])

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/":
            self.reply(200, "<title>Shop</title>", kind="text/html")
        elif parts.path == "/items":
            self.page(int(parse_qs(parts.query).get("page", ["1"])[0]))
        elif (item := re.fullmatch(r"/items/(\d+)", parts.path)) is not None:
            self.item(int(item[1]))
        elif (order := re.fullmatch(r"/orders/(\d+)", parts.path)) is not None:
            self.order(int(order[1]))
        elif parts.path == "/stock":
            allowed = self.headers.get("Authorization") in (f"Basic {CLERK}", f"Bearer {BEARER}")
            total = self.sql.execute("SELECT sum(stock) FROM items").fetchone()[0]
            self.reply(200, {"stock": total}) if allowed else self.reply(401, {"error": "clerks only"})
        else:
            self.reply(404, {"error": "no such page"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/login":
            self.login(parse_qs(body.decode()))
        elif self.path == "/orders":
            self.new_order(body)
        elif self.path == "/photos":
            self.photo(body)
        else:
            self.reply(404, {"error": "no such page"})

    def login(self, form: dict[str, list[str]]) -> None:
        name, password = (form.get(key, [""])[0] for key in ("user", "password"))
        query = "SELECT id FROM users WHERE name = ? AND password = ?"
        row = self.sql.execute(query, (name, _hashed(password))).fetchone()
        if row is None:
            return self.reply(401, {"error": "wrong user or password"})
        session, token = secrets.token_hex(16), secrets.token_urlsafe(24)
        self.sql.execute("INSERT INTO sessions VALUES (?, ?, ?)", (session, row[0], token))
        cookie = f"session={session}; Path=/; HttpOnly; SameSite=Lax"
        return self.reply(200, {"user": {"id": row[0], "name": name}, "token": token}, {"Set-Cookie": cookie})

    def page(self, number: int) -> None:
        query = "SELECT id, name, price FROM items WHERE id > ? ORDER BY id LIMIT ?"
        rows = self.sql.execute(query, ((number - 1) * PAGE, PAGE)).fetchall()
        items = [
            {"id": row[0], "name": row[1], "price": row[2], "tags": ["new", "in stock", "free delivery"]}
            for row in rows
        ]
        last = number * PAGE >= ITEMS
        self.reply(
            200, {"page": number, "items": items, "next": None if last else f"/items?page={number + 1}"}
        )

    def item(self, number: int) -> None:
        row = self.sql.execute("SELECT name, price FROM items WHERE id = ?", (number,)).fetchone()
        if row is None:
            return self.reply(404, {"error": "no such item"})
        session = self.session()
        token = f'<input type="hidden" name="csrf" value="{session[1]}">' if session else ""
        return self.reply(200, f"<h1>{row[0]}</h1><p>{row[1]}</p>{token}", kind="text/html; charset=utf-8")

    def new_order(self, body: bytes) -> None:
        session = self.session()
        if session is None or self.headers.get("X-Token") != session[1]:
            return self.reply(403, {"error": "log in first"})
        order = json.loads(body)
        changed = self.sql.execute(
            "UPDATE items SET stock = stock - ? WHERE id = ?", (order["quantity"], order["item"])
        )
        if changed.rowcount != 1:
            return self.reply(404, {"error": "no such item"})
        added = self.sql.execute(
            "INSERT INTO orders (user, item, quantity) VALUES (?, ?, ?)",
            (session[0], order["item"], order["quantity"]),
        )
        path = f"/orders/{added.lastrowid}"
        return self.reply(201, {"order": {"id": added.lastrowid, "status": "new"}}, {"Location": path})

    def order(self, number: int) -> None:
        session = self.session()
        query = "SELECT item, quantity FROM orders WHERE id = ? AND user = ?"
        row = self.sql.execute(query, (number, session[0] if session else 0)).fetchone()
        if row is None:
            return self.reply(404, {"error": "no such order of yours"})
        return self.reply(200, {"order": {"id": number, "item": row[0], "quantity": row[1], "status": "new"}})

    def photo(self, body: bytes) -> None:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        fields, files = {}, []
        for part in form.iter_parts():
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            if part.get_filename() is None:
                fields[part.get_param("name", header="content-disposition")] = content.decode()
            else:
                sum_ = hashlib.sha256(content).hexdigest()
                files.append({"name": part.get_filename(), "type": part.get_content_type(), "sha256": sum_})
        self.reply(201, {"fields": fields, "files": files})

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    request_queue_size = 128
    daemon_threads = True


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--database", type=Path, help="default: one that ends with the process")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shop-") as directory:
        Handler.database = arguments.database or Path(directory) / "shop.db"
        if not Handler.database.exists():
            create(Handler.database)
        with Server(("127.0.0.1", arguments.port), Handler) as server:
            server.serve_forever()


class Shop:
    """The shop as a separate process, with its database in `directory`."""

    def __init__(self, directory: Path) -> None:
        self.database = directory / "shop.db"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Shop:
        words = [sys.executable, __file__, "--port", str(self.port), "--database", str(self.database)]
        self._process = subprocess.Popen(words)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                assert self._process.poll() is None, "the shop has ended"
                assert time.monotonic() < deadline, "the shop does not listen"
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def sql(self, query: str) -> list[tuple[object, ...]]:
        """Rows of the shop's database."""
        connection = sqlite3.connect(self.database, timeout=30)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


if __name__ == "__main__":
    main()
