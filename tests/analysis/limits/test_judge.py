"""The judge of the limiting resource on constructed records: right, not known, and too short to tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_runs import Shape, write_run
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.finding import Subject
from loadcell.analysis.limits.candidate import Evidence, is_most
from loadcell.analysis.limits.candidates import all_candidates
from loadcell.analysis.limits.findings import against, findings
from loadcell.analysis.limits.judge import Judged, judged, supported
from loadcell.analysis.limits.sessions import LOCKS as LOCK_WAITS
from loadcell.analysis.limits.sessions import LOG_FLUSH, shortened, waiting
from loadcell.analysis.limits.typical import typical
from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.saturation import Mark, Saturation
from loadcell.model.json import document
from loadcell.model.resources import (
    AcceptQueueUse,
    BlockedThreads,
    ControlGroupUse,
    CpuShares,
    DiskUse,
    HostUse,
    LinkUse,
    PressureStall,
    ProcessUse,
    QueueUse,
    Resources,
    SessionUse,
    SessionWait,
    ThreadUse,
    Unobserved,
)
from loadcell.model.trial_record import Check
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.report.render import html, markdown
from loadcell.report.sections import summary
from loadcell.report.texts import Texts
from loadcell.store.read import read_run

QUIET = PressureStall(0.0, 0.0, 0.0, 0.0, 0.0)
HOST = HostUse(4, CpuShares(0.3, 0.2, 0.1, 0.0, 0.0), memory_total_bytes=8_000, pressure=QUIET)
FULL = replace(HOST, cpu=CpuShares(0.98, 0.7, 0.28, 0.0, 0.0))
NEARLY_FULL = replace(HOST, cpu=CpuShares(0.92, 0.7, 0.22, 0.0, 0.0))
IDLE = Resources(
    10.0,
    HOST,
    ProcessUse(1, 4, 0.4, memory_bytes=6_000, working_threads=4, blocked=BlockedThreads(40, 0.0, 0.0, 0.0)),
    ProcessUse(1, 2, 0.2),
)
assert IDLE.target is not None
assert IDLE.client is not None


def thread(cpu: float, run_delay: float = 0.0) -> tuple[ThreadUse, ...]:
    return (ThreadUse("worker", 7, 7, cpu, run_delay),)


def sessions(kind: str, event: str, waiting: float, active: float = 8.0) -> SessionUse:
    return SessionUse(10, 8.0, active, (SessionWait(kind, event, waiting), SessionWait("CPU", "CPU", 0.5)))


QUOTA = replace(
    IDLE,
    target=ProcessUse(
        1, 4, 0.98, busiest_threads=thread(0.95), control_group=ControlGroupUse(1.0, 0.9), cpus_allowed=1
    ),
)
CPU = replace(IDLE, target=ProcessUse(4, 4, 3.8, busiest_threads=thread(0.95)))
SHARED = replace(IDLE, host=FULL, target=ProcessUse(4, 4, 2.6), client=ProcessUse(1, 2, 1.2))
THREAD = replace(IDLE, target=ProcessUse(1, 4, 1.0, busiest_threads=thread(0.93)))
IDLE_THREAD = replace(THREAD, target=ProcessUse(1, 4, 0.9, busiest_threads=thread(0.85)))
CLIENT = replace(IDLE, client=ProcessUse(1, 2, 1.0, busiest_threads=thread(0.97)))
CLIENT_OF_HOST = replace(IDLE, host=FULL, client=ProcessUse(4, 8, 2.9, busiest_threads=thread(0.7)))
OTHERS = replace(IDLE, host=FULL)
WAITING = replace(HOST, pressure=replace(QUIET, io=0.95))
DISK = replace(
    IDLE,
    host=WAITING,
    target=replace(IDLE.target, blocked=BlockedThreads(40, 3.4, 3.4, 0.0)),
    disks=(DiskUse("sda", 0.99, 4.0, 200.0, 0.0, 8e5, 0.0, read_await_ms=18.0),),
)
DISK_OF_SESSIONS = replace(IDLE, target=None, sessions=sessions("IO", "DataFileRead", 7.0))
FLUSH = replace(IDLE, target=replace(IDLE.target, blocked=BlockedThreads(40, 2.5, 2.5, 0.9)))
FLUSH_OF_SESSIONS = replace(IDLE, target=None, sessions=sessions("LWLock", "WALWrite", 7.0))
COMMIT_OF_SESSIONS = replace(IDLE, target=None, sessions=sessions("Commit", "starting commit", 7.0))
MEMORY = replace(
    DISK,
    host=replace(HOST, pressure=replace(QUIET, memory=0.4, io=0.5)),
    target=replace(
        DISK.target,
        control_group=ControlGroupUse(memory_limit_bytes=1 << 26, memory_max_events=9_000),
    ),
)
SWAP = replace(DISK, host=replace(HOST, swap_in_bytes_per_s=1e6, pressure=replace(QUIET, memory=0.4, io=0.5)))
NETWORK = replace(IDLE, queues=(QueueUse("veth0", "tbf", 40, 0.95, 0.0, 100.0, 1e6),))
SPEED = replace(IDLE, target=None, links=(LinkUse("eth0", 1e8, 1.2e8, 0.0, speed_bytes_per_s=1.25e8),))
LOCKS = replace(IDLE, sessions=sessions("Lock", "transactionid", 7.0))
#: Every transaction flushes while it holds the lock that the others wait for.
LOCKS_AND_FLUSH = replace(FLUSH, sessions=LOCKS.sessions)
#: Cores that wait for memory are busy: 3.8 of 4, and each of the threads.
BANDWIDTH = replace(
    CPU, host=replace(HOST, memory_traffic_bytes_per_s=150e9, memory_peak_bytes_per_s=204.8e9)
)
POOL = replace(IDLE, accept_queue=AcceptQueueUse(40, 12.0, 1.0))
POOL_OF_SESSIONS = replace(IDLE, sessions=SessionUse(40, 8.0, 7.9, (SessionWait("CPU", "CPU", 7.9),)))


def names(used: Resources, **load: float) -> list[str]:
    evidence = Evidence(used, **{"in_flight": 32.0, **load})
    return [item.candidate.name for item in supported(judged(evidence))]


@pytest.mark.parametrize(
    ("used", "name"),
    [
        (QUOTA, "quota"),
        (CPU, "cpu"),
        (SHARED, "cpu"),
        (THREAD, "thread"),
        (CLIENT, "client"),
        # both threads are busy: the busier one is the bottleneck
        (replace(THREAD, client=ProcessUse(1, 2, 0.9, busiest_threads=thread(0.9))), "thread"),
        (replace(CLIENT, target=ProcessUse(1, 4, 0.93, busiest_threads=thread(0.93))), "client"),
        (CLIENT_OF_HOST, "client"),
        # 92% busy, and in 70% of the time some task waited for a core
        (replace(SHARED, host=replace(NEARLY_FULL, pressure=replace(QUIET, cpu=0.7))), "cpu"),
        (OTHERS, "others"),
        (DISK, "disk"),
        (DISK_OF_SESSIONS, "disk"),
        (FLUSH, "flush"),
        (FLUSH_OF_SESSIONS, "flush"),
        (COMMIT_OF_SESSIONS, "flush"),
        (MEMORY, "memory"),
        (SWAP, "memory"),
        (BANDWIDTH, "bandwidth"),
        (replace(THREAD, host=BANDWIDTH.host), "bandwidth"),
        # 68% of the theoretical bandwidth, and traffic without a known peak
        (replace(CPU, host=replace(BANDWIDTH.host, memory_traffic_bytes_per_s=140e9)), "cpu"),
        (replace(CPU, host=replace(BANDWIDTH.host, memory_peak_bytes_per_s=None)), "cpu"),
        (NETWORK, "network"),
        (SPEED, "network"),
        (LOCKS, "locks"),
        (LOCKS_AND_FLUSH, "locks"),
        (POOL, "pool"),
        (POOL_OF_SESSIONS, "pool"),
    ],
)
def test_signs_support_the_resource_and_no_consequence_of_it(used: Resources, name: str) -> None:
    assert names(used) == [name]


@pytest.mark.parametrize(
    ("used", "load"),
    [
        (IDLE, {"achieved_share": 0.999}),
        (IDLE, {"in_flight": 1.0}),
        (IDLE, {"resting_share": 0.8}),
        (replace(IDLE, target=ProcessUse(2, 2, 1.2), client=ProcessUse(1, 1, 0.6)), {"in_flight": 2.0}),
        # two analytic queries, each on a thread with a whole core: the load asks for no more
        (replace(THREAD, target=ProcessUse(2, 2, 1.9, busiest_threads=thread(0.95) * 2)), {"in_flight": 2.0}),
        # the same with eight on a larger machine: a record names the five busiest threads
        (
            replace(
                THREAD,
                host=replace(HOST, cores=32),
                target=ProcessUse(8, 8, 7.7, busiest_threads=thread(0.96) * 5, full_threads=8),
            ),
            {"in_flight": 8.0},
        ),
    ],
)
def test_a_small_load_is_its_own_limit(used: Resources, load: dict[str, float]) -> None:
    assert names(used, **load) == ["load"]


def test_a_store_within_the_client_is_the_target() -> None:
    """The client's thread is the store's: it is no limit of the client."""
    store = replace(IDLE, target=None, in_client=True)
    busy = ProcessUse(1, 4, 3.9, busiest_threads=thread(0.98), working_threads=4)
    assert names(replace(store, client=busy), in_flight=4.0) == ["cpu"]
    single = ProcessUse(1, 4, 1.0, busiest_threads=thread(0.98), working_threads=1)
    assert names(replace(store, client=single), in_flight=1.0) == ["load"]
    reading = replace(single, cores=0.2, blocked=BlockedThreads(40, 0.9, 0.9, 0.0))
    assert names(replace(store, host=WAITING, client=reading), in_flight=1.0) == ["disk"]


def test_a_quota_may_hold_target_and_client_together() -> None:
    """loadcell and the target in one container with two cores, on a machine with many."""
    group = ControlGroupUse(2.0, 0.98)
    shared = replace(
        IDLE,
        host=replace(HOST, cores=64),
        target=ProcessUse(4, 4, 1.2, control_group=group),
        client=ProcessUse(1, 2, 0.78, control_group=group),
    )
    assert names(shared, in_flight=3.0) == ["quota"]
    apart = replace(shared, client=ProcessUse(1, 2, 0.78))
    assert names(apart, in_flight=3.0) == [], "throttled, and below the quota: neither is proven"


def test_one_control_group_is_known_by_its_identity_not_by_equal_counters() -> None:
    group = ControlGroupUse(2.0, 0.95, identity="a")
    shared = replace(
        IDLE,
        host=replace(HOST, cores=64),
        target=ProcessUse(4, 4, 1.2, control_group=group),
        client=ProcessUse(1, 2, 0.78, control_group=replace(group, throttled_share=0.94)),
    )
    assert names(shared, in_flight=3.0) == ["quota"], "read one period apart"
    other = ProcessUse(1, 2, 0.78, control_group=replace(group, identity="b"))
    assert names(replace(shared, client=other), in_flight=3.0) == [], "equal limits of another group"


def test_reclaim_above_memory_high_is_a_limit() -> None:
    assert MEMORY.target is not None
    group = ControlGroupUse(memory_limit_bytes=1 << 26, memory_high_events=5_000, memory_max_events=0)
    used = replace(MEMORY, target=replace(MEMORY.target, control_group=group))
    (item,) = supported(judged(Evidence(used, in_flight=32.0)))
    assert item.candidate.name == "memory"
    assert "memory.high of 64 MiB" in item.sign.evidence.text


def test_memory_without_pressure_needs_instants_and_leaves_the_cpu() -> None:
    """RHEL 8 and 9 have no PSI; a container at its limit of page cache counts events all the time."""
    assert MEMORY.target is not None
    no_psi = replace(HOST, pressure=None)
    events = replace(MEMORY.target, blocked=BlockedThreads(3, 0.5, 0.5, 0.0))
    computing = replace(events, cores=3.9)
    assert names(replace(MEMORY, host=no_psi, target=computing, disks=())) == ["cpu"]
    assert names(replace(MEMORY, host=no_psi, target=events, disks=())) == []
    unclear = {
        item.candidate.name for item in supported(judged(Evidence(replace(MEMORY, host=no_psi), 32.0)))
    }
    assert unclear == {"disk", "memory"}, "blocked threads wait for either"
    many = replace(MEMORY.target, blocked=BlockedThreads(20, 0.6, 0.6, 0.0, coverage=0.05), working_threads=1)
    assert names(replace(MEMORY, host=no_psi, target=many)) == [], "a look reads 30 of 600 threads"


def test_waits_for_workers_and_standbys_are_no_locks() -> None:
    for event in ("ExecuteGather", "MessageQueueReceive", "SyncRep"):
        assert "locks" not in names(replace(IDLE, sessions=sessions("IPC", event, 7.0)))
    assert names(replace(IDLE, sessions=sessions("IPC", "ProcArrayGroupUpdate", 7.0))) == ["locks"]


def test_a_link_near_its_speed_is_seen_beside_an_empty_queue() -> None:
    link = replace(SPEED.links[0], sent_bytes_per_s=1.1e8)
    quiet = replace(NETWORK.queues[0], waiting_share=0.0)
    levels = {
        item.candidate.name: item.sign.level
        for item in judged(Evidence(replace(SPEED, links=(link,), queues=(quiet,)), in_flight=32.0))
    }
    assert levels["network"] == pytest.approx(0.88 / 0.9)


def test_traffic_that_is_not_of_the_load_is_no_sign() -> None:
    """A backup on another interface beside a load on the loopback."""
    assert names(replace(SPEED, target=IDLE.target)) == []
    assert names(replace(SPEED, unobserved=Unobserved.UNIDENTIFIED)) == []
    assert names(replace(SPEED, unobserved=Unobserved.ELSEWHERE)) == ["network"]


def test_a_flush_in_the_background_is_no_sign() -> None:
    """A checkpointer, or the thread of Redis that flushes its log, beside a thread with a whole core."""
    background = BlockedThreads(50, 0.9, 0.0, 0.9)
    assert IDLE.target is not None
    assert THREAD.target is not None
    assert names(replace(IDLE, target=replace(IDLE.target, blocked=background))) == []
    assert names(replace(THREAD, target=replace(THREAD.target, blocked=background))) == ["thread"]


@pytest.mark.parametrize(("waiting", "named"), [(2.5, []), (9.0, ["flush"]), (None, ["flush"])])
def test_a_flush_that_requests_do_not_wait_for_is_no_sign(waiting: float | None, named: list[str]) -> None:
    """Three threads that flush beside sixteen that serve requests, and sixteen that wait for a flush."""
    blocked = BlockedThreads(50, 0.9, 0.9, 0.9, flush_waiting_mean=waiting)
    assert IDLE.target is not None
    flushing = replace(IDLE.target, working_threads=16, blocked=blocked)
    evidence = Evidence(replace(IDLE, target=flushing), in_flight=16.0)
    assert [item.candidate.name for item in supported(judged(evidence))] == named


def test_links_that_do_not_lead_to_the_target_are_no_sign() -> None:
    assert names(replace(SPEED, interface="eth0")) == ["network"]
    assert names(replace(SPEED, interface="eth1")) == []
    assert names(replace(NETWORK, target=None, interface="eth1")) == []


def test_steal_time_is_not_there_to_be_used() -> None:
    """A thread that uses 0.8 of a core of which it can have 0.85, and a machine without idle time."""
    stolen = replace(HOST, cpu=CpuShares(0.5, 0.4, 0.1, 0.0, 0.09))
    assert THREAD.target is not None
    used = replace(THREAD, target=replace(THREAD.target, cores=0.8, busiest_threads=thread(0.8)))
    assert names(used) == []
    assert names(replace(used, host=stolen)) == ["thread"]
    full = replace(HOST, cpu=CpuShares(0.88, 0.7, 0.18, 0.0, 0.1))
    assert names(replace(SHARED, host=full)) == ["cpu"]


def test_the_disk_with_the_data_is_evidence() -> None:
    other = replace(DISK.disks[0], device="sdb")
    for device in ("sda", "sdb", "sdc"):
        used = replace(DISK, disks=(*DISK.disks, other), data_disk=device)
        (item,) = supported(judged(Evidence(used, in_flight=32.0)))
        assert (device in item.sign.evidence.text) == (device != "sdc")


def test_of_several_active_disks_none_is_evidence() -> None:
    other = replace(DISK.disks[0], device="sdb")
    (item,) = supported(judged(Evidence(replace(DISK, disks=(*DISK.disks, other)), in_flight=32.0)))
    assert item.candidate.name == "disk"
    assert "sda" not in item.sign.evidence.text


@pytest.mark.parametrize(
    "used", [DISK, DISK_OF_SESSIONS, FLUSH, FLUSH_OF_SESSIONS, MEMORY, LOCKS, POOL, NETWORK]
)
@pytest.mark.parametrize("load", [{"achieved_share": 1.0}, {"resting_share": 0.99}])
def test_waits_of_a_load_that_is_completed_limit_nothing(used: Resources, load: dict[str, float]) -> None:
    """They make its requests longer, not fewer; a resource without any capacity left is another matter."""
    assert names(used, **load) == ["load"]
    assert names(SPEED, **load) == ["network"]


def test_waits_beside_pauses_of_the_clients_limit_the_load() -> None:
    """1,000 clients that pause for 1 s send 526 requests/s if each waits for 0.9 s, and 990 if for 10 ms."""
    assert names(DISK, resting_share=1 / 1.9) == ["disk"]


def test_uninterruptible_sleep_without_waits_for_a_device_is_no_storage() -> None:
    """Threads that contend for a lock of the kernel (mmap_lock) and write a line of a log now and then."""
    assert DISK.target is not None

    def sleeping(read_bytes_per_s: float | None, io: float | None) -> list[str]:
        pressure = None if io is None else replace(QUIET, io=io)
        target = replace(DISK.target, read_bytes_per_s=read_bytes_per_s, write_bytes_per_s=read_bytes_per_s)
        return names(replace(DISK, host=replace(HOST, pressure=pressure), target=target))

    assert sleeping(0.0, 0.0) == sleeping(4096.0, 0.0) == sleeping(None, 0.0) == []
    assert sleeping(0.0, 0.2) == [], "of another process"
    assert sleeping(0.0, 0.9) == ["disk"], "a file system whose bytes count for no process"
    assert sleeping(8e5, 0.2) == ["disk"]
    assert sleeping(0.0, None) == []
    assert sleeping(8e5, None) == sleeping(None, None) == ["disk"]


def test_flushes_are_the_larger_part_of_the_waits_or_no_limit() -> None:
    """One of 2.8 threads blocked on average flushes in 36% of the time; of one thread's waits 60% are."""
    assert DISK.target is not None

    def blocked(**values: float) -> list[str]:
        looks = BlockedThreads(40, values["mean"], values["mean"], values["share"], 1.0, values["waiting"])
        threads = int(values["threads"])
        used = replace(DISK, target=replace(DISK.target, working_threads=threads, blocked=looks))
        return names(used, in_flight=4.0)

    assert blocked(mean=2.8, share=0.36, waiting=4.0, threads=20) == ["disk"]
    assert blocked(mean=0.9, share=0.58, waiting=0.58, threads=1) == ["flush"]


