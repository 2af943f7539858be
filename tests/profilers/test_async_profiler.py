"""async-profiler in real JVMs: profiles of a program with known costs, and errors with their remedies."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jvms import classes, running
from loadcell.linux.java_attach import load_agent
from loadcell.model.profile_record import ProfileRecord
from loadcell.plan.profile import (
    AsyncProfile,
    JvmAllocationProfile,
    JvmCpuProfile,
    JvmLockProfile,
)
from loadcell.plan.units import Duration
from loadcell.profilers import async_profiler, sampler
from loadcell.profilers.async_profiler import AsyncSampler, Event
from loadcell.profilers.jvm_cpu import JvmCpuSampler
from loadcell.profilers.perf import ProfilerError
from loadcell.store.write import RunWriter
from nobody import nobody
from profilers.jvm_programs import BUSY, LOCKS, library, unpacked

MEASURED_S = 1.0


def named(profile: type[AsyncProfile], path: Path, **options: Any) -> AsyncProfile:
    """Options with a library."""
    return profile.model_validate({"library": str(path), **options})


def made(options: AsyncProfile, work: Path) -> AsyncSampler[Any]:
    made_sampler = sampler.sampler_of(options, work)
    assert isinstance(made_sampler, AsyncSampler)
    made_sampler.unpacked = unpacked() if options.library is None else None
    return made_sampler


def profiled(pid: int, options: AsyncProfile, folder: Path) -> tuple[ProfileRecord, str]:
    """The record and the folded stacks of a program that runs for a second."""
    (folder / "work").mkdir(exist_ok=True)
    profiler, writer = made(options, folder / "work"), RunWriter(folder / "run")
    homes: list[Path] = []
    record = writer.trial("profile-it")
    try:
        profiler.attach([pid])
        homes += filter(None, [profiler._home])
        profiler.phase("warmup", time.monotonic_ns())
        profiler.phase("measure", time.monotonic_ns())
        time.sleep(MEASURED_S)
        profiler.phase("drain", time.monotonic_ns())
        profiler.end()
        profile = profiler.collect(record, "it", print)
        return profile, (record.path / "profile.folded").read_text()
    finally:
        profiler.end()
        profiler.remove()
        record.abandon()
        writer.close()
        assert list((folder / "work").iterdir()) == []
        assert not any(home.exists() for home in homes)


def sums(folded: str, frame: str) -> int:
    """Sum of the stacks with a frame."""
    lines = [line for line in folded.splitlines() if frame in line]
    return sum(int(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.parametrize("version", [11, 17, 25])
def test_cpu_time_is_that_of_java_functions(tmp_path: Path, version: int) -> None:
    with running(version=version, source=BUSY) as process:
        profile, folded = profiled(process.pid, JvmCpuProfile(frequency=499), tmp_path)
    assert (profile.kind, profile.tool, profile.frequency) == ("jvm-cpu", "async-profiler 4.3", 499)
    assert profile.processes == 1
    assert profile.samples == sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())
    assert sums(folded, "Busy.holdLock_[j]") >= 0.3 * profile.samples
    assert {line.partition(";")[0] for line in folded.splitlines()} >= {"pool-1-thread"}
    assert not re.search(r"_\[[01]\]", folded)


def test_allocated_bytes_are_attributed_to_classes(tmp_path: Path) -> None:
    with running(source=BUSY) as process:
        profile, folded = profiled(process.pid, JvmAllocationProfile(), tmp_path)
    assert (profile.kind, profile.event, profile.frequency) == ("jvm-allocation", "alloc", None)
    total = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())
    assert sums(folded, "Busy.burn_[j];long[]_[i]") >= 0.95 * total
    # a sample for each 512 KiB
    assert profile.samples > 10
    assert total / profile.samples == pytest.approx(512 * 1024, rel=0.2)


@pytest.mark.parametrize("interval_s", [10e-6, 20e-3], ids=["shorter than waits", "longer than waits"])
def test_waits_for_locks_are_estimated_in_microseconds(tmp_path: Path, interval_s: float) -> None:
    """Two threads for each kind of lock wait about half of the time in all, 1 ms at a time."""
    with running(source=LOCKS) as process:
        profile, folded = profiled(process.pid, JvmLockProfile(every=Duration(interval_s)), tmp_path)
    assert (profile.kind, profile.event) == ("jvm-lock", "lock")
    for lock in ("monitor", "reentrant", "semaphore"):
        assert 0.1e6 <= sums(folded, f"Locks.{lock}_[j]") <= 1.2e6 * MEASURED_S
    assert "java.lang.Object_[i]" in folded
    assert "Locks.stamped" not in folded, "a guide says so"


@pytest.mark.parametrize(
    ("samples", "total_ns", "width_ns"),
    [(3, 50, 30_000), (1, 2_000_000, 2_000_000), (2, 1_005_000, 1_005_000)],
)
def test_a_sample_stands_for_the_interval_or_for_a_longer_wait(
    tmp_path: Path, samples: int, total_ns: int, width_ns: int
) -> None:
    stack = ("pool", "serve_[j]", "Lock_[i]")
    widths = made(JvmLockProfile(), tmp_path)._widths(Counter({stack: samples}), Counter({stack: total_ns}))
    assert widths == {stack: width_ns}


def test_nothing_is_sampled_outside_the_measurement(tmp_path: Path) -> None:
    profiler = made(JvmCpuProfile(frequency=99), tmp_path)
    with running(source=BUSY) as process:
        try:
            profiler.attach([process.pid])
            assert not any(agent.is_running for agent in profiler._agents)
            profiler.phase("measure", 0)
            assert all(agent.is_running for agent in profiler._agents)
            profiler.end()  # a load that failed has no end of its measurement
            assert not any(agent.is_running for agent in profiler._agents)
            again = made(JvmCpuProfile(), tmp_path)
            again.attach([process.pid])
            again.remove()
        finally:
            profiler.end()
            profiler.remove()


def test_a_profile_of_a_killed_loadcell_ends_by_itself(tmp_path: Path) -> None:
    profiler = made(JvmCpuProfile(), tmp_path)
    with running(source=BUSY) as process:
        try:
            profiler.attach([process.pid])
            profiler.limit_s = 1.0
            profiler.phase("measure", 0)
            until = time.monotonic() + 30
            while load_agent(process.pid, library(), "start,event=ctimer,timeout=30", 30.0) != 0:
                assert time.monotonic() < until
                time.sleep(0.1)
        finally:
            profiler.end()
            profiler.remove()


def test_without_perf_events_a_timer_takes_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = JvmCpuSampler._events

    def refused(self: JvmCpuSampler, pid: int) -> Sequence[Event]:
        return (Event("cpu-clock", "event=no-such-event"), *events(self, pid)[-2:])

    monkeypatch.setattr(JvmCpuSampler, "_events", refused)
    with running(source=BUSY) as process:
        profile, folded = profiled(process.pid, JvmCpuProfile(), tmp_path)
    assert profile.event == "ctimer"
    assert sums(folded, "Busy.holdLock") > 0


@pytest.mark.parametrize(
    ("kernel", "is_timer_first"),
    [
        ("6.15.9-generic", False),
        ("6.16.0", True),
        ("6.17.6-300.fc43.x86_64", True),
        ("6.18.1", False),
        ("6.160.0", False),
    ],
)
def test_kernels_that_perf_events_freeze_get_none_of_a_library_of_unknown_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, is_timer_first: bool
) -> None:
    monkeypatch.setattr("platform.release", lambda: kernel)
    events = made(named(JvmCpuProfile, tmp_path / "lib.so"), tmp_path)._events(os.getpid())
    assert (events[0].name == "ctimer") == is_timer_first
    pinned = JvmCpuSampler(JvmCpuProfile(), tmp_path)._events(os.getpid())
    assert pinned[0].name.startswith("cpu-clock")


def test_the_pinned_release_avoids_the_freeze() -> None:
    assert tuple(map(int, async_profiler.RELEASE.version.split("."))) >= (4, 2, 1)


def test_a_jvm_of_an_unprivileged_user_is_profiled(tmp_path: Path) -> None:
    """Where only root may sample the kernel, its samples are of user space."""
    if os.geteuid() != 0:
        pytest.skip("only root starts processes of another user")
    prefix = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    classes(BUSY).chmod(0o755)
    work = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
    work.chmod(0o755)
    try:
        with running(source=BUSY, prefix=prefix) as process:
            profile, folded = profiled(process.pid, JvmCpuProfile(), work)
    finally:
        shutil.rmtree(work)
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    assert (profile.event == "cpu-clock") == (paranoid < 2)
    assert ("_[k]" in folded) <= (profile.event == "cpu-clock")
    assert sums(folded, "Busy.holdLock") > 0


@pytest.mark.parametrize(
    ("version", "flag", "reason"),
    [
        (17, "-XX:+DisableAttachMechanism", "it runs with -XX:+DisableAttachMechanism"),
        (21, "-XX:-EnableDynamicAgentLoading", "Dynamic agent loading is not enabled"),
    ],
)
def test_a_jvm_that_loads_no_agent_is_an_error_with_a_remedy(
    tmp_path: Path, version: int, flag: str, reason: str
) -> None:
    profiler = made(JvmCpuProfile(), tmp_path)
    with running(flag, version=version, source=BUSY) as process:
        with pytest.raises(ProfilerError, match="did not load async-profiler") as caught:
            profiler.attach([process.pid])
        profiler.end()
        profiler.remove()
    assert reason in caught.value.finding
    assert "without -XX:+DisableAttachMechanism" in caught.value.advice


def test_a_jvm_of_another_user_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has processes of two users")
    profiler = made(JvmCpuProfile(), tmp_path)
    refusal = pytest.raises(ProfilerError, match="belongs to another user")
    with running(source=BUSY) as process, nobody(), refusal as caught:
        profiler.attach([process.pid])
    assert "as root or as the user" in caught.value.advice


def test_a_profile_that_already_runs_is_left_alone(tmp_path: Path) -> None:
    profiler = made(JvmCpuProfile(), tmp_path)
    with running(source=BUSY) as process:
        assert load_agent(process.pid, library(), "start,event=ctimer", 30.0) == 0
        with pytest.raises(ProfilerError, match="already records a profile") as caught:
            profiler.attach([process.pid])
        profiler.end()
        profiler.remove()
        assert f"asprof stop {process.pid}" in caught.value.advice
        assert load_agent(process.pid, library(), "stop", 30.0) == 0


#: Runs a program where this directory is empty, except for its own classes.
EMPTY = """set -e
mount -t tmpfs none /mnt
mkdir /mnt/classes
mount --bind "$2" /mnt/classes
mount -t tmpfs none "$1"
mkdir -p "$2"
mount --bind /mnt/classes "$2"
shift 2
exec "$@"
"""


@pytest.mark.parametrize("hidden", ["/var/tmp", "library"])
def test_a_jvm_with_private_directories_is_an_error_with_a_remedy(tmp_path: Path, hidden: str) -> None:
    """As in a container, and as PrivateTmp and ProtectHome of systemd do."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts")
    directory = str(library().parent) if hidden == "library" else hidden
    unshared = ("unshare", "-m", "--propagation", "private", "sh", "-c", EMPTY, "sh")
    profiler = made(JvmCpuProfile(), tmp_path)
    with running(source=BUSY, prefix=(*unshared, directory, str(classes(BUSY)))) as process:
        with pytest.raises(ProfilerError, match=f"cannot open {directory}/") as caught:
            profiler.attach([process.pid])
        profiler.end()
        profiler.remove()
    assert "inside the container" in caught.value.advice
    assert "PrivateTmp=no" in caught.value.advice


