"""The section of a report on an inspected server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from loadcell.analysis.server import KeyValueServed
from loadcell.model import panels
from loadcell.model.panels import DatabaseTables, KeyValueTable
from loadcell.report import build
from loadcell.report.blocks import Chart, Paragraph, Section, Table
from loadcell.report.charts import series
from loadcell.report.context import ReportContext
from loadcell.report.render import html
from loadcell.report.sections import server
from loadcell.report.texts import Texts
from loadcell.store.frames import Frame, Text
from loadcell.store.read import StoredRun

Stored = Callable[[str], StoredRun]


def section(stored: Stored, name: str = "watched", lang: str = "en") -> Section | None:
    sections = [section for section in build.build(stored(name), lang).sections if section.id == "server"]
    return sections[0] if sections else None


def block(stored: Stored, id_: str) -> Table | Chart:
    server_section = section(stored)
    assert server_section is not None
    return next(
        block for block in server_section.blocks if isinstance(block, Table | Chart) and block.id == id_
    )


def test_a_run_without_such_a_monitor_has_no_such_section(stored: Stored) -> None:
    assert section(stored, "two") is None


def test_each_level_says_what_its_sessions_waited_for(stored: Stored) -> None:
    table = block(stored, "table-waits")
    assert isinstance(table, Table)
    rows = [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]
    assert [row[:4] for row in rows] == [
        ["1", "4", "4.00", "25%"],
        ["2", "8", "8.00", "25%"],
        ["3", "16", "16.0", "25%"],
    ]
    assert rows[1][5] == "Lock: transactionid 50%, IO: WALSync 25%"
    assert rows[0][6] == "60", "two repeats of 30 seconds, warm-up left out"


def test_levels_on_different_servers_all_have_a_row(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = block(stored, "table-waits"), block(stored, "table-server"), block(stored, "table-statements")
    last = stored("watched").trials[-1].treatment
    recorded = StoredRun.samples

    def by_server(run: StoredRun, monitor: str) -> Frame:
        frame = recorded(run, monitor.replace("other", "postgres"))
        is_other = frame.text("treatment").isin(last)
        return frame.take(is_other if "other" in monitor else ~is_other)

    tables = *panels.database_tables(), DatabaseTables("other", "other.waits", "other.statements")
    monkeypatch.setattr(panels, "database_tables", lambda: tables)
    monkeypatch.setattr(StoredRun, "samples", by_server)
    assert block(stored, "table-waits") == expected[0]
    assert block(stored, "table-server") == expected[1]
    assert block(stored, "table-statements") == expected[2]


def test_bars_add_up_to_the_active_sessions(stored: Stored) -> None:
    chart = block(stored, "chart-waits")
    assert isinstance(chart, Chart)
    sums: dict[str, float] = {}
    for row in chart.data["bars"]:
        sums[row["x"]] = sums.get(row["x"], 0.0) + row["value"]
    assert sums == {"4": 4, "8": 8, "16": 16}
    assert [row["name"] for row in chart.data["bars"][:3]] == ["CPU", "Lock: transactionid", "IO: WALSync"]


def test_a_level_with_idle_sessions_keeps_its_place_among_the_bars(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = stored("watched").run.treatments[-1].id
    recorded = StoredRun.samples

    def without_the_last(run: StoredRun, monitor: str) -> Frame:
        frame = recorded(run, monitor)
        return frame.take(~frame.text("treatment").isin(last)) if monitor == "postgres.waits" else frame

    monkeypatch.setattr(StoredRun, "samples", without_the_last)
    chart = block(stored, "chart-waits")
    assert isinstance(chart, Chart)
    assert {row["x"] for row in chart.data["bars"]} == {"4", "8"}
    assert '"domain": ["4", "8", "16"]' in json.dumps(chart.spec)
    assert len(chart.captions) == 1


def test_shares_that_rest_on_few_sightings_are_not_shown(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = StoredRun.samples

    def fewer(run: StoredRun, monitor: str) -> Frame:
        frame = recorded(run, monitor)
        if monitor != "postgres.waits":
            return frame
        return frame.adding({"sessions": frame.numbers("sessions") * 0.02})

    assert isinstance(block(stored, "chart-waits"), Chart)
    monkeypatch.setattr(StoredRun, "samples", fewer)
    server_section = section(stored)
    assert server_section is not None
    assert {"chart-waits", "table-waits"}.isdisjoint(
        getattr(item, "id", "") for item in server_section.blocks
    )
    assert any(isinstance(item, Paragraph) and "need 30" in item.text for item in server_section.blocks)


@pytest.mark.parametrize(("wait", "reported"), [("ClientRead", True), ("DataFileRead", False)])
def test_a_server_that_waited_for_its_client_is_reported(
    stored: Stored, monkeypatch: pytest.MonkeyPatch, wait: str, reported: bool
) -> None:
    recorded = StoredRun.samples
    kind = "Client" if reported else "IO"

    def waiting(run: StoredRun, monitor: str) -> Frame:
        frame = recorded(run, monitor)
        if monitor != "postgres.waits":
            return frame
        names = {"wait_event_type": kind, "wait_event": wait}
        return frame.adding({name: Text.of([text] * len(frame)) for name, text in names.items()})

    monkeypatch.setattr(StoredRun, "samples", waiting)
    findings = ReportContext.of(stored("watched"), "en").findings
    sentences = [Texts("en").message(finding.message) for finding in findings]
    sentence = "In 3 treatments, active sessions and transactions waited for the client for at least 100%"
    assert any(sentence in text for text in sentences) is reported


def test_counters_are_rates_and_shares(stored: Stored) -> None:
    table = block(stored, "table-server")
    assert isinstance(table, Table)
    assert [cell.text for cell in table.rows[0]][2:] == [
        "100.0", "99%", "10.00", "200 KiB", "2 KiB", "2",
    ]  # fmt: skip


def test_statements_come_with_their_share_and_are_only_text(stored: Stored) -> None:
    table = block(stored, "table-statements")
    assert isinstance(table, Table)
    assert [cell.text for cell in table.rows[0]][:4] == [
        "UPDATE t SET v = v + $1 WHERE id = $2",
        "75%",
        "3,000",
        "6.00",
    ]
    page = html.render(build.build(stored("watched"), "en"))
    assert "SELECT &lt;b&gt;v&lt;/b&gt; FROM t" in page
    assert "SELECT <b>" not in page


@pytest.mark.parametrize(("lang", "says"), [("en", "pg_monitor` allows it"), ("zh", "授权")])
def test_missing_evidence_is_reported_in_the_readers_language(stored: Stored, lang: str, says: str) -> None:
    server_section = section(stored, lang=lang)
    assert server_section is not None
    paragraphs = [block.text for block in server_section.blocks if isinstance(block, Paragraph)]
    assert len(paragraphs) == 2
    assert says in paragraphs[0]
    assert paragraphs[1] == "not known yet", "a note of a later version is shown as it was recorded"


def test_waits_and_checkpoints_lie_under_the_throughput_on_its_axis(stored: Stored) -> None:
    report = build.build(stored("watched"), "en")
    chart = next(candidate for candidate in report.charts() if candidate.id == "chart-series")
    titles = [view["title"] for view in chart.spec["vconcat"]]
    assert titles[:3] == [
        "Load: transactions/s",
        "Load: response time (ms)",
        "Server: active sessions by wait",
    ]
    rows = series.rows(chart, chart.chosen[0])
    assert rows["checkpoints"] == [{"t": 10.0, "to": 14.0, "reason": "timed"}]
    clients = sum(rows["waits"][-1][column] for column in ("w0", "w1", "w2"))
    assert clients in (4, 8, 16)
    assert "rest" not in rows["waits"][0], "nothing is left over"
    marked = [view for view in chart.spec["vconcat"] if "checkpoints" in str(view)]
    assert len(marked) == 5, "load, waits and server"


def test_the_servers_own_price_is_named(stored: Stored) -> None:
    text = html.render(build.build(stored("watched"), "en"))
    assert "in the server, for the queries of postgres: 0.42 s CPU" in text


def test_treatments_that_ended_before_a_second_look_are_said_to_be_missing(stored: Stored) -> None:
    """100 clients make their requests in half a second, and INFO is asked once a second."""
    note = Texts("en")("table.key-value.left-out")
    for seen, missing in ((1, True), (2, False)):
        context = ReportContext.of(stored("two"), "en")
        assert len(context.analysis.treatments) == 2
        served = [
            KeyValueServed(treatment, 142_852.0, None, 0.88, 1e6, 1.2, 0, 0, 501, 0.0)
            for treatment in context.analysis.treatments[:seen]
        ]
        vars(context)["key_value"] = ((KeyValueTable("redis", "table.redis"), tuple(served)),)
        (table,) = server.key_value(context)
        assert table.id == "table-redis"
        assert (note in table.note) == missing