def test_a_full_machine_is_no_small_load() -> None:
    """Target, load generator and another program share four cores: none of them has half."""
    shared = replace(IDLE, host=FULL, target=ProcessUse(2, 2, 1.3), client=ProcessUse(1, 1, 1.2))
    for load in ({"in_flight": 3.0}, {"in_flight": 1.0}, {"achieved_share": 0.99}):
        assert names(shared, **load) == ["machine"]
    (item,) = supported(judged(Evidence(shared, in_flight=3.0)))
    assert (
        "1.30 cores for the target, 1.20 for the load generator and 1.42 for other" in item.sign.evidence.text
    )
    assert names(replace(shared, accept_queue=POOL.accept_queue)) != ["pool"], "a queue before a full machine"
    busy = replace(shared, target=replace(shared.target, busiest_threads=thread(0.97)))
    assert names(busy) == ["thread"], "the more exact answer"
    within = replace(
        IDLE,
        host=replace(HOST, cores=64, busiest_core=0.97),
        target=ProcessUse(2, 2, 1.9, cpus_allowed=4),
        client=ProcessUse(1, 1, 1.8, cpus_allowed=4),
    )
    assert names(within, in_flight=3.9) == [], "both within four of 64 cores"
    pinned = replace(within, host=replace(within.host, busiest_core=0.5))
    assert names(pinned, in_flight=3.9) == ["load"], "each within four others"
    single = replace(within, target=ProcessUse(1, 1, 0.5, cpus_allowed=1))
    assert names(replace(single, client=ProcessUse(1, 1, 0.45, cpus_allowed=1)), in_flight=1.0) == []


