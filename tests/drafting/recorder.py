"""A recording of a visit to the test shop, as a browser would export it (HAR 1.2)."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Recorder:
    """Makes requests, keeps cookies, and notes what a browser's network panel notes."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.entries: list[dict[str, Any]] = []
        self._cookies: dict[str, str] = {}
        self._opener = urllib.request.build_opener(_NoRedirect)

    def request(
        self, method: str, path: str, *, form: dict[str, str] | None = None, document: Any = None,
        headers: dict[str, str] | None = None, pause_s: float = 0.0,
    ) -> Any:  # fmt: skip
        """Make a request and record it; nobody waits for `pause_s`, a pause of the user before it."""
        data: bytes | None = None
        post: dict[str, Any] | None = None
        fields = {"Accept": "*/*", "User-Agent": "Browser/1.0", "Accept-Encoding": "gzip", **(headers or {})}
        if form is not None:
            text = urllib.parse.urlencode(form)
            fields["Content-Type"] = "application/x-www-form-urlencoded"
            parameters = [{"name": name, "value": value} for name, value in form.items()]
            post = {"mimeType": fields["Content-Type"], "text": text, "params": parameters}
            data = text.encode()
        elif document is not None:
            text = json.dumps(document)
            fields["Content-Type"] = "application/json"
            post = {"mimeType": "application/json", "text": text}
            data = text.encode()
        if self._cookies:
            fields["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        sent = {name: value for name, value in fields.items() if name != "Accept-Encoding"}
        url = self.base + path
        began = time.time()
        try:
            answer = self._opener.open(urllib.request.Request(url, data, sent, method=method))
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.value
        start_s = began + sum(entry["_pause_s"] for entry in self.entries) + pause_s
        entry: dict[str, Any] = {
            "startedDateTime": datetime.fromtimestamp(start_s, UTC).isoformat().replace("+00:00", "Z"),
            "time": (time.time() - began) * 1000,
            "_pause_s": pause_s,
            "request": {
                "method": method, "url": url, "httpVersion": "HTTP/1.1",
                "headers": [{"name": name, "value": value} for name, value in fields.items()],
            },
            "response": {
                "status": answer.status,
                "headers": [{"name": name, "value": value} for name, value in answer.headers.items()],
                "content": {"mimeType": answer.headers.get("Content-Type", ""), "text": body},
            },
        }  # fmt: skip
        if post is not None:
            entry["request"]["postData"] = post
        self.entries.append(entry)
        return json.loads(body) if "json" in answer.headers.get("Content-Type", "") else body

    def static(self, url: str, kind: str) -> None:
        """Note a static file, or a request to another host, that nobody has asked for."""
        self.entries.append(
            {
                "startedDateTime": self.entries[-1]["startedDateTime"] if self.entries else "",
                "time": 1,
                "_pause_s": 0.0,
                "request": {"method": "GET", "url": url, "headers": []},
                "response": {"status": 200, "headers": [], "content": {"mimeType": kind, "text": "x"}},
            }
        )

    def document(self) -> dict[str, Any]:
        return {
            "log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": self.entries}
        }

    def save(self, path: Path) -> Path:
        path.write_text(json.dumps(self.document()), encoding="utf-8")
        return path


def visit(base: str) -> Recorder:
    """Log in, browse, order, look at the order."""
    recorder = Recorder(base)
    recorder.request("GET", "/")
    recorder.static(f"{base}/app.js", "application/javascript")
    recorder.static("https://tracker.example/collect?id=1", "application/json")
    form = {"user": "user1", "password": "user1-pw"}
    token = recorder.request("POST", "/login", form=form, pause_s=3.2)["token"]
    page = recorder.request("GET", "/items?page=1", headers={"X-Token": token})
    page = recorder.request("GET", page["next"], pause_s=1.4)
    item = page["items"][0]["id"]
    html = recorder.request("GET", f"/items/{item}")
    csrf = html.partition('name="csrf" value="')[2].partition('"')[0]
    order = {"item": item, "quantity": 1, "csrf": csrf, "note": "${not a place} # x: y"}
    made = recorder.request("POST", "/orders", document=order, headers={"X-Token": token}, pause_s=0.52)
    recorder.request("GET", f"/orders/{made['order']['id']}", headers={"X-Token": token})
    return recorder
