"""DuckDB: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

DUCKDB_START_TITLE = MessageCode("draft-duckdb.title", "info")
DUCKDB_START_THREADS = MessageCode("draft-duckdb.threads", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target = Section(duckdb={})
    workload = Section(duckdb=Section(rows=1_000_000))
    factors = Section()
    factors.put("target.duckdb.threads", [1, 2], DUCKDB_START_THREADS())
    settings = load({"clients": 1}, open_loop=False)
    return Draft(plan(DUCKDB_START_TITLE(), target, workload, settings, factors=factors))


DRAFT = Source(_draft, ("duckdb",))
