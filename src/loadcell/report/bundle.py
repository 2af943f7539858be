"""The Vega libraries as one script, to be put into a page.

Making it takes 1.7 s, so it is kept in the user's cache.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import vl_convert

from loadcell.model.user_cache import cache_directory, keep
from loadcell.report.pictures import VEGA_LITE


def _made_by() -> str:
    from importlib.metadata import version

    return version("vl-convert-python")


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
