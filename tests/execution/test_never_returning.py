"""A statement that never returns ends neither the load late nor the run."""

from __future__ import annotations

from pathlib import Path

from execution.live import Live
from servers import PostgresServer

PLAN = """
target: {{postgres: {{server: external, dsn: '{dsn}'}}}}
workload: {{pgbench: {{scripts: [never.sql], init_steps: '', protocol: simple}}}}
load: {{clients: 2, warmup: 0s, duration: 1s}}
repeats: 1
expect: [throughput > 0/s]
"""


def test_a_trial_in_which_nothing_ever_returns_is_on_record_with_nothing_done(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    (tmp_path / "never.sql").write_text("SELECT pg_sleep(3600);\n")
    with Live(tmp_path, PLAN.format(dsn=postgres_server.dsn())) as live:
        assert live.end() == 3, live.err
    postgres_server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE '%pg_sleep(3600)%' AND pid <> pg_backend_pid()"
    )
    [trial] = live.stored().trials
    counts = trial.totals.transactions
    assert (counts.attempted, counts.succeeded, counts.in_flight) == (2, 0, 2)
    assert (trial.status, trial.reason_code) == ("failed", "nothing-ended")
    assert [item.verdict for item in trial.expect] != ["met"]
    assert "Traceback" not in live.err
