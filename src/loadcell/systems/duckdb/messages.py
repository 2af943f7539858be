"""Message codes of duckdb; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, Message, MessageCode

DUCKDB_UNREADABLE = MessageCode("duckdb.unreadable", path=str, said=ForeignText)
DUCKDB_STOPPED = MessageCode("duckdb.stopped")
DUCKDB_CORRUPT = MessageCode("duckdb.corrupt", found=str, names=str, rows=str)
DUCKDB_FAILED = MessageCode("duckdb.failed", doing=Message, said=ForeignText)
DUCKDB_NO_MEMORY = MessageCode("duckdb.no-memory", doing=Message, said=ForeignText)
DOING_LOAD_THE_DATA = MessageCode("doing.load-the-data")
DOING_OPEN = MessageCode("doing.open", path=str)
STRANGER_DATABASE = MessageCode("stranger.database")
DUCKDB_DEDICATED_THREADS = MessageCode("duckdb.own-threads", "caution")
DUCKDB_NO_TIMEOUT = MessageCode("duckdb.no-timeout")
DUCKDB_READS_ONLY = MessageCode("duckdb.reads-only", "caution")
DUCKDB_DISTINCT = MessageCode("duckdb.distinct", distinct=Count, rows=Count)
DUCKDB_PAGES = MessageCode("duckdb.pages", pages=Count, rows=Count, size=Count)
