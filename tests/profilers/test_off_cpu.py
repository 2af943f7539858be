"""Off-CPU profiles: a recorded output of perf, and a real process whose waits are known."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from loadcell.plan.profile import OffCpuProfile, profile_kinds
from loadcell.profilers import off_cpu
from loadcell.profilers.off_cpu import NO_STACK, OffCpu, OffCpuSampler, fold
from loadcell.profilers.perf import Perf, ProfilerError
from loadcell.profilers.sampler import sampler_of
from loadcell.store.write import RunWriter
from profilers.test_perf import may_sample

#: Output of perf 6.1.187 on Linux 6.18 for a program of two threads: `holder` sleeps 4 times 20 ms with a
#: mutex, and 5 ms without; `main` sleeps 4 times 5 ms and then waits for the mutex.
RECORDED = (Path(__file__).parent / "data" / "off_cpu.script").read_text().splitlines(keepends=True)
FIRST_NS, LAST_NS = 16777_060845583, 16777_165533047
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void nap(long ms) { struct timespec length = {0, ms * 1000000}; nanosleep(&length, 0); }
__attribute__((noinline)) void hold_lock(void) {
  pthread_mutex_lock(&mutex); nap(100); pthread_mutex_unlock(&mutex);
}
void *holder(void *unused) { for (int i = 0; i < 3; i++) { hold_lock(); nap(20); } return unused; }
__attribute__((noinline)) void wait_for_lock(void) {
  pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); __asm__ volatile("");
}
int main(void) {
  char start; pthread_t thread;
  if (read(0, &start, 1) != 1) return 1;
  pthread_create(&thread, 0, holder, 0);
  for (int i = 0; i < 3; i++) { nap(10); wait_for_lock(); }
  pthread_join(thread, 0);
  puts("done"); fflush(stdout);
  return read(0, &start, 1) != 1;
}
"""


def times_us(folded: str) -> Counter[str]:
    """Microseconds by function, those that it had called included."""
    times: Counter[str] = Counter()
    for line in folded.splitlines():
        stack, _, time_us = line.rpartition(" ")
        for name in set(stack.split(";")):
            times[name] += int(time_us)
    return times


def total_us(folded: str) -> int:
    """Microseconds of all stacks."""
    return sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())


def test_waits_of_a_recorded_output_have_their_stacks() -> None:
    profile = fold(RECORDED, FIRST_NS, LAST_NS)
    assert (profile.waits, profile.recorded) == (20, 20)
    times = times_us(profile.folded)
    assert 80_000 <= times["nap_long"] <= 82_000
    assert 40_000 <= times["nap_short"] <= 42_000
    assert 75_000 <= times["wait_for_lock"] <= 80_000
    assert times["schedule_[k]"] == total_us(profile.folded)
    assert all(line.startswith("waits-28716;") for line in profile.folded.splitlines())


def test_threads_that_were_preempted_waited_for_a_cpu() -> None:
    times = times_us(fold(RECORDED, FIRST_NS, LAST_NS).folded)
    assert times["waiting for a CPU_[k]"] == pytest.approx(1280 + 9 + 12, abs=3)


def test_waits_are_counted_inside_the_window_only() -> None:
    """At both ends of the window one thread sleeps, and the other waits for its lock."""
    from_ns, to_ns = 16777_125000000, 16777_130000000
    profile = fold(RECORDED, from_ns, to_ns)
    assert profile.waits == 2
    assert times_us(profile.folded)["nap_long"] == 5000
    assert times_us(profile.folded)["wait_for_lock"] == 5000
    assert fold(RECORDED, LAST_NS + 1, LAST_NS + 1).folded == ""


def test_a_total_is_divided_among_the_recorded_stacks() -> None:
    """Where every second stack is recorded, totals stay what they are."""
    every, lines, heads = fold(RECORDED, FIRST_NS, LAST_NS), [], 0
    for line in RECORDED:
        heads += "context-switches:" in line
        if heads % 2 or "PERF_RECORD" in line:
            lines.append(line)
    half = fold(lines, FIRST_NS, LAST_NS)
    assert half.waits == every.waits
    assert half.recorded < every.recorded
    assert total_us(every.folded) == pytest.approx(total_us(half.folded), abs=20)
    bare = fold([line for line in RECORDED if "PERF_RECORD" in line], FIRST_NS, LAST_NS)
    assert (bare.waits, bare.recorded) == (20, 0)
    assert bare.folded.startswith(f"waits-28716;{NO_STACK} ")