def test_the_library_can_be_named_or_is_taken_from_a_jar(tmp_path: Path) -> None:
    jar = tmp_path / "profiler.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.write(library(), f"{library().parent.name}/libasyncProfiler.so")
    for number, path in enumerate((jar, library())):
        folder = tmp_path / str(number)
        folder.mkdir()
        with running(source=BUSY) as process:
            profile, _ = profiled(process.pid, named(JvmCpuProfile, path), folder)
        assert profile.tool == "async-profiler 4.3"


@pytest.mark.parametrize(
    ("name", "content", "finding"),
    [
        ("missing.so", None, "there is no file"),
        ("missing.jar", None, "there is no file"),
        ("broken.jar", b"PK nonsense", "is not a jar with linux-"),
        ("broken.so", b"nonsense", "did not load async-profiler"),
    ],
)
def test_a_library_that_cannot_be_used_is_an_error_with_a_remedy(
    tmp_path: Path, name: str, content: bytes | None, finding: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    options = named(JvmCpuProfile, tmp_path / name)
    if content is None:
        with pytest.raises(ProfilerError, match=finding):
            sampler.check(options)
    profiler = made(options, tmp_path)
    with running(source=BUSY) as process:
        with pytest.raises(ProfilerError, match=finding) as caught:
            profiler.attach([process.pid])
        profiler.end()
        profiler.remove()
    assert caught.value.advice


def test_without_the_package_the_error_names_the_option(tmp_path: Path) -> None:
    profiler = made(JvmLockProfile(), tmp_path)
    profiler.unpacked = tmp_path
    with running(source=BUSY) as process:
        with pytest.raises(ProfilerError, match="is not in the cache") as caught:
            profiler.attach([process.pid])
        profiler.remove()
    assert "`profile.jvm-lock.library`" in caught.value.advice
