"""`loadcell host`: a page for people, JSON for scripts, and nothing that tells whose machine it is when asked
so.
"""

from __future__ import annotations

import json
import re
import socket

from lines import CliRunner
from loadcell.cli.host import host


def test_a_page_with_what_hurts_first_and_what_the_machine_is() -> None:
    result = CliRunner().invoke(host, [], env={"COLUMNS": "80", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Possible disturbances of measurements")
    assert re.search(r"Processors\n.*cores?,\s+\d+ threads?", result.output)
    assert max(len(row) for row in result.output.splitlines()) <= 80


def test_the_page_speaks_chinese() -> None:
    result = CliRunner().invoke(host, ["--lang", "zh"])
    assert result.exit_code == 0
    assert result.output.startswith("可能影响测量的因素")


def test_json_has_the_facts_and_the_findings() -> None:
    document = json.loads(CliRunner().invoke(host, ["--json"]).output)
    assert document["host"]["cpu"]["threads"] >= 1
    assert all({"severity", "key", "text"} <= set(finding) for finding in document["findings"])


def test_anonymous_leaves_the_name_out() -> None:
    document = json.loads(CliRunner().invoke(host, ["--json", "--anonymous"]).output)
    assert "hostname" not in document["host"]
    assert socket.gethostname() not in [
        value for value in document["host"].values() if isinstance(value, str)
    ]