def test_several_full_threads_are_stated() -> None:
    """Three workers, each with a core: the remedy is more of them."""
    workers = ProcessUse(3, 3, 2.85, busiest_threads=thread(0.95) * 3, full_threads=3)
    used = replace(IDLE, host=replace(HOST, cores=8), target=workers)
    (item,) = supported(judged(Evidence(used, in_flight=100.0)))
    assert item.candidate.name == "thread"
    assert item.label.text == "single threads of the target"
    assert item.sign.evidence.text.startswith("at least 3 threads used 90% or more of a core each")
    assert "more workers" in item.advice.text


def test_a_quota_of_all_cores_leaves_the_cpu() -> None:
    """A container with a quota of four cores on a machine with four: hardly throttled."""
    assert CPU.target is not None
    group = ControlGroupUse(4.0, 0.02)
    assert names(replace(CPU, target=replace(CPU.target, control_group=group))) == ["cpu"]
    smaller = ControlGroupUse(3.9, 0.02)
    assert names(replace(CPU, target=replace(CPU.target, control_group=smaller))) == []


def test_loadcells_own_process_is_no_other_program() -> None:
    """The proxy of network faults runs in it."""
    assert names(OTHERS) == ["others"]
    assert names(replace(OTHERS, runner_cores=2.0)) == ["machine"]


