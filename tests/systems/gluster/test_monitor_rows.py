"""Rows of the gluster monitor, from answers of the management plane."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from loadcell.systems.gluster.monitor_rows import Forecast, heal_rows, progress_rows

STATUS = """
<cliOutput><volRebalance>
<node><nodeName>10.91.0.2</nodeName><files>6</files><size>600</size><lookups>20</lookups><failures>1</failures>
<skipped>2</skipped><statusStr>in progress</statusStr><runtime>4.00</runtime></node>
<node><nodeName>localhost</nodeName><files>7</files><size>700</size><lookups>30</lookups><failures>0</failures>
<skipped>0</skipped><statusStr>completed</statusStr><runtime>2.00</runtime></node>
</volRebalance></cliOutput>
"""
HEAL = """
<cliOutput><healInfo><bricks>
<brick><name>10.91.0.1:/x/host-1/brick-1</name><status>Connected</status>
<totalNumberOfEntries>{entries}</totalNumberOfEntries>
<numberOfEntriesInSplitBrain>0</numberOfEntriesInSplitBrain></brick>
<brick><name>10.91.0.2:/x/host-2/brick-2</name><status>Transport endpoint is not connected</status>
<totalNumberOfEntries>-</totalNumberOfEntries></brick>
</bricks></healInfo></cliOutput>
"""


def test_a_status_has_a_row_for_each_node_with_its_time_left() -> None:
    second, first = progress_rows(ET.fromstring(STATUS), "rebalance", {"host-1": 30, "host-2": 100})
    assert second == {
        "node": "host-2", "task": "rebalance", "status": "in progress", "files": 6, "size_bytes": 600,
        "scanned": 20, "failures": 1, "skipped": 2, "run_time_s": 4.0, "files_per_s": 1.5, "left_s": 16.0,
    }  # fmt: skip
    assert (first["node"], first["files_per_s"], first["left_s"]) == ("host-1", 3.5, 0.0)


def test_the_time_of_a_heal_is_forecast_from_its_last_samples() -> None:
    forecast = Forecast()
    first, lost = heal_rows(ET.fromstring(HEAL.format(entries=100)), forecast, 10.0)
    assert (first["entries"], first["left_s"]) == (100, None)
    assert (lost["brick"], lost["entries"], lost["status"]) == (
        2,
        None,
        "Transport endpoint is not connected",
    )
    later, _ = heal_rows(ET.fromstring(HEAL.format(entries=60)), forecast, 14.0)
    assert (later["files_per_s"], later["left_s"]) == (pytest.approx(10.0), pytest.approx(6.0))
    done, _ = heal_rows(ET.fromstring(HEAL.format(entries=0)), forecast, 20.0)
    assert done["left_s"] == 0.0


def test_no_answer_has_no_rows() -> None:
    assert progress_rows(ET.Element("none"), "rebalance", {}) == []
    assert heal_rows(ET.Element("none"), Forecast(), 0.0) == []
