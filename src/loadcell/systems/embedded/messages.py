"""Message codes of embedded; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode

STORE_NO_LIBRARY = MessageCode("store.no-library", package=str, said=ForeignText)
STRANGER_STORE = MessageCode("stranger.store")
STORE_DEDICATED_THREADS = MessageCode("store.own-threads", "caution")
STORE_NO_CACHE = MessageCode("store.no-cache", "caution")
