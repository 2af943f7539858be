"""Parts of the page from the user's cache, as they take long to make: the script of charts, and templates."""

from __future__ import annotations

import contextlib
import importlib.metadata
import pickle
from pathlib import Path

import vl_convert
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from loadcell.model.catalogue import cache_directory, keep
from loadcell.report.pictures import VEGA_LITE


def _made_by() -> str:
    return importlib.metadata.version("vl-convert-python")


def javascript() -> str:
    """vega, vega-lite and vega-embed, as one script with the one global name `vegaEmbed`.

    A cache that cannot be read or written only costs time.
    """
    version = VEGA_LITE
    head = f"/* vega {_made_by()} {version} */\n"
    tail = "\n/* end */\n"
    previous: Path | None = None
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no home directory
        previous = cache_directory() / f"vega-{_made_by()}-{version}.js"
        text = previous.read_text(encoding="utf-8")
        if text.startswith(head) and text.endswith(tail):
            return text
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    if "</script" in script.lower() or "<!--" in script:
        script = script.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    text = f'{head}(() => {{"use strict";{script}}})();{tail}'
    if previous is not None:
        with contextlib.suppress(OSError):
            keep(previous, text)
    return text


class Compiled(FileSystemBytecodeCache):
    """A cache that cannot be read or written, or that is damaged, only costs time.

    Jinja knows a template that has changed.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept of a template."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, by rename."""
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


def compiled() -> Compiled | None:
    """None where the user has no home."""
    try:
        return Compiled(str(cache_directory() / "templates"))
    except RuntimeError:
        return None