def test_steal_time_counts_for_full_threads_and_halves() -> None:
    """Four threads with 0.7 of the 0.75 cores that each can have: as many as requests."""
    stolen = replace(HOST, cpu=CpuShares(0.7, 0.6, 0.1, 0.0, 0.233))
    workers = ProcessUse(4, 4, 2.8, busiest_threads=thread(0.7) * 4, full_threads=0)
    used = replace(IDLE, host=replace(stolen, cores=8), target=workers)
    assert names(used, in_flight=4.0) == ["load"]
    eight = replace(workers, processes=8, busiest_threads=thread(0.7) * 5, working_threads=8)
    of_eight = replace(used, host=replace(stolen, cores=16), target=eight)
    assert names(of_eight, in_flight=8.0) == [], "as many as requests; a record lists five"
    [sign] = [item.sign for item in judged(Evidence(of_eight)) if item.candidate.name == "thread"]
    assert "worker, 93%" in sign.evidence.text
    full = replace(HOST, cpu=CpuShares(0.6, 0.5, 0.1, 0.0, 0.4))
    half = replace(IDLE, host=full, target=ProcessUse(4, 4, 1.5), client=ProcessUse(1, 1, 0.8))
    (item,) = supported(judged(Evidence(half, in_flight=32.0)))
    assert item.candidate.name == "cpu"
    assert "60% busy and lost 40% to other virtual machines (steal time)" in item.sign.evidence.text


@pytest.mark.parametrize(
    ("failed", "failed_mean_ms", "is_open", "expected"),
    [
        (64, 5_000.0, False, 0.2 + 32.0),  # of 10 s
        (64, None, False, None),
        (64, 5_000.0, True, None),
        (0, None, True, 0.2),
    ],
)
def test_requests_in_flight_include_failed_ones(
    tmp_path: Path, failed: int, failed_mean_ms: float | None, is_open: bool, expected: float | None
) -> None:
    """By its successes alone, a load whose requests mostly time out would have hardly any in flight."""
    _, analysis = analysed(tmp_path / "run", IDLE, factors={})
    loop = OpenLoop("constant", offered_per_s=10.0, achieved_per_s=10.0) if is_open else None
    trial = replace(
        analysis.trials[0], clients=99, throughput_per_s=10.0, succeeded=100, failed=failed, duration_s=10.0,
        service={"mean_ms": 20.0}, failed_mean_ms=failed_mean_ms, open_loop=loop,
    )  # fmt: skip
    evidence = Evidence.of(trial)
    assert evidence is not None
    assert evidence.in_flight == (None if expected is None else pytest.approx(expected))
    rare = Evidence.of(replace(trial, succeeded=100_000))
    assert rare is not None
    assert rare.in_flight == pytest.approx(0.2), "a few failures change nothing"


