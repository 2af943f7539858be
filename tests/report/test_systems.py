"""Reports of runs in which a factor switches the system under test: each is described by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fake_runs
from loadcell.report import write
from report import comparisons
from report.test_page import Page

FACTS: dict[str, dict[str, Any]] = {
    "postgres": {"server": "embedded", "version": "18.4", "settings": [{"name": "wal", "value": "1"}]},
    "mysql": {
        "server": "local",
        "product": "MariaDB",
        "version": "10.11.19",
        "settings": [{"name": "binlog", "value": "2"}],
    },
}
SETS = {
    "postgres": {"target": {"postgres": {"settings": {"shared_buffers": "64MB"}}}},
    "mysql": {"target": {"mysql": {"settings": {"innodb_buffer_pool_size": "32M"}}}},
}
SCRIPT = "SELECT abalance FROM pgbench_accounts WHERE aid = 1;"


def switched(tmp_path: Path) -> Path:
    """A run of four treatments on two targets, the factor having named levels."""
    run = fake_runs.write_run(
        tmp_path / "run",
        fake_runs.Shape(
            factors={"system": ["postgres", "mysql"], "load.clients": [4, 8]}, seconds=10, server=True
        ),
    )

    def settings(document: dict[str, Any]) -> None:
        system = document["levels"]["system"]
        document["settings"]["target"] = SETS[system]["target"]
        document["settings"]["workload"] = {
            "pgbench": {"scripts": ["mine.sql"], "script_texts": {"mine.sql": SCRIPT}}
        }

    def factors(document: dict[str, Any]) -> None:
        for treatment in document["treatments"]:
            settings(treatment)
        document["factors"][0]["levels"] = [{"label": name, "sets": SETS[name]} for name in SETS]

    def described(document: dict[str, Any]) -> None:
        settings(document)
        document["target"] = FACTS[document["levels"]["system"]]

    comparisons.change(run, factors, "run.json")
    for trial in (run / "trials").iterdir():
        comparisons.change(trial, described, "trial.json")
        if json.loads((trial / "trial.json").read_text())["levels"]["system"] == "mysql":
            for samples in trial.glob("postgres*.csv"):
                samples.unlink()
    return run


EXPECTED = {
    "en": (
        ("System under test (system = postgres)", "Target postgres", "Version 18.4"),
        ("System under test (system = mysql)", "Target mysql", "Product MariaDB", "Version 10.11.19"),
        ("Target (system = mysql) mysql: settings.innodb_buffer_pool_size 32M",),
        ("Factor system postgres (target.postgres.settings.shared_buffers 64MB); mysql (target.mysql.",),
        ("Factor clients 4, 8",),
        ("Script mine.sql", SCRIPT),
        ("The table lists only treatments with this server monitoring.",),
    ),
    "zh": (
        ("被测系统（system = postgres）", "被测系统 postgres", "版本 18.4"),
        ("被测系统（system = mysql）", "被测系统 mysql", "版本 10.11.19"),
        ("被测系统（system = mysql） mysql: settings.innodb_buffer_pool_size 32M",),
        ("因素 system postgres（target.postgres.settings.shared_buffers 64MB）；mysql（target.mysql.",),
        ("脚本 mine.sql", SCRIPT),
    ),
}


@pytest.mark.parametrize("language", EXPECTED)
def test_each_system_is_described_by_itself(tmp_path: Path, language: str) -> None:
    [page] = write(switched(tmp_path), language, ["html"], tmp_path / "report.html")
    text = Page(page.read_text(encoding="utf-8")).text
    for sentences in EXPECTED[language]:
        position = 0
        for sentence in sentences:
            position = text.find(sentence, position)
            assert position >= 0, sentence
    assert "18.4, 10.11" not in text
    postgres, mysql = text.rindex("wal 1"), text.rindex("binlog 2")
    first, second = (text.index(EXPECTED[language][number][1]) for number in range(2))
    assert first < postgres < second < mysql
