"""One run on two systems: a real PostgreSQL and a real MariaDB as levels of a factor."""

from __future__ import annotations

import json
from pathlib import Path

from execution.live import loadcell
from report.test_page import Page

PLAN = """
title: Two systems
target: {postgres: {}}
workload: {sysbench: {script: oltp_point_select, tables: 1, table_size: 200}}
load: {clients: 1, warmup: 0s, duration: 1s, interval: 500ms}
factors:
  system:
    pg: {target: {postgres: {settings: {work_mem: 5MB}}}}
    maria: {target: {mysql: {settings: {innodb_log_file_size: 16M, innodb_buffer_pool_size: 32M}}}}
repeats: 1
expect: [errors == 0]
"""
METHOD = {"en": " Method ", "zh": " 测量方法 "}


def test_postgresql_and_mariadb_are_levels_from_plan_to_report(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    records = {
        record["levels"]["system"]: record
        for record in (
            json.loads(path.read_text()) for path in (tmp_path / "run").glob("trials/*/trial.json")
        )
    }
    assert {level: [*record["monitors"]] for level, record in records.items()} == {
        "pg": ["host", "target", "postgres"],
        "maria": ["host", "target", "mysql"],
    }
    assert records["maria"]["target"]["product"] == "MariaDB"
    assert {level: [*record["settings"]["target"]] for level, record in records.items()} == {
        "pg": ["postgres"],
        "maria": ["mysql"],
    }
    for language, heading in {"en": "System under test ({})", "zh": "被测系统（{}）"}.items():
        made = loadcell(
            tmp_path, "report", "run", "--lang", language, "--format", "html", "--out", "page.html"
        )
        assert made.returncode == 0, made.stderr
        text = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
        for level, record in records.items():
            # The first place names the system in a line; the second has all facts.
            _, _, part, *_ = text.split(heading.format(f"system = {level}"))
            part = part.partition(heading.partition("{}")[0])[0].partition(METHOD[language])[0]
            assert record["target"]["version"] in part
            assert ("innodb_buffer_pool_size 33554432" in part) == (level == "maria")
            assert ("work_mem 5MB" in part) == (level == "pg")
            assert ("MariaDB" in part) == (level == "maria")
        assert "target.postgres.settings.work_mem 5MB" in text
        assert "settings.innodb_log_file_size 16M" in text
    compared = json.loads(loadcell(tmp_path, "compare", "run", "--factor", "system", "--json").stdout)
    assert compared["sides"] == ["pg", "maria"]
    again = loadcell(tmp_path, "check", "run/plan.yaml")
    assert again.returncode == 0, again.stderr