def test_one_connection_may_have_many_records_in_flight(tmp_path: Path) -> None:
    """Only the service bounds the records of a stream: one client is not one request at a time."""
    _, analysis = analysed(tmp_path / "run", IDLE, factors={})
    trial = replace(analysis.trials[0], clients=1, throughput_per_s=300_000.0, service={"mean_ms": 100.0})
    bounded = Evidence.of(trial)
    assert bounded is not None
    assert bounded.in_flight == 1
    unchecked = (Check("littles-law", "unknown", {}),)
    stream = Evidence.of(replace(trial, checks=unchecked))
    assert stream is not None
    assert stream.in_flight == pytest.approx(30_000)
    without_times = Evidence.of(replace(trial, service=None, response=None, checks=unchecked))
    assert without_times is not None
    assert without_times.in_flight is None


def test_the_less_busy_thread_is_no_contrary_evidence(tmp_path: Path) -> None:
    busy = replace(THREAD, client=ProcessUse(1, 2, 0.9, busiest_threads=thread(0.89)))
    _, analysis = analysed(tmp_path / "run", busy, busy, factors={})
    (limit,) = analysis.limits
    assert limit.named is not None
    assert limit.named.candidate.name == "thread"
    assert "load generator" not in against(limit).text


def test_a_resource_that_was_ruled_out_is_no_contrary_evidence(tmp_path: Path) -> None:
    """Two analytic queries on two full threads: that these are busy says nothing about the load."""
    queries = replace(THREAD, target=ProcessUse(2, 2, 1.9, busiest_threads=thread(0.95) * 2))
    _, analysis = analysed(tmp_path / "run", queries, queries, factors={"load.clients": [2]})
    (limit,) = analysis.limits
    assert limit.named is not None
    assert limit.named.candidate.name == "load"
    text = against(limit).text
    assert text.startswith("Near its limit, but ruled out: single threads of the target")
    assert "are not more than the 2 full threads" in text


def test_no_resource_at_its_limit_is_not_known() -> None:
    assert names(IDLE) == []
    assert names(IDLE, achieved_share=0.9) == []


@pytest.mark.parametrize("used", [QUOTA, CPU, THREAD, CLIENT, MEMORY])
def test_nothing_is_named_in_a_window_that_is_too_short(used: Resources) -> None:
    assert (
        names(
            replace(used, window_s=0.5, disks=(), target=used.target and replace(used.target, blocked=None))
        )
        == []
    )


@pytest.mark.parametrize(
    "used",
    [
        replace(DISK, target=replace(DISK.target, blocked=BlockedThreads(2, 3.4, 3.4, 0.0))),
        replace(FLUSH, target=replace(FLUSH.target, blocked=BlockedThreads(2, 1.0, 1.0, 1.0))),
        replace(NETWORK, queues=(replace(NETWORK.queues[0], looks=2),)),
        replace(POOL, accept_queue=AcceptQueueUse(2, 12.0, 1.0)),
        replace(LOCKS, sessions=replace(sessions("Lock", "tuple", 7.0), looks=2)),
    ],
)
def test_a_share_of_few_instants_is_no_sign(used: Resources) -> None:
    assert names(used) == []


def test_few_instants_are_counted_whatever_the_number_of_sessions() -> None:
    """Eight sessions at two instants are no 16 samples."""
    waiting = Evidence(replace(LOCKS, sessions=replace(sessions("Lock", "tuple", 7.0), looks=2)))
    [sign] = [item.sign for item in judged(waiting) if item.candidate.name == "locks"]
    assert [text.text for text in sign.lacking] == ["2 samples are too few"]
    assert sign.level == 0.5


def test_a_majority_needs_a_confidence_of_95_percent() -> None:
    """Wilson's interval: 4 of 4 lie above one half (0.597), 3 of 3 too (0.526), 2 of 2 do not (0.425)."""
    assert [is_most(1.0, looks) for looks in (2, 3, 4)] == [False, True, True]
    assert not is_most(0.7, 16)
    assert is_most(0.7, 18)
    assert not is_most(0.5, 1e6)
    assert not is_most(1.0, 0)


def test_reclaim_takes_kernel_time_and_programs_take_theirs() -> None:
    """A fast disk turns reclaim into CPU time of the kernel; a full machine of user time is short of CPU."""
    assert MEMORY.target is not None
    busy = replace(MEMORY, target=replace(MEMORY.target, cores=3.7, blocked=None))
    kernel = replace(busy.host, cpu=CpuShares(0.97, 0.2, 0.77, 0.0, 0.0))
    user = replace(busy.host, cpu=CpuShares(0.97, 0.7, 0.27, 0.0, 0.0))
    assert names(replace(busy, host=kernel)) == ["memory"]
    assert names(replace(busy, host=user)) == ["cpu"]


def test_swapping_needs_ten_pages_per_second_of_the_target() -> None:
    """One page within 60 s, on a machine with much kernel time: reclaim does not take it."""
    pressed = replace(FULL, pressure=replace(QUIET, memory=0.12), swap_in_bytes_per_s=4096 / 60)
    kernel = replace(pressed, cpu=CpuShares(0.97, 0.3, 0.67, 0.0, 0.0), direct_reclaim_per_s=0.0)
    computing = replace(IDLE, host=kernel, target=ProcessUse(1, 4, 3.7, working_threads=4))
    assert names(computing) == ["cpu"]
    swapping = replace(computing, host=replace(kernel, swap_in_bytes_per_s=1e7))
    assert names(swapping) == ["cpu"], "swapping waits; it takes no CPU time"
    assert SWAP.target is not None
    assert names(replace(SWAP, host=replace(SWAP.host, swap_in_bytes_per_s=9 * 4096.0))) == ["disk"]
    of_another = replace(SWAP.target, major_faults_per_s=0.5)
    assert names(replace(SWAP, target=of_another)) == ["disk"], "pages of another process"
    (item,) = supported(judged(Evidence(SWAP, in_flight=32.0)))
    assert (
        item.sign.evidence.text
        == "977 KiB/s were swapped in, and tasks waited for memory for 40% of the time"
    )


def test_kernel_time_is_reclaim_only_where_tasks_reclaim() -> None:
    kernel = replace(FULL, cpu=CpuShares(0.97, 0.3, 0.67, 0.0, 0.0), pressure=replace(QUIET, memory=0.4))
    reclaiming = replace(kernel, direct_reclaim_per_s=50.0, direct_scan_pages_per_s=9e4)
    computing = replace(IDLE, host=reclaiming, target=ProcessUse(1, 4, 3.7, working_threads=4))
    assert names(computing) == ["memory"]
    scanned = replace(reclaiming, direct_reclaim_per_s=0.2, direct_scan_pages_per_s=6.0)
    assert names(replace(computing, host=scanned)) == ["cpu"]


