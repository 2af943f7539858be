"""Provenance of a run: a file that holds a secret of the run is not copied, wherever the secret was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.execution.provenance import of_plan
from loadcell.model.message import Message
from loadcell.model.run_record import RunRecord
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.secrets import Secrets

PLAN = """\
target: {postgres: {server: external, dsn: "host=127.0.0.1 user=me"}}
workload: {pgbench: {scripts: [work.sql]}}
load: {clients: 1}
"""


@pytest.mark.parametrize("written", ["sesame open/17", "sesame%20open%2F17"])
def test_a_file_with_a_secret_of_the_command_line_is_not_copied(written: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "work.sql").write_text(f"SELECT 1; -- {written}\n")
    run = tmp_path / "run"
    run.mkdir()
    env = {"TOK": "sesame open/17"}
    sets = ("target.postgres.password=${env:TOK}",)
    plan = load_plan(tmp_path / "plan.yaml", installed(), sets=sets, env=env)
    notes: list[Message] = []
    record = of_plan(RunRecord(), plan, run, Secrets(env), notes.append)
    assert [(file.copy, file.why_not) for file in record.files or ()] == [(None, "secret")]
    assert [note.code for note in notes] == ["run.files-secret"]
    assert not list(run.rglob("*.sql"))
