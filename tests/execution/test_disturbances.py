"""Disturbances of a measurement are noticed: other runs, stolen CPU time, a clock that is set, a client
without
time to spare.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from execution.world import World, figures, interval, load, times
from frame_values import values
from loadcell.execution import checks, machine_watch
from loadcell.execution.machine_watch import DisturbanceWatch
from loadcell.execution.record import interval_rows, server_counters
from loadcell.model.json import convert
from loadcell.model.load_result import LoadResult, read_event
from loadcell.model.trial_record import Lifetime


def result(clients: int = 4, seconds: int = 5) -> dict[str, Any]:
    spec = {"load": {"clients": clients, "duration_ns": seconds * 10**9}}
    return load(spec, lambda event: None, lambda all_clients: 100 * all_clients)


def parsed(document: dict[str, Any]) -> LoadResult:
    return convert(LoadResult, document)


def littles_law(document: dict[str, Any], clients: int) -> checks.Check:
    record = parsed(document)
    return checks.littles_law(record, record.seconds, clients)


def verdict(check: checks.Check) -> str:
    return check.verdict


def scheduled(*, presence_s: float, late_ns: int = 1_000, at_end: int = 0) -> dict[str, Any]:
    """An open loop of 400/s over 5 s in which every transaction takes 10 ms."""
    record = result()
    record["schedule"] = {
        "arrivals": "constant", "offered": 2000, "offered_per_s": 400.0, "achieved_per_s": 400.0,
        "pacing_error": figures(2000, late_ns), "backlog_wait": None, "presence_ns": int(presence_s * 1e9),
        "backlog": {"peak": at_end, "at_end": at_end, "overdue_ns": 0},
    }  # fmt: skip
    return record


class TestCountingIdentity:
    def test_holds_for_a_whole_record(self) -> None:
        assert verdict(checks.counting_identity(parsed(result()))) == "ok"

    @pytest.mark.parametrize("field", ["attempted", "succeeded", "failed", "in_flight"])
    def test_one_transaction_too_many_breaks_it(self, field: str) -> None:
        record = result()
        record["operations"][0][field] += 1
        assert verdict(checks.counting_identity(parsed(record))) == "broken"

    def test_a_success_without_a_latency_breaks_it(self) -> None:
        record = result()
        record["operations"][0]["response"]["count"] -= 1
        assert verdict(checks.counting_identity(parsed(record))) == "broken"

    def test_says_nothing_where_nothing_was_counted(self) -> None:
        assert verdict(checks.counting_identity(LoadResult(outcome="completed"))) == "unknown"


class TestValues:
    def test_one_wrong_value_is_one_too_many(self) -> None:
        record = result()
        assert verdict(checks.values(parsed(record))) == "ok"
        errors = [
            {"code": code, "operation": operation, "count": 3}
            for code in ("stale", "08006")
            for operation in ("transaction", "get")
        ]
        check = checks.values(parsed({**record, "errors": errors}))
        assert (check.verdict, check.detail) == ("broken", {"lost": 0, "stale": 3, "corrupt": 0})


class TestLittlesLaw:
    def test_holds_when_clients_are_always_in_a_transaction(self) -> None:
        assert verdict(littles_law(result(), 4)) == "ok"

    def test_is_broken_by_time_that_is_in_no_response(self) -> None:
        record = result()
        record["operations"][0]["response"] = figures(2000, 9_000_000)  # 10% of the clients' time is gone
        check = littles_law(record, 4)
        assert verdict(check) == "broken"
        assert check.detail["difference"] == pytest.approx(-0.1)

    def test_counts_the_time_of_failures(self) -> None:
        record = result()
        transaction = record["operations"][0]
        transaction.update(response=figures(1000), succeeded=1000, failed=1000)
        assert verdict(littles_law(record, 4)) == "broken"
        transaction["failed_response"] = figures(1000)
        assert verdict(littles_law(record, 4)) == "ok"

    def test_allows_for_clients_that_were_still_reconnecting(self) -> None:
        record = result()
        record["operations"][0]["response"] = figures(1500)
        assert verdict(littles_law(record, 4)) == "broken"
        record["client"]["reconnecting_ns"] = 5 * 10**9
        assert verdict(littles_law(record, 4)) == "ok"

    def test_counts_the_time_that_clients_rest(self) -> None:
        record = result()
        record["operations"][0]["response"] = figures(500)  # 5 of 20 client-seconds
        assert verdict(littles_law(record, 4)) == "broken"
        record["client"]["resting_ns"] = 15 * 10**9
        check = littles_law(record, 4)
        assert verdict(check) == "ok"
        assert check.detail["resting_seconds"] == 15.0

    def test_allows_each_client_one_response_at_each_edge(self) -> None:
        record = result(clients=4, seconds=5)
        record["operations"][0]["response"] = figures(
            8, 1_900_000_000
        )  # 15.2 of 20 client-seconds, 1.9 s each
        assert verdict(littles_law(record, 4)) == "ok"

    def test_of_an_open_loop_holds_between_counts_and_times_whatever_the_clients(self) -> None:
        assert verdict(littles_law(scheduled(presence_s=20.0), 1000)) == "ok"
        assert verdict(littles_law(scheduled(presence_s=22.0), 4)) == "broken"
        assert verdict(littles_law(scheduled(presence_s=18.0), 4)) == "broken"
        assert verdict(littles_law(scheduled(presence_s=0.0), 4)) == "unknown"

    def test_of_an_open_loop_allows_for_what_waits_at_the_end(self) -> None:
        record = scheduled(presence_s=24.0, at_end=4)
        assert verdict(littles_law(record, 4)) == "broken"
        record["client"]["age_at_end_ns"] = 4 * 10**9
        assert verdict(littles_law(record, 4)) == "ok"

    def test_carried_in_transactions_count_with_their_part_within_the_window(self) -> None:
        record = result()
        record["client"] |= {"age_at_start_ns": 2 * 10**9, "age_at_end_ns": 2 * 10**9}
        assert verdict(littles_law(record, 4)) == "ok"
        record["client"]["age_at_end_ns"] = 0
        assert verdict(littles_law(record, 4)) == "broken"

    def test_says_nothing_where_nothing_ended(self) -> None:
        record = result()
        record["operations"][0].update(response=None)
        assert verdict(littles_law(record, 4)) == "unknown"


class TestClientLimit:
    @pytest.mark.parametrize(("busy", "expected"), [(0.5, "ok"), (0.90, "ok"), (0.91, "broken")])
    def test_a_thread_without_time_to_spare_was_the_limit(self, busy: float, expected: str) -> None:
        record = result()
        record["client"]["threads"].append({**record["client"]["threads"][0], "busy": busy})
        assert verdict(checks.client_limit(parsed(record))) == expected


class TestOpenLoop:
    @pytest.mark.parametrize(("late_ns", "expected"), [(500_000, "ok"), (1_500_000, "noticed")])
    def test_a_client_that_is_late_itself_is_noticed(self, late_ns: int, expected: str) -> None:
        assert verdict(checks.pacing(parsed(scheduled(presence_s=20.0, late_ns=late_ns)))) == expected

    @pytest.mark.parametrize(
        ("late_p99_ns", "late", "expected"),
        [(900_000, 2000, "ok"), (5_000_000, 2000, "noticed"), (5_000_000, 1000, "ok")],
    )
    def test_a_client_whose_tail_is_late_is_noticed(self, late_p99_ns: int, late: int, expected: str) -> None:
        """The mean lateness is 1 us; 1 % of half of the requests is 0.5 % of all."""
        record = scheduled(presence_s=20.0)
        record["schedule"]["pacing_error"] |= {"count": late, "p95_ns": 2_000, "p99_ns": late_p99_ns}
        check = checks.pacing(parsed(record))
        assert verdict(check) == expected
        if expected == "noticed":
            assert check.detail["late_ms"] == 5.0

    @pytest.mark.parametrize(("at_end", "expected"), [(0, "ok"), (40, "ok"), (41, "noticed")])
    def test_a_backlog_at_the_end_is_noticed(self, at_end: int, expected: str) -> None:
        assert verdict(checks.backlog(parsed(scheduled(presence_s=20.0, at_end=at_end)))) == expected

    def test_nothing_is_reported_where_nothing_was_due_or_answered(self) -> None:
        record = scheduled(presence_s=20.0)
        record["schedule"]["offered"] = 0
        record["operations"][0]["response"] = None
        assert (
            verdict(checks.pacing(parsed(record))),
            verdict(checks.backlog(parsed(record))),
        ) == ("unknown", "unknown")

    def test_an_interval_has_its_backlog_with_the_transactions_only(self) -> None:
        event = {**interval("measure", 0, times(0), 7, 2), "backlog": 5}
        event["operations"].append({**event["operations"][0], "name": "select", "kind": "read"})
        assert [row["backlog"] for row in interval_rows(read_event(json.dumps(event)))] == [5, None]


class TestServerCounters:
    BEFORE = {"xact_commit": 100, "tup_inserted": 0, "tup_updated": 0, "tup_deleted": 0}  # noqa: RUF012

    def check(self, commits: int, rows: int = 0, *, alone: bool = True, **lifetime: Any) -> str:
        after = {"xact_commit": 100 + commits, "tup_inserted": rows, "tup_updated": 0, "tup_deleted": 0}
        allowed = {name: lifetime.pop(name, 0) for name in ("workers", "of_connecting")}
        counts = Lifetime(**{"transactions": 10_000, **lifetime})
        return verdict(server_counters(self.BEFORE, after, counts, alone=alone, **allowed))

    def test_agree(self) -> None:
        assert self.check(10_000) == "ok"

    def test_the_servers_own_background_work_is_allowed_for(self) -> None:
        assert self.check(10_300) == "ok"

    def test_transactions_the_server_never_saw(self) -> None:
        assert self.check(9_999) == "broken"

    def test_transactions_that_rolled_themselves_back_are_no_commits(self) -> None:
        assert self.check(9_900) == "broken"
        assert self.check(9_900, rolled_back=100) == "ok"
        assert self.check(9_899, rolled_back=100) == "broken"

    def test_rows_the_server_never_changed(self) -> None:
        assert self.check(10_000, rows=39_999, rows_changed=40_000) == "broken"

    def test_somebody_else_on_our_own_server(self) -> None:
        assert self.check(20_000) == "broken"
        assert self.check(20_000, alone=False) == "ok"

    def test_statements_that_commit_by_themselves(self) -> None:
        assert self.check(180_000, queries=180_000) == "ok"
        assert self.check(270_000, queries=180_000, failed=5_000) == "ok"
        assert self.check(200_000, queries=180_000) == "broken"

    def test_statements_between_begin_and_commit_do_not_commit(self) -> None:
        counts = {"queries": 200_000, "operations": {"begin": 10_000}}
        assert self.check(10_000, **counts) == "ok"
        assert self.check(20_000, **counts) == "broken"

    def test_parallel_workers_of_a_query_commit_too(self) -> None:
        assert self.check(50_000, queries=10_000) == "broken"
        assert self.check(50_000, queries=10_000, workers=20_000) == "ok"
        assert self.check(60_000, queries=10_000, workers=20_000) == "broken"
        assert self.check(9_999, queries=10_000, workers=20_000) == "broken"

    def test_connections_of_many_clients_commit_too(self) -> None:
        """320 commits of 160 connections, in a load of 3,401 transactions."""
        counts = {"transactions": 3401, "operations": {"begin": 3402}}
        assert self.check(3401 + 320, **counts) == "broken"
        assert self.check(3401 + 320, of_connecting=320, **counts) == "ok"
        assert self.check(3401 + 320 + 320, of_connecting=320, **counts) == "broken"

    def test_a_server_that_was_restarted_says_nothing(self) -> None:
        assert self.check(-50) == "unknown"


class TestIntervals:
    def covered(self, count: int = 5, lacking: int = 0) -> checks.Covered:
        covered = checks.Covered()
        for phase in ("warmup", "measure"):
            for index in range(count):
                event = read_event(json.dumps(interval(phase, index, times(0), 400, 4)))
                [transaction] = event.operations
                lacks = lacking if index == 2 else 0
                covered.add(event, replace(transaction, succeeded=transaction.succeeded - lacks))
        return covered

    def test_cover_the_window_and_add_up(self) -> None:
        assert verdict(checks.intervals_complete(self.covered(), parsed(result()))) == "ok"

    def test_one_that_is_missing(self) -> None:
        assert verdict(checks.intervals_complete(self.covered(4), parsed(result()))) == "broken"

    def test_one_that_counts_otherwise_than_the_total(self) -> None:
        assert verdict(checks.intervals_complete(self.covered(lacking=1), parsed(result()))) == "broken"


class TestTheMachine:
    def stat(self, root: Path, *ticks: int) -> None:
        (root / "proc").mkdir(exist_ok=True)
        (root / "proc" / "stat").write_text("cpu  " + " ".join(map(str, ticks)) + " 0 0\n")

    def test_stolen_time_is_a_share_of_all_cpu_time_since_the_measurement_began(self, tmp_path: Path) -> None:
        self.stat(tmp_path, 0, 0, 0, 0, 0, 0, 0, 500)
        watch = DisturbanceWatch(tmp_path)
        watch.begin()
        self.stat(tmp_path, 60, 0, 20, 10, 0, 0, 0, 510)
        assert watch.steal_share() == pytest.approx(0.10)
        assert verdict(checks.steal(watch.steal_share())) == "noticed"

    @pytest.mark.parametrize(("share", "expected"), [(0.05, "ok"), (0.051, "noticed"), (None, "unknown")])
    def test_the_limit_for_stolen_time(self, share: float | None, expected: str) -> None:
        assert verdict(checks.steal(share)) == expected

    def test_a_wall_clock_that_is_set_is_noticed_and_one_that_is_slewed_is_not(self) -> None:
        offsets = iter([0, 400_000_000, 350_000_000, -900_000_000])
        watch = DisturbanceWatch(offset_ns=lambda: next(offsets))
        assert [watch.tick() for _ in range(4)] == [None, None, None, pytest.approx(-1.25)]
        assert verdict(checks.clock_step(watch.steps_s)) == "noticed"
        assert verdict(checks.clock_step([])) == "ok"

    def test_this_machines_clocks_do_not_step(self) -> None:
        watch = DisturbanceWatch()
        assert [watch.tick() for _ in range(3)] == [None, None, None]


class TestNeighbours:
    NAME = f"lc-test-{os.getpid()}"[:15]

    def other(self) -> subprocess.Popen[bytes]:
        code = (
            "import sys, time; from loadcell.execution import machine_watch\n"
            "with machine_watch.named(sys.argv[1]): print(flush=True); time.sleep(60)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, self.NAME, "run", "my-plan.yaml"], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def test_another_run_is_seen_as_long_as_it_lives_however_it_dies(self) -> None:
        assert machine_watch.other_runs(name=self.NAME) == []
        process = self.other()
        try:
            assert machine_watch.other_runs(name=self.NAME) == [process.pid]
            assert machine_watch.described(process.pid) == f"PID {process.pid}, my-plan.yaml"
        finally:
            process.kill()
            process.communicate()
        assert machine_watch.other_runs(name=self.NAME) == []

    def test_a_run_does_not_see_itself_and_gives_its_name_back(self) -> None:
        before = Path("/proc/self/comm").read_text()
        with machine_watch.named(self.NAME):
            assert Path("/proc/self/comm").read_text() == self.NAME + "\n"
            assert machine_watch.other_runs(name=self.NAME) == []
        assert Path("/proc/self/comm").read_text() == before

    def test_both_runs_hear_of_each_other_and_write_it_down(self, tmp_path: Path) -> None:
        world = World()
        process = self.other()
        world.neighbours = lambda: machine_watch.other_runs(name=self.NAME)
        try:
            ended = world.run(tmp_path)
        finally:
            process.kill()
            process.communicate()
        stored = world.stored(ended)
        assert "neighbour" in values(stored.events(), "event")
        checks_by_name = {check.name: check for check in stored.trials[0].checks}
        assert checks_by_name["neighbour"] == checks.Check("neighbour", "noticed", {"pids": [process.pid]})
        assert stored.trials[0].status == "ok", "the figures stand, with the remark beside them"
        assert f"PID {process.pid}" in (tmp_path / "progress.txt").read_text()


def test_the_name_that_runs_bear_fits_the_kernel() -> None:
    assert len(machine_watch.NAME.encode()) <= 15, "prctl(2) would cut it, and no run would find another"


@pytest.mark.parametrize("intruder", ["other (process 1 on elsewhere)", None])
def test_a_run_that_took_the_servers_lock_is_noted(tmp_path: Path, intruder: str | None) -> None:
    world = World(intruder=intruder)
    stored = world.stored(world.run(tmp_path))
    noted = [check for check in stored.trials[0].checks if check.name == "server-lock"]
    assert noted == ([checks.Check("server-lock", "noticed", {"run": intruder})] if intruder else [])