def test_an_unknown_number_of_cores_is_no_sign() -> None:
    for used in (CPU, SHARED, CLIENT_OF_HOST, OTHERS, MEMORY, IDLE):
        assert "cpu" not in names(replace(used, host=replace(used.host, cores=0)))
    assert names(replace(IDLE, host=replace(FULL, cores=0)), in_flight=2.0) == []
    bound = replace(CPU.target, cpus_allowed=4) if CPU.target else None
    assert names(replace(CPU, host=replace(HOST, cores=0), target=bound)) == ["cpu"]


def test_locks_spread_over_many_waits_are_counted() -> None:
    """Sixteen locks with 60% of the time together; a record names eight waits."""
    waits = [SessionWait("CPU", "CPU", 12.8), *(SessionWait("LWLock", f"L{i}", 1.2) for i in range(16))]
    log = [SessionWait("LWLock", "WALWrite", 0.3), SessionWait("IO", "WALSync", 0.2)]
    recorded = SessionUse(40, 32.0, 32.0, shortened([*waits, *log], 8))
    assert len(recorded.waits) == 11
    of_locks, of_log = waiting(recorded, LOCK_WAITS), waiting(recorded, LOG_FLUSH)
    assert of_locks is not None
    assert of_log is not None
    assert of_locks.share == pytest.approx(19.2 / 32)
    assert of_locks.wait == "LWLock: L0"
    assert of_log.share == pytest.approx(0.5 / 32)
    assert names(replace(IDLE, sessions=recorded)) == ["locks"]


def test_requests_in_flight_are_throughput_times_response_time(tmp_path: Path) -> None:
    """A pipeline is in the throughput already (Little)."""
    _, analysis = analysed(tmp_path / "run", IDLE, factors={})
    trial = replace(
        analysis.trials[0], clients=2, pipeline=16, throughput_per_s=1_000.0, service={"mean_ms": 2.0}
    )
    evidence = Evidence.of(trial)
    assert evidence is not None
    assert evidence.in_flight == pytest.approx(2.0)


def test_what_another_process_causes_is_no_limit_of_the_target() -> None:
    """On a full machine threads of both sides wait for cores that other processes hold."""
    full = HostUse(2, CpuShares(0.996, 0.6, 0.396, 0.0, 0.0), pressure=PressureStall(cpu=0.99))
    seen = Resources(
        4.0,
        full,
        ProcessUse(14, 14, 0.56, busiest_threads=thread(0.08, 0.6)),
        ProcessUse(1, 3, 0.23, busiest_threads=thread(0.21, 0.70)),
    )
    assert names(seen) == ["others"], "seen with 8 clients"


def test_pressure_of_the_machine_without_a_cause_in_the_target_is_no_sign() -> None:
    """Another process that is short of memory or waits for the disk raises the machine's pressure."""
    pressed = replace(HOST, pressure=PressureStall(0.9, 0.9, 0.5, 0.9, 0.5))
    assert names(replace(IDLE, host=pressed)) == []


def test_packets_that_wait_now_and_then_are_no_sign() -> None:
    assert names(replace(NETWORK, queues=(replace(NETWORK.queues[0], waiting_share=0.3),))) == []


def test_a_quota_needs_thirty_periods() -> None:
    assert "quota" not in names(replace(QUOTA, window_s=2.9))


def test_a_target_at_its_quota_is_short_of_no_cores() -> None:
    assert names(replace(QUOTA, window_s=2.0)) == []


def test_explained_candidates_exist() -> None:
    declared = {candidate.name for candidate in all_candidates()}
    assert len(declared) == 15
    assert {name for candidate in all_candidates() for name in candidate.explains} <= declared


DISKS = (("sda", 200.0), ("sda", 400.0), ("nvme0n1", 9_000.0))


def analysed(
    path: Path, *used: Resources, status: str = "ok", factors: dict[str, list[Any]] | None = None
) -> tuple[Path, Analysis]:
    factors = {"load.clients": [4, 16]} if factors is None else factors
    run = write_run(path, Shape(factors=factors, monitors=False, intervals=False, repeats=len(used)))
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["resources"] = document(used[record["repeat"] % len(used)])
        record["status"] = status
        file.write_text(json.dumps(record), encoding="utf-8")
    stored = read_run(run)
    return run, analyse(stored.run, stored.trials)


#: One client, which uses a core with the target.
SMALL = replace(IDLE, target=ProcessUse(1, 1, 0.6), client=ProcessUse(1, 1, 0.3))


def analyse_again(path: Path, used: Resources) -> Judged | None:
    """The limit of another run."""
    _, analysis = analysed(path, used, used, factors={"load.clients": [1]})
    return analysis.limits[0].named


def sentence_of(analysis: Analysis) -> str:
    (finding,) = [finding for finding in analysis.findings if finding.subject is Subject.LIMIT]
    return Texts("en").message(finding.message)


def test_repeats_that_disagree_leave_the_limit_unknown(tmp_path: Path) -> None:
    run, analysis = analysed(tmp_path / "run", CPU, THREAD)
    assert {limit.named for limit in analysis.limits} == {None}
    contradicting = {item.candidate.name for limit in analysis.limits for item in limit.contradicting}
    assert contradicting == {"cpu", "thread"}
    page = markdown.render(build(read_run(run), "en"))
    assert "the trials support several resources" in page


def test_half_of_the_repeats_is_not_enough(tmp_path: Path) -> None:
    _, analysis = analysed(tmp_path / "run", CPU, IDLE)
    assert {limit.named for limit in analysis.limits} == {None}


