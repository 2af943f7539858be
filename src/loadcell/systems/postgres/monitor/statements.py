"""The statements that took most of the server's time, by pg_stat_statements, where it is loaded.

Only the texts of pg_stat_statements are kept, in which parameters stand for constants. It leaves utility
statements as they were sent, passwords and all: of these only the first words are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.postgres.monitor.queries import Link, literal

TABLE = SampleTable(
    "postgres-statements",
    (
        "query_id", "query", "calls", "total_ms", "mean_ms", "share", "rows", "blocks_hit", "blocks_read",
        "blocks_dirtied", "temp_blocks_read", "temp_blocks_written", "wal_bytes",
    ),
    text=frozenset({"query_id", "query"}),
)  # fmt: skip
LONGEST = 500
_FIGURES = (
    "calls", "total_ms", "rows", "blocks_hit", "blocks_read", "blocks_dirtied", "temp_blocks_read",
    "temp_blocks_written", "wal_bytes",
)  # fmt: skip
_WHERE = (
    "SELECT extnamespace::regnamespace::text AS home FROM pg_extension WHERE extname = 'pg_stat_statements'"
)
_READ = """
    SELECT queryid AS query_id, sum(calls) AS calls, sum({time}) AS total_ms, sum(rows) AS rows,
           sum(shared_blks_hit) AS blocks_hit, sum(shared_blks_read) AS blocks_read,
           sum(shared_blks_dirtied) AS blocks_dirtied, sum(temp_blks_read) AS temp_blocks_read,
           sum(temp_blks_written) AS temp_blocks_written{wal}
    FROM {home}.pg_stat_statements(false)
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = {database}) AND queryid IS NOT NULL {top}
    GROUP BY queryid
"""
_TEXTS = """
    SELECT DISTINCT ON (queryid) queryid AS query_id, query FROM {home}.pg_stat_statements(true)
    WHERE queryid IN ({ids}) AND dbid = (SELECT oid FROM pg_database WHERE datname = {database})
"""
#: Statements whose constants pg_stat_statements replaces.
_PLANNED = re.compile(r"(select|insert|update|delete|merge|with|values)\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z]+(?: [a-z]+)?\b", re.IGNORECASE)
#: In the rare text that it could not replace them in, they are replaced here.
_CONSTANTS = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)

Reading = dict[str, dict[str, float]]


def home(link: Link) -> str | None:
    """The schema of the extension in the database of this session, quoted; None when it is not there."""
    row = link.ask(_WHERE)[0]
    return row[0]["home"] if row else None


def read(link: Link, home: str, database: str) -> Reading:
    """Counters of each statement of the database. Raises AnswerError if the extension is not loaded."""
    new = link.version >= 130000
    sql = _READ.format(
        home=home,
        database=literal(database),
        time="total_exec_time" if new else "total_time",
        wal=", sum(wal_bytes) AS wal_bytes" if new else "",
        top="AND toplevel" if link.version >= 140000 else "",
    )
    return {
        str(record["query_id"]): {name: float(record[name] or 0) for name in _FIGURES if name in record}
        for record in link.ask(sql)[0]
    }


def top(before: Reading, now: Reading, most: int) -> list[Row]:
    """The statements that took most time between two readings, with their share of all such time."""
    statements: list[Row] = []
    for query_id, figures in now.items():
        old = before.get(query_id, {})
        if figures["calls"] < old.get("calls", 0):  # evicted, and started again
            old = {}
        grown = {name: value - old.get(name, 0) for name, value in figures.items()}
        if grown["calls"] > 0:
            statements.append({"query_id": query_id, **grown})
    total_ms = sum(row["total_ms"] for row in statements)
    for row in statements:
        row["mean_ms"] = row["total_ms"] / row["calls"]
        row["share"] = row["total_ms"] / total_ms if total_ms > 0 else None
    return sorted(statements, key=lambda row: -row["total_ms"])[:most]


def with_texts(link: Link, home: str, database: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with their statements' texts."""
    if not rows:
        return []
    ids = ", ".join(str(int(row["query_id"])) for row in rows)
    sql = _TEXTS.format(home=home, ids=ids, database=literal(database))
    texts = {record["query_id"]: shown(record["query"] or "") for record in link.ask(sql)[0]}
    return [{**row, "query": texts.get(row["query_id"], "")} for row in rows]


def shown(text: str) -> str:
    """A statement in one line, without constants; of one that pg_stat_statements does not normalise, its
    first two words.
    """
    bare = " ".join(_COMMENTS.sub(" ", text).split())
    if not _PLANNED.match(bare):
        first = _WORDS.match(bare)
        words = first[0] if first else ""
        return words if bare.rstrip("; ") == words else f"{words} …"
    bare = " ".join(_CONSTANTS.sub("?", bare).split())
    return bare if len(bare) <= LONGEST else bare[: LONGEST - 1] + "…"
