"""Drives a headless Chromium over its debugging pipe: no port, no library, no network."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: A page on a busy machine of two cores; what takes longer is broken.
PATIENCE_S = 60.0
_SET_UP = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
_MARKS = (
    "svg .mark-line path, svg .mark-area path, svg .mark-symbol path, "
    "svg .mark-rule line, svg .mark-rect path"
)
#: Asks a page for its charts: whether each was drawn, its marks, words and size.
CHARTS = f"""[...document.querySelectorAll('figure.chart')].map(figure => ({{
  id: figure.id,
  drawn: figure.querySelector('.canvas').dataset.drawn === 'yes',
  failed: figure.querySelectorAll('.failed').length,
  marks: figure.querySelectorAll('{_MARKS}').length,
  words: [...figure.querySelectorAll('svg text')].map(text => text.textContent).join(' '),
  wide: figure.querySelector('svg').getBoundingClientRect().width,
  room: figure.querySelector('.canvas').clientWidth,
}}))"""


class Browser:
    """One Chromium with one page.

    `requests` and `complaints` gather what the page asked for and complained of.
    """

    def __init__(self) -> None:
        program = (
            shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        )
        assert program, "a browser is needed: apt-get install chromium"
        self._profile = TemporaryDirectory(prefix="loadcell-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SET_UP, str(theirs_in), str(theirs_out), program, *_FLAGS,
             f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        """End it and remove its profile."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def open(self, path: Path, *, width: int = 1280, height: int = 1000, dark: bool = False) -> None:
        """Open a report and wait until all its charts are drawn."""
        self.requests.clear()
        self.complaints.clear()
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._call("Page.navigate", url=path.as_uri())
        self.wait_for("document.documentElement?.dataset.ready === 'yes'")

    def show(self, path: Path) -> None:
        """Open a file that is no report."""
        self.requests.clear()
        self.complaints.clear()
        self._call("Page.navigate", url=path.as_uri())

    def resize(self, width: int, height: int = 1000) -> None:
        """Give the window another size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, media: str) -> None:
        """Show the page as on `print` or `screen`."""
        self._call("Emulation.setEmulatedMedia", media=media)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE_S
        while not self.ask(expression):
            assert time.monotonic() < end, f"never became true: {expression}; {self.complaints}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release a key by its name (`Tab`, `Enter`)."""
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def pdf_pages(self) -> int:
        """The number of pages of a print."""
        import base64
        import re

        data = base64.b64decode(self._call("Page.printToPDF", preferCSSPageSize=True)["data"])
        return len(re.findall(rb"/Type\s*/Page\b", data))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            readable, _, _ = select.select([self._in], [], [], PATIENCE_S)
            assert readable, "the browser does not answer"
            part = os.read(self._in, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if params["type"] in {"error", "warning", "assert"}:
                self.complaints.append(" ".join(str(argument.get("value")) for argument in params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(params["entry"]["text"])