def test_the_condition_that_failed_is_named(tmp_path: Path) -> None:
    """91% busy is a full machine only while tasks wait for a core."""
    waiting = replace(NEARLY_FULL, cpu=CpuShares(0.91, 0.7, 0.21, 0.0, 0.0))
    unmet = replace(SHARED, host=replace(waiting, pressure=replace(QUIET, cpu=0.31)))
    _, analysis = analysed(tmp_path / "run", unmet, unmet, factors={})
    (limit,) = analysis.limits
    assert limit.named is None
    document = limit.document()["next"]
    assert (document["limit"], document["measured"], document["needed"]) == ("cpu", 0.91, 0.95)
    for lang, sentence in (
        (
            "en",
            "nearest to its limit was the CPU of the target, the machine was 91% busy, 2.60 cores of it for "
            "the target (the machine is full from 95% busy, or from 90% while tasks wait for a core in more "
            "than 50% of the time, here 31%)",
        ),
        ("zh", "有任务等待 CPU 的时间（PSI）超过 50%，此处为 31%"),
    ):
        assert sentence in Texts(lang).message(against(limit))


def test_half_of_the_repeats_shows_what_the_others_lack(tmp_path: Path) -> None:
    run, analysis = analysed(tmp_path / "run", THREAD, IDLE_THREAD, factors={})
    assert {limit.named for limit in analysis.limits} == {None}
    (finding,) = [finding for finding in analysis.findings if finding.subject is Subject.LIMIT]
    assert Texts("en").message(finding.message) == (
        "The bottleneck is unknown: only 1 of 2 trials shows signs of one thread of the target; in another, "
        "thread worker used 85% of a core and waited for one for 0% of the time (the limit begins at 90%)."
    )
    run, _ = analysed(tmp_path / "three", THREAD, THREAD, IDLE_THREAD, factors={})
    page = markdown.render(build(read_run(run), "en"))
    assert "Only 2 of 3 trials show it; in another, thread worker used 85% of a core" in page


def test_an_unobserved_target_is_stated_and_the_client_is_not_nearest(tmp_path: Path) -> None:
    busy_client = replace(CLIENT, target=None, client=ProcessUse(1, 2, 0.6, busiest_threads=thread(0.6)))
    for reason, text in (
        (Unobserved.ELSEWHERE, "because it is on another machine"),
        (Unobserved.UNIDENTIFIED, "because no process of this machine was identified as the server"),
        (None, "the target was not observed; run loadcell on its machine"),
    ):
        used = replace(busy_client, unobserved=reason)
        run, analysis = analysed(tmp_path / str(reason), used, used, factors={})
        (limit,) = analysis.limits
        assert (limit.named, limit.next) == (None, None)
        page = markdown.render(build(read_run(run), "en"))
        assert text in page
        assert "the load generator, thread" not in page
    at_limit = replace(CLIENT, target=None, unobserved=Unobserved.ELSEWHERE)
    _, analysis = analysed(tmp_path / "client", at_limit, at_limit, factors={})
    (limit,) = analysis.limits
    assert limit.document()["limit"] == "client"
    assert "Not compared with others: the target was not observed" in against(limit).text


def test_a_short_measurement_names_the_time_it_needs(tmp_path: Path) -> None:
    short = replace(IDLE, window_s=0.5)
    _, analysis = analysed(tmp_path / "run", short, short, factors={})
    (limit,) = analysis.limits
    assert against(limit).text == "the measurement of 0.50 s was too short, measure for 3 s or longer"


@pytest.mark.parametrize("used", [QUOTA, SHARED, THREAD, CLIENT_OF_HOST, DISK, MEMORY, LOCKS, NETWORK])
def test_a_named_limit_has_the_level_1_and_lacks_nothing(used: Resources) -> None:
    (item,) = supported(judged(Evidence(used, in_flight=32.0)))
    document = item.document()
    assert (document["level"], document["lacking"]) == (1.0, [])
    assert document["measured"] >= document["needed"]


def test_the_next_resource_has_a_name(tmp_path: Path) -> None:
    run, _ = analysed(tmp_path / "run", CPU, CPU, factors={})
    english, chinese = (markdown.render(build(read_run(run), lang)) for lang in ("en", "zh"))
    assert "next: the load generator (the machine was 30% busy, 0.200 cores of it" in english
    assert "其次：压测端（整机 CPU 使用率 30%，其中压测端使用 0.200 核）" in chinese


def test_evidence_has_the_medians_of_the_table_of_resources(tmp_path: Path) -> None:
    """Both state 3.85, the median of 3.8 and 3.9 cores. The next resource is not that of one trial."""
    assert CPU.target is not None
    client = ProcessUse(1, 2, 0.8, busiest_threads=thread(0.8))
    busier = replace(CPU, target=replace(CPU.target, cores=3.9), client=client)
    run, analysis = analysed(tmp_path / "two", CPU, busier, factors={})
    assert "3.85 of 4 available cores in use" in sentence_of(analysis)
    assert "3.85" in markdown.render(build(read_run(run), "en")).split("Resources by treatment")[-1]
    _, analysis = analysed(tmp_path / "three", CPU, CPU, busier, factors={})
    assert "3.80 of 4" in sentence_of(analysis)
    assert "The next resource was the load generator (the machine was 30% busy, 0.200" in sentence_of(
        analysis
    )


def test_evidence_of_a_disk_is_of_one_disk() -> None:
    def on(disk: str, requests_per_s: float) -> Resources:
        used = DiskUse(disk, 0.99, 4.0, requests_per_s, 0.0, 8e5, 0.0, read_await_ms=18.0)
        return replace(DISK, disks=(used,))

    signs = [supported(judged(Evidence(on(*item), in_flight=4.0)))[0].sign for item in DISKS]
    assert typical(signs).evidence.arguments["disk"] == "sda"
    assert typical(signs).evidence.arguments["requests_per_s"] == 300.0


def test_two_of_three_are_named_with_the_objection(tmp_path: Path) -> None:
    run, analysis = analysed(tmp_path / "run", LOCKS, LOCKS, IDLE)
    named = {limit.named.candidate.name for limit in analysis.limits if limit.named is not None}
    assert named == {"locks"}
    assert "Only 2 of 3 trials show it" in markdown.render(build(read_run(run), "en"))


def test_invalid_trials_are_judged_where_there_are_no_others(tmp_path: Path) -> None:
    """A trial whose client was the limit is invalid for that reason."""
    _, analysis = analysed(tmp_path / "run", CLIENT, CLIENT, status="invalid")
    assert {limit.document()["limit"] for limit in analysis.limits} == {"client"}


