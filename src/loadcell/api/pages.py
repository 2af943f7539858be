"""Pages of reports inside a notebook."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from loadcell.model.message import Bytes, MessageCode
from loadcell.report.texts import Texts

PAGE_TOO_LARGE = MessageCode("api.page-too-large", "info", size_bytes=Bytes, limit_bytes=Bytes)

#: A notebook stores each page that it shows: larger ones make it slow to open.
MOST_BYTES = 8_000_000
_HEIGHT_PX = 640
#: In a frame without an address, links within the page would lead to the page around it.
_BASE = '<base href="about:srcdoc">'
#: Scripts draw the charts; without an origin they have no access to the notebook.
_FRAME = (
    '<iframe sandbox="allow-scripts" srcdoc="{page}" title="{title}" width="100%" height="{height}" '
    'style="border: 0; width: 100%"></iframe>'
)


def framed(page: str, title: str, lang: str) -> str:
    """HTML that shows a page in a separate frame; a sentence in place of one that is too large."""
    size = len(page.encode())
    if size > MOST_BYTES:
        message = PAGE_TOO_LARGE(size_bytes=size, limit_bytes=MOST_BYTES)
        return f"<p>{escape(title)}</p><p>{escape(Texts(lang).message(message))}</p>"
    head, tag, body = page.partition("<head>")
    return _FRAME.format(page=escape(f"{head}{tag}{_BASE}{body}"), title=escape(title), height=_HEIGHT_PX)


@contextmanager
def collectable() -> Iterator[None]:
    """Undo the exclusion of objects from garbage collections, which only suits a process that ends soon."""
    before = gc.get_freeze_count()
    try:
        yield
    finally:
        if not before:
            gc.unfreeze()