def switches(*events: str) -> list[str]:
    """Output of perf: `10 OUT 2` for the switch of thread 2 at 10 ms, `10 nap 2` for a stack of it."""
    lines = []
    for event in events:
        time_ms, kind, *tid = event.split()
        head = f"waits 1/{tid[0] if tid else 0} 1.{int(time_ms):03d}000000:"
        if kind in ("OUT", "IN"):
            lines.append(f"{head} PERF_RECORD_SWITCH {kind}\n")
        elif kind == "LOST":
            lines.append(f"{head} PERF_RECORD_LOST lost 7\n")
        else:
            lines += [f"{head} context-switches:\n", f"\tffff {kind} (/bin/waits)\n", "\n"]
    return lines


def folded(*events: str, is_cut: bool = False) -> list[str]:
    """Folded stacks of such an output, in a window from 0 to 100 ms."""
    return fold(switches(*events), 10**9, 1_100_000_000, is_cut=is_cut).folded.splitlines()


def test_a_wait_without_an_end_lasts_to_the_end_of_the_window() -> None:
    events = ("10 nap 1", "10 OUT 1", "20 work 2", "20 OUT 2", "30 IN 2")
    assert folded(*events) == ["waits-1;nap 90000", "waits-1;work 10000"]


def test_a_wait_without_an_end_lasts_to_the_last_event_of_a_recording_that_is_cut() -> None:
    events = ("10 nap 1", "10 OUT 1", "20 work 2", "20 OUT 2", "30 IN 2")
    assert folded(*events, is_cut=True) == ["waits-1;nap 20000", "waits-1;work 10000"]


def test_waits_across_lost_events_are_left_out_with_their_stacks() -> None:
    """The stack of the lost wait is not that of the next one, whose own was not recorded."""
    assert folded("10 nap 1", "10 OUT 1", "20 LOST", "30 IN 1") == []
    assert folded("10 nap 1", "10 OUT 1", "20 LOST", "40 OUT 1", "50 IN 1") == [f"waits-1;{NO_STACK} 10000"]
    assert folded("10 nap 1", "20 LOST", "40 OUT 1", "50 IN 1") == [f"waits-1;{NO_STACK} 10000"]
    assert folded("10 nap 1", "10 OUT 1", "20 LOST") == [], "nor does it last to the end"


def test_a_missing_switch_in_does_not_give_the_next_wait_its_stack() -> None:
    assert folded("10 nap 1", "10 OUT 1", "40 OUT 1", "50 IN 1") == [f"waits-1;{NO_STACK} 10000"]
    assert folded("10 nap 1", "10 OUT 1", "40 work 1", "40 OUT 1", "50 IN 1") == ["waits-1;work 10000"]


@pytest.mark.parametrize("cut", [0, 1, 57, 200, 339])
def test_a_cut_output_is_read_as_far_as_it_goes(cut: int) -> None:
    profile = fold([*RECORDED[:cut], "waits 1/", "\0\n"], FIRST_NS, LAST_NS)
    assert profile.waits <= 20


