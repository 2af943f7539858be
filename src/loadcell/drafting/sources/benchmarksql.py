"""A property file of BenchmarkSQL: TPC-C with its settings."""

from __future__ import annotations

from pathlib import Path

from loadcell.drafting import databases
from loadcell.drafting.contents import Contents
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.ingest import benchmarksql_properties
from loadcell.ingest.benchmarksql_properties import Connection, Properties
from loadcell.ingest.text import java_properties
from loadcell.model import tools
from loadcell.model.message import MessageCode
from loadcell.workloads.benchmarksql import BenchmarkSql, BenchmarkSqlOptions

PROPERTIES_TITLE = MessageCode("draft-benchmarksql.title", "info", file=str)
PROPERTIES_DATA = MessageCode("draft-benchmarksql.data", "info")
PROPERTIES_FILE = MessageCode("draft-benchmarksql.file", "info")
PROPERTIES_EMBEDDED = MessageCode("draft-benchmarksql.embedded", "caution")


def _recognises(contents: Contents) -> bool:
    if isinstance(contents.document, dict | list):
        return False
    return {"db", "warehouses"} <= java_properties(contents.text).keys()


def _draft(origin: Origin) -> Draft:
    path = Path(origin.words[0])
    read = benchmarksql_properties.read(path)
    options = BenchmarkSqlOptions.model_validate({"properties": str(path)})
    notes = [advice.message for advice in BenchmarkSql(options).advice()]
    tpcc = Section()
    for name, value in read.options.items():
        tpcc.put(name, value)
    workload = Section()
    workload.put("tpcc", tpcc, PROPERTIES_DATA())
    workload.put("benchmarksql", {"properties": origin.file(str(path))}, PROPERTIES_FILE(), active=False)
    settings: dict[str, Value] = {"clients": read.terminals}
    if read.run_minutes:
        settings["duration"] = f"{read.run_minutes}min"
    else:
        settings["requests_per_client"] = read.transactions_per_terminal
    connection = read.connection
    if connection is None:
        notes.append(PROPERTIES_EMBEDDED())
    section = plan(
        PROPERTIES_TITLE(file=origin.name), _target(path, read, connection), workload, load(settings),
        levels=None,
    )  # fmt: skip
    return Draft(section, tuple(notes), databases.VARIABLES)


def _target(path: Path, read: Properties, connection: Connection | None) -> Section:
    """The server of `conn`, or loadcell's of the same kind."""
    properties = java_properties(path.read_text(encoding="latin-1"))
    product = properties["db"].strip().lower()
    kind = next(server.target for server in tools.jdbc_servers() if product in server.products)
    if connection is None:
        return Section(**{kind: Section(server="embedded" if kind == "postgres" else "local")})
    host, port = connection.address
    if kind == "postgres":
        return databases.postgres(
            host, str(port), read.user, connection.database, has_password=read.has_password
        )
    return databases.mysql(host, str(port), read.user, has_password=read.has_password)


DRAFT = Source(_draft, recognises=_recognises, file_kind="BenchmarkSQL")