@pytest.mark.parametrize(("lang", "text"), [("en", "the CPU of the target"), ("zh", "被测系统的 CPU")])
def test_pages_and_json_name_the_limit(tmp_path: Path, lang: str, text: str) -> None:
    run, analysis = analysed(tmp_path / "run", CPU, CPU)
    assert {limit["limit"] for limit in analysis.document()["bottlenecks"].values()} == {"cpu"}
    report = build(read_run(run), lang)
    assert text in html.render(report)
    assert text in markdown.render(report)


CLIENTS = {"load.clients": [1, 2, 4, 8, 16, 32]}
STORAGE = {"storage": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("used", "factors", "sentence"),
    [
        (
            IDLE,
            CLIENTS,
            (
                "at 16 clients (the knee) and 32 clients (the highest load) is unknown; at 32 clients, ",
                "瓶颈均未知",
            ),
        ),
        (
            IDLE,
            STORAGE,
            ("The bottleneck at storage = a, b and c is unknown; at storage = c, ", "瓶颈均未知"),
        ),
        (IDLE, {}, ("The bottleneck is unknown: nearest to its limit", "瓶颈未知")),
        (CPU, {}, ("The bottleneck was the CPU of the target", "瓶颈是被测系统的 CPU")),
        (
            CPU,
            CLIENTS,
            (
                "at 16 clients (the knee) and 32 clients (the highest load) was the CPU",
                "在 16 个客户端（拐点）和 32 个客户端（最高负载）时，瓶颈都是",
            ),
        ),
        # names with commas of their own are not listed
        (
            CPU,
            {"storage": ["a"], "cache": ["on", "off"]},
            ("The bottleneck of 2 treatments was the CPU", "2 个参数组合的瓶颈是"),
        ),
        (
            CPU,
            STORAGE,
            ("The bottleneck at storage = a, b and c was the CPU", "在 storage = a、b 和 c 时，瓶颈都是"),
        ),
    ],
)
def test_a_summary_has_one_sentence_on_the_limit(
    tmp_path: Path, used: Resources, factors: dict[str, list[Any]], sentence: tuple[str, str]
) -> None:
    run, _ = analysed(tmp_path / "run", used, used, factors=factors)
    for lang, text in zip(("en", "zh"), sentence, strict=True):
        context = ReportContext.of(read_run(run), lang)
        limits = [finding for finding in summary.findings(context) if finding.subject is Subject.LIMIT]
        assert len(limits) == 1
        assert text in Texts(lang).message(limits[0].message)


def test_different_limits_are_one_sentence(tmp_path: Path) -> None:
    """A plan whose levels meet four limits: a summary has no room for four sentences."""
    _, analysis = analysed(tmp_path / "run", CPU, CPU, factors={"kind": ["a", "b", "c"]})
    others = [analyse_again(tmp_path / name, used) for name, used in (("locks", LOCKS), ("load", SMALL))]
    limits = [
        replace(limit, named=named)
        for limit, named in zip(analysis.limits, [analysis.limits[0].named, *others], strict=True)
    ]
    first, *others_named = findings(limits, [], analysis.treatments)
    assert Texts("en").message(first.message) == (
        "The bottlenecks differ: a: the CPU of the target, b: locks and waits within the server, "
        "c: the load itself."
    )
    assert len(others_named) == 3


@pytest.mark.parametrize(
    ("storage", "sentences"),
    [
        (
            ["a", "b", "c"],
            (
                "The bottleneck at storage = b and c is unknown; at storage = c, ",
                "在 storage = b 和 c 时，瓶颈均未知；其中 storage = c：",
            ),
        ),
        (["a", "b"], ("The bottleneck at storage = b is unknown: ", "在 storage = b 时，瓶颈未知：")),
        (
            ["a", "b", "c", "d", "e"],
            ("The bottleneck of 4 other treatments is unknown; at ", "其余 4 个参数组合的瓶颈未知；例如"),
        ),
    ],
)
def test_one_sentence_names_the_treatments_of_unknown_limit(
    tmp_path: Path, storage: list[str], sentences: tuple[str, str]
) -> None:
    _, analysis = analysed(tmp_path / "run", CPU, CPU, factors={"storage": storage})
    limits = [
        limit if limit.treatment.levels == {"storage": "a"} else replace(limit, named=None)
        for limit in analysis.limits
    ]
    limited, unknown = findings(limits, [], analysis.treatments)
    assert limited.evidence == ("storage=a",)
    assert len(unknown.evidence) == len(storage) - 1
    for lang, text in zip(("en", "zh"), sentences, strict=True):
        assert text in Texts(lang).message(unknown.message)


def test_a_small_load_is_named_in_the_summary(tmp_path: Path) -> None:
    computing = replace(IDLE, target=ProcessUse(1, 1, 0.6), client=ProcessUse(1, 1, 0.3))
    run, analysis = analysed(tmp_path / "run", computing, computing, factors={"load.clients": [1]})
    assert {limit.document()["limit"] for limit in analysis.limits} == {"load"}
    sentences = [
        Texts("en").message(item.message) for item in summary.findings(ReportContext.of(read_run(run), "en"))
    ]
    assert any(text.startswith("The bottleneck was the load itself: ") for text in sentences)


def test_one_limit_at_knee_and_highest_load_is_one_sentence(tmp_path: Path) -> None:
    _, analysis = analysed(tmp_path / "run", CPU, CPU, factors=CLIENTS)
    (line,) = analysis.saturation
    assert isinstance(line, Saturation)
    bent = replace(line, knee=Mark(2))
    (finding,) = findings(analysis.limits, [bent], analysis.treatments)
    assert finding.evidence == ("clients=4", "clients=32")
    text = Texts("en").message(finding.message)
    assert "at 4 clients (the knee) and 32 clients (the highest load) was the CPU of the target; " in text
    assert "at 32 clients: " in text


SENTENCES = (
    QUOTA, CPU, SHARED, THREAD, CLIENT, CLIENT_OF_HOST, OTHERS, DISK, FLUSH, MEMORY, SWAP, NETWORK, SPEED,
    LOCKS, POOL, POOL_OF_SESSIONS, IDLE, replace(DISK, disks=()), DISK_OF_SESSIONS, FLUSH_OF_SESSIONS,
)  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sign_has_its_sentence(lang: str) -> None:
    texts = Texts(lang)
    for used in SENTENCES:
        for item in judged(Evidence(used, in_flight=32.0)):
            for message in (
                item.label,
                item.advice,
                item.sign.evidence,
                *item.sign.lacking,
            ):
                text = texts.message(message)
                assert text
                assert "{" not in text