def test_stacks_without_the_kernel_are_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another user perf times waits, but records no stack where the kernel is excluded."""
    (tmp_path / "paranoid").write_text("2\n")
    monkeypatch.setattr(off_cpu, "_PARANOID", tmp_path / "paranoid")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ProfilerError, match="not to record their location") as caught:
        off_cpu._require_kernel()
    assert "kernel.perf_event_paranoid=1" in caught.value.advice
    (tmp_path / "paranoid").write_text("1\n")
    off_cpu._require_kernel()


#: As perf: events, the last of which it prints only once the reader has the first ones.
PERF = """#!/bin/sh
test "$1" = --version && echo perf version 6 && exit
cat {first}
while ! test -e {seen}; do sleep 0.01; done
cat {last}
echo cannot read on >&2
exit {status}
"""


def sampler_of_output(folder: Path, status: int) -> OffCpuSampler:
    """A sampler whose perf prints `RECORDED` in two parts: up to line 200, and the rest."""
    first, last, seen = folder / "first", folder / "last", folder / "seen"
    first.write_text("".join(RECORDED[:200]) + "# padding\n" * 20_000)
    last.write_text("".join(RECORDED[200:]))
    program = folder / "perf"
    program.write_text(PERF.format(first=first, last=last, seen=seen, status=status))
    program.chmod(0o755)
    sampler = OffCpuSampler(OffCpuProfile(), folder)
    sampler._perf = Perf(folder, [1], (), "fp", str(program))
    sampler._window = [FIRST_NS, LAST_NS]
    return sampler


def test_a_recording_is_folded_while_perf_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is several times as long as the recording, which may have 2 GiB: no file holds it."""

    def watched(lines: Iterable[str], from_ns: int, to_ns: int, *, is_cut: bool) -> OffCpu:
        def touched() -> Iterator[str]:
            for line in lines:
                (tmp_path / "seen").touch()
                assert not list(tmp_path.glob("perf-script*"))
                yield line

        return fold(touched(), from_ns, to_ns, is_cut=is_cut)

    monkeypatch.setattr(off_cpu, "fold", watched)
    sampler, writer = sampler_of_output(tmp_path, status=0), RunWriter(tmp_path / "run")
    record = writer.trial("profile-it")
    try:
        profile = sampler.collect(record, "it", print)
        folded = (record.path / "profile.folded").read_text()
    finally:
        record.abandon()
        writer.close()
    assert (profile.waits, profile.samples) == (20, 20)
    assert total_us(folded) == total_us(fold(RECORDED, FIRST_NS, LAST_NS).folded)


def test_a_recording_that_perf_cannot_read_is_an_error(tmp_path: Path) -> None:
    sampler, writer = sampler_of_output(tmp_path, status=1), RunWriter(tmp_path / "run")
    (tmp_path / "seen").touch()
    record = writer.trial("profile-it")
    try:
        with pytest.raises(ProfilerError, match="cannot read on"):
            sampler.collect(record, "it", print)
    finally:
        record.abandon()
        writer.close()


def test_the_sampler_of_a_kind_is_found_by_its_name(tmp_path: Path) -> None:
    assert isinstance(sampler_of(OffCpuProfile(), tmp_path), OffCpuSampler)
    for kind in profile_kinds().values():
        sampler_of(kind(), tmp_path).remove()


def test_a_real_process_waits_for_its_lock(tmp_path: Path) -> None:
    """Lower bounds only: on a busy machine waits are longer, never shorter."""
    (tmp_path / "waits.c").write_text(PROGRAM)
    command = ["cc", "-O1", "-g", "-o", tmp_path / "waits", tmp_path / "waits.c", "-lpthread"]
    subprocess.run(command, check=True)
    work = tmp_path / "work"
    work.mkdir()
    sampler, writer = OffCpuSampler(OffCpuProfile(), work), RunWriter(tmp_path / "run")
    record = writer.trial("profile-it")
    with subprocess.Popen([tmp_path / "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if not may_sample(tmp_path):
                with pytest.raises(ProfilerError, match=r"does not allow perf to sample|no perf events"):
                    sampler.attach([process.pid])
                return
            sampler.attach([process.pid])
            sampler.phase("measure", time.monotonic_ns())
            process.stdin.write(b"x")
            process.stdin.flush()
            process.stdout.readline()
            sampler.phase("drain", time.monotonic_ns())
            sampler.end()
            profile = sampler.collect(record, "it", print)
            folded = (record.path / "profile.folded").read_text()
        finally:
            sampler.end()
            sampler.remove()
            process.kill()
            record.abandon()
            writer.close()
    assert (profile.kind, profile.event, profile.processes) == ("off-cpu", "context-switches", 1)
    assert profile.waits is not None
    assert 8 <= profile.samples <= profile.waits
    times = times_us(folded)
    assert times["hold_lock"] >= 300_000
    assert times["wait_for_lock"] >= 60_000
    assert re.search(r"^waits;.*wait_for_lock;.*futex", folded, re.MULTILINE), folded
