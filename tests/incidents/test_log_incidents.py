"""Silences, growing errors and coincidences in logs of services, and logs near them."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.incidents import application_logs
from loadcell.incidents.base import Diagnosis, Judgement, Unseen, examine
from loadcell.incidents.evidence.application_log import Spans
from loadcell.incidents.evidence.log_silences import silences

from .gc_texts import diagnosed, is_healthy, is_unseen
from .log_texts import BEGIN_S, ServiceLog, evidence, judged

SILENT, GROWTH, COINCIDENCE = "silent-threads", "error-growth", "log-coincidences"
DAY_S = 86_400


def pool(threads: int = 4, end_s: float = 1800, spacing_s: float = 1.0) -> ServiceLog:
    log = ServiceLog()
    for number in range(threads):
        log.thread(f"worker-{number}", 0, end_s, spacing_s)
    return log


def test_a_thread_that_is_silent_while_others_write(tmp_path: Path) -> None:
    log = pool()
    log.thread("stuck", 0, 1800, 1.0, quiet=((600, 660),))
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "medium")
    values = diagnosis.summary.arguments
    assert (values["thread"], values["count"]) == ("stuck", 1)
    assert values["longest_s"] == pytest.approx(61, abs=2)
    assert diagnosis.begin_ns is not None
    assert diagnosis.begin_ns / 1e9 - BEGIN_S == pytest.approx(600, abs=2)
    assert ["[stuck]" in quote.text for quote in diagnosis.quotes] == [True, True]


def test_a_silence_that_an_error_ends_is_certain(tmp_path: Path) -> None:
    log = pool()
    log.thread("stuck", 0, 1800, 1.0, quiet=((600, 660),))
    log.add(660.0, "stuck", "ERROR", "read timed out")
    assert diagnosed(judged(tmp_path, log), SILENT).confidence == "high"


def test_several_threads_that_are_silent_at_one_time_are_one_silence(tmp_path: Path) -> None:
    log = pool()
    for number in range(3):
        log.thread(f"stuck-{number}", 0, 1800, 1.0, quiet=((600, 660),))
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.summary.code) == ("warning", "incident.silent-threads.pool")
    values = diagnosis.summary.arguments
    assert (values["pool"], values["threads"], values["count"]) == ("stuck-#", 3, 1)


@pytest.mark.parametrize("others_per_s", [2, 4, 10])
def test_a_pool_that_hangs_while_others_continue(tmp_path: Path, others_per_s: int) -> None:
    """As with an exhausted pool of connections: most lines of the pool follow one another directly."""
    chance = random.Random(others_per_s)
    log = ServiceLog()
    log.thread("scheduler", 0, 3600, 1 / others_per_s)
    at_s = 0.0
    while at_s < 3600:
        at_s += chance.expovariate(10)
        if not (1800 <= at_s < 1920 or 2500 <= at_s < 2545):
            log.add(at_s, f"exec-{chance.randint(1, 10)}")
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    values = diagnosis.summary.arguments
    assert (diagnosis.level, diagnosis.summary.code) == ("warning", "incident.silent-threads.pool")
    assert (values["pool"], values["threads"], values["count"]) == ("exec-#", 10, 2)
    assert values["longest_s"] == pytest.approx(120, abs=2)
    assert values["lines"] == pytest.approx(120 * others_per_s, rel=0.1)


def hanging(hung: int, threads: int, end_s: float = 660, others_s: float = 1.0) -> ServiceLog:
    """A pool of which some threads hang from 600 s; the others write each `others_s` meanwhile."""
    log = ServiceLog()
    log.thread("scheduler", 0, 1800, 1.0)
    for number in range(threads):
        name = f"exec-{number}"
        if number < hung:
            log.thread(name, 0, 1800, 1.0, quiet=((600, end_s),))
        else:
            log.thread(name, 0, 600, 1.0)
            log.thread(name, 600, 660, others_s, seed=2)
            log.thread(name, 660, 1800, 1.0, seed=3)
    return log


@pytest.mark.parametrize(("hung", "threads"), [(6, 10), (8, 10), (9, 10), (3, 4)])
def test_most_threads_of_a_pool_that_hang_at_once(tmp_path: Path, hung: int, threads: int) -> None:
    """Together, the few others write less than the pool usually does."""
    diagnosis = diagnosed(judged(tmp_path, hanging(hung, threads)), SILENT)
    assert diagnosis.level == "warning"
    values = diagnosis.summary.arguments
    if diagnosis.summary.code == "incident.silent-threads.most-of-pool":
        assert (values["pool"], values["threads"], values["of"]) == ("exec-#", hung, threads)
    else:
        assert values["others"] == hung - 1
    assert values["longest_s"] == pytest.approx(61, abs=2)


def test_a_pool_with_little_work_is_quiet_as_a_whole(tmp_path: Path) -> None:
    judgements = judged(tmp_path, hanging(8, 10, others_s=10.0))
    assert is_healthy(judgements, SILENT)
    assert not any(isinstance(item, Diagnosis) and item.level != "note" for item in judgements)


def test_most_threads_of_a_pool_that_hang_to_the_end(tmp_path: Path) -> None:
    diagnosis = diagnosed(judged(tmp_path, hanging(8, 10, end_s=1800)), SILENT)
    assert (diagnosis.level, diagnosis.summary.code) == ("note", "incident.silent-threads.open")
    assert diagnosis.summary.arguments["count"] == 8


@pytest.mark.parametrize("seed", range(3))
def test_threads_of_a_service_that_is_quiet_are_no_silence(tmp_path: Path, seed: int) -> None:
    """Only a scheduler writes, once in 5 s, while there is no work for the pool and for a single thread."""
    log = ServiceLog()
    log.thread("scheduler", 0, 1800, 5.0, seed=seed)
    chance = random.Random(seed)
    at_s = 0.0
    while at_s < 1800:
        at_s += chance.expovariate(3)
        if not 600 <= at_s < 660:
            log.add(at_s, chance.choice(["exec-1", "exec-2", "exec-3", "exec-4", "indexer"]))
    judgements = judged(tmp_path, log)
    warnings = [item for item in judgements if isinstance(item, Diagnosis) and item.level != "note"]
    assert not warnings
    assert is_healthy(judgements, SILENT)


def test_a_thread_of_a_pool_that_hangs_is_passed_over_by_the_others(tmp_path: Path) -> None:
    log = pool(threads=3)
    log.thread("worker-7", 0, 1800, 1.0, quiet=((600, 660),))
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.summary.arguments["thread"]) == ("warning", "worker-7")


def test_stalls_of_like_duration_at_irregular_times_are_silences(tmp_path: Path) -> None:
    log = stalling(200, 350, 900, 1500, duration_s=7.4)
    assert diagnosed(judged(tmp_path, log), SILENT).summary.arguments["count"] == 4


@pytest.mark.parametrize(
    ("begins", "duration_s"),
    [(range(100, 1700, 140), 20.0), ((200, 302, 397), 9.0), (range(100, 7200, 140), 20.0)],
)
def test_a_service_that_stands_still_with_a_period_is_silent(
    tmp_path: Path, begins: Sequence[int], duration_s: float
) -> None:
    log = ServiceLog()
    quiet = tuple((float(begin), begin + duration_s) for begin in begins)
    for number in range(3):
        log.thread(f"worker-{number}", 0, max(1800, begins[-1] + 60), 0.6, quiet=quiet)
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.summary.code) == ("warning", "incident.silent-threads.regular-service")
    values = diagnosis.summary.arguments
    assert values["count"] == len(begins)
    assert values["period_s"] == pytest.approx((begins[-1] - begins[0]) / (len(begins) - 1), abs=1)
    assert values["longest_s"] == pytest.approx(duration_s, abs=1)


@pytest.mark.parametrize(
    ("duration_s", "level", "code"),
    [
        (20, "warning", "incident.silent-threads.regular-thread"),
        (60, "note", "incident.silent-threads.may-be-job"),
    ],
)
def test_a_thread_that_stands_still_with_a_period(
    tmp_path: Path, duration_s: int, level: str, code: str
) -> None:
    log = pool(spacing_s=0.5)
    quiet = tuple((float(begin), float(begin + duration_s)) for begin in range(100, 1700, 140))
    log.thread("stuck", 0, 1800, 0.5, quiet=quiet)
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.summary.code) == (level, code)
    assert diagnosis.summary.arguments["count"] == 12


def test_a_service_that_is_silent_as_a_whole(tmp_path: Path) -> None:
    log = ServiceLog()
    for number in range(4):
        log.thread(f"worker-{number}", 0, 1800, 1.0, quiet=((600, 660),))
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert diagnosis.summary.code == "incident.silent-threads.service-or-clock"
    assert "or its clock was set forward" in diagnosis.summary.text
    assert diagnosis.remedy == "service-or-clock"


def test_services_that_are_silent_at_different_times_have_a_diagnosis_each(tmp_path: Path) -> None:
    logs = [ServiceLog() for _ in range(3)]
    for number, log in enumerate(logs):
        log.thread("main", 0, 1800, 1.0, quiet=((300 + 300 * number, 360 + 300 * number),))
    diagnoses = [item for item in judged(tmp_path, *logs) if item.incident == SILENT]
    begins = {}
    for item in diagnoses:
        assert isinstance(item, Diagnosis)
        assert item.begin_ns is not None
        begins[item.summary.arguments["service"]] = item.begin_ns / 1e9 - BEGIN_S
    assert begins == {
        f"service-{name}.log": pytest.approx(300 + 300 * number, abs=2) for number, name in enumerate("abc")
    }


@pytest.mark.parametrize("others", [0, 5])
def test_a_minute_between_stamps_of_whole_seconds(tmp_path: Path, others: int) -> None:
    logs = [poisson_of_seconds(number) for number in range(1 + others)]
    logs[0].entries = [entry for entry in logs[0].entries if not 1000 < entry[0] <= 1060]
    seen = evidence(tmp_path, *logs).silences
    assert [(item.service, round(item.duration_ns / 1e9)) for item in seen] == [("service-a.log", 61)]


def poisson_of_seconds(seed: int) -> ServiceLog:
    """Five entries per second at random, none in 2 s of each 1500 s, with stamps of whole seconds."""
    chance, log, at_s = random.Random(seed), ServiceLog(clock=math.floor), 0.0
    while at_s < 3600:
        at_s += chance.expovariate(5)
        if at_s % 1500 > 2:
            log.add(at_s)
    return log


@pytest.mark.parametrize(("gap_s", "is_silent"), [(2.4, False), (3.9, True)])
def test_a_silence_is_three_times_the_longest_usual_gap(
    tmp_path: Path, gap_s: float, is_silent: bool
) -> None:
    log = ServiceLog()
    for number in range(1500):
        log.add(number + (gap_s - 1 if number > 700 else 0) + 0.2 * (number % 2))
    assert is_healthy(judged(tmp_path, log), SILENT) is not is_silent


def test_silences_of_less_than_a_second_are_none(tmp_path: Path) -> None:
    log = ServiceLog()
    for number in range(5000):
        log.add(number * 0.01 + (0.8 if number > 2500 else 0))
    assert is_healthy(judged(tmp_path, log), SILENT)


@pytest.mark.parametrize("seed", range(5))
def test_poisson_traffic_and_bursts_have_no_silence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    log = ServiceLog()
    for number in range(6):
        at_s = 0.0
        while at_s < 1800:
            at_s += chance.expovariate(1.0) if number % 2 else chance.paretovariate(1.5) * 0.3
            log.add(at_s, f"http-{number}")
    assert is_healthy(judged(tmp_path, log), SILENT)


@pytest.mark.parametrize("order", [-1, 0])
def test_a_pool_of_threads_under_varying_load_has_no_silence(tmp_path: Path, order: int) -> None:
    """Each request takes the thread that has been idle for the shortest or the longest time."""
    chance = random.Random(order)
    log = ServiceLog()
    at_s = load = 0.0
    idle = list(range(20))
    busy: list[tuple[float, int]] = []
    while at_s < 3600:
        load = 0.999 * load + 0.045 * chance.gauss(0, 1)
        at_s += chance.expovariate(4 * math.exp(load))
        while busy and busy[0][0] <= at_s:
            idle.append(heapq.heappop(busy)[1])
        if idle:
            thread = idle.pop(order)
            log.add(at_s, f"exec-{thread}")
            heapq.heappush(busy, (at_s + chance.lognormvariate(-2, 1), thread))
    assert is_healthy(judged(tmp_path, log), SILENT)


@pytest.mark.parametrize("period_s", [60, 600, 3600])
def test_a_job_with_a_long_period_is_not_silent(tmp_path: Path, period_s: float) -> None:
    log = pool(end_s=period_s * 6)
    for run in range(6):
        for line in range(40):
            log.add(run * period_s + line * 0.05, "report-job")
    assert is_healthy(judged(tmp_path, log), SILENT)


def test_a_heartbeat_that_stops_for_a_minute_is_seen(tmp_path: Path) -> None:
    log = pool()
    log.thread("heartbeat", 0, 1800, 10.0, quiet=((600, 665),))
    assert diagnosed(judged(tmp_path, log), SILENT).summary.arguments["thread"] == "heartbeat"


@pytest.mark.parametrize("edge", ["sharp", "smooth"])
def test_a_night_without_traffic_is_no_silence(tmp_path: Path, edge: str) -> None:
    chance = random.Random(1)
    log = ServiceLog()
    log.thread("scheduler", 0, DAY_S, 60.0)
    for number in range(4):
        at_s = 0.0
        while at_s < DAY_S:
            hour = at_s / 3600
            is_night = 8 < hour < 16
            rate = 0.05 if edge == "sharp" else 0.05 * 2 ** (-abs(hour - 20 if hour > 12 else hour - 4))
            at_s += chance.expovariate(rate)
            if not is_night and at_s < DAY_S:
                log.add(at_s, f"http-{number}")
    assert is_healthy(judged(tmp_path, log), SILENT)


def test_a_gap_between_rotated_files_is_no_silence(tmp_path: Path) -> None:
    lines = pool().lines()
    first, third = tmp_path / "app.log.2", tmp_path / "app.log"
    first.write_text("".join(lines[:3000]))
    third.write_text("".join(lines[3600:]))
    read, _ = application_logs.read([(first, first.name), (third, third.name)])
    assert is_healthy(examine(read), SILENT)


def test_a_thread_that_is_never_seen_again_is_a_note(tmp_path: Path) -> None:
    log = pool()
    log.thread("stuck", 0, 900, 1.0)
    diagnosis = diagnosed(judged(tmp_path, log), SILENT)
    assert (diagnosis.level, diagnosis.confidence) == ("note", "low")
    assert diagnosis.summary.arguments["thread"] == "stuck"


def test_a_log_without_regular_threads_cannot_show_silences(tmp_path: Path) -> None:
    log = ServiceLog()
    for number in range(20):
        log.add(number)
    assert is_unseen(judged(tmp_path, log), SILENT)


def test_the_chance_of_a_silence_is_stated(tmp_path: Path) -> None:
    log = pool()
    log.thread("stuck", 0, 1800, 1.0, quiet=((600, 660),))
    [silence] = silences(evidence(tmp_path, log).logs.services)
    assert 0 <= silence.chance < 1e-5
    assert silence.usual_ns < 2e9


def failing(before: float, after: float, seed: int = 1, entries: int = 6000) -> ServiceLog:
    """Entries of which a share are errors, with another share in the second half."""
    chance = random.Random(seed)
    log = ServiceLog()
    for number in range(entries):
        share = before if number < entries / 2 else after
        is_error = chance.random() < share
        text = f"Unable to establish connection {number}" if is_error else "stored"
        log.add(number * 0.3, "main", "ERROR" if is_error else "INFO", text)
    return log


def test_an_error_whose_share_rises(tmp_path: Path) -> None:
    diagnosis = diagnosed(judged(tmp_path, failing(0.01, 0.05)), GROWTH)
    values = diagnosis.summary.arguments
    assert "Unable to establish connection <n>" in str(values["message"])
    assert values["before_share"] == pytest.approx(0.01, abs=0.004)
    assert values["after_share"] == pytest.approx(0.05, abs=0.01)
    assert diagnosis.begin_ns is not None
    assert diagnosis.begin_ns / 1e9 - BEGIN_S == pytest.approx(900, abs=60)


@pytest.mark.parametrize(
    ("before", "after"), [(0.05, 0.05), (0.05, 0.08), (0.002, 0.008), (0.05, 0.01), (1.0, 1.0)]
)
def test_an_error_whose_share_stays_below_a_threshold(tmp_path: Path, before: float, after: float) -> None:
    assert is_healthy(judged(tmp_path, failing(before, after)), GROWTH)


def test_a_new_error_that_is_rare_among_frequent_ones(tmp_path: Path) -> None:
    log = failing(0.2, 0.2)
    chance = random.Random(4)
    for number in range(120):
        log.add(900 + chance.random() * 900, "main", "ERROR", f"disk full at block {number}")
    assert "disk full" in str(diagnosed(judged(tmp_path, log), GROWTH).summary.arguments["message"])


def test_shares_are_those_of_one_service(tmp_path: Path) -> None:
    """A log with errors that ends before one without them begins, or that is quiet for half of its time."""
    first, second = failing(0.3, 0.3), ServiceLog()
    second.thread("worker", 1800, 3600, 0.3)
    busy = ServiceLog()
    busy.thread("worker", 0, 900, 0.05)
    assert is_healthy(judged(tmp_path, first, second, busy), GROWTH)


def test_a_rise_in_one_of_two_services_names_it(tmp_path: Path) -> None:
    judgements = judged(tmp_path, failing(0.02, 0.02), failing(0.01, 0.05, 2))
    assert diagnosed(judgements, GROWTH).summary.arguments["service"] == "service-b.log"


def stepped(*shares: float, entries: int = 9000) -> ServiceLog:
    """Entries with shares of an error by equal parts of the time."""
    chance = random.Random(7)
    log = ServiceLog()
    for number in range(entries):
        is_error = chance.random() < shares[number * len(shares) // entries]
        log.add(number * 0.3, "main", "ERROR" if is_error else "INFO", "refused" if is_error else "stored")
    return log


@pytest.mark.parametrize(
    ("shares", "end_s", "code"),
    [
        ((0.01, 0.1, 0.3), 2700, "incident.error-growth.to-end"),
        ((0.01, 0.3, 0.1), 2700, "incident.error-growth.to-end"),
        ((0.01, 0.3, 0.01), 1800, "incident.error-growth.until"),
    ],
)
def test_a_rise_lasts_until_the_share_is_as_before(
    tmp_path: Path, shares: tuple[float, ...], end_s: float, code: str
) -> None:
    diagnosis = diagnosed(judged(tmp_path, stepped(*shares)), GROWTH)
    assert diagnosis.begin_ns is not None
    assert diagnosis.end_ns is not None
    assert diagnosis.begin_ns / 1e9 - BEGIN_S == pytest.approx(900, abs=60)
    assert diagnosis.end_ns / 1e9 - BEGIN_S == pytest.approx(end_s, abs=60)
    assert diagnosis.summary.arguments["begin_s"] == pytest.approx(900, abs=60)
    assert diagnosis.summary.arguments["duration"].code == code  # type: ignore[union-attr]


@pytest.mark.parametrize("entries", [1500, 9000, 40_000])
def test_lines_of_a_rise_are_from_its_begin_and_its_end(tmp_path: Path, entries: int) -> None:
    log = stepped(0.02, 0.02, 0.2, entries=entries)
    first, last = diagnosed(judged(tmp_path, log), GROWTH).quotes
    assert "refused" in first.text
    assert "refused" in last.text
    assert 0.64 <= first.number / entries <= 0.72
    assert last.number / entries >= 0.95


def test_a_rise_that_continues_has_its_share_at_the_end(tmp_path: Path) -> None:
    log = stepped(0.0, 0.0, *(step / 100 for step in range(2, 22, 2)), entries=12_000)
    duration = diagnosed(judged(tmp_path, log), GROWTH).summary.arguments["duration"]
    assert duration.arguments["last_share"] == pytest.approx(0.2, abs=0.04)


def test_errors_of_many_routes_rise_as_one(tmp_path: Path) -> None:
    chance = random.Random(8)
    log = ServiceLog()
    routes = ["".join(chance.choices("abcdefghijklm", k=6)) for _ in range(60)]
    for number in range(9000):
        share = 0.005 if number < 4500 else 0.05
        is_error = chance.random() < share
        text = f"GET /{chance.choice(routes)} failed" if is_error else "stored"
        log.add(number * 0.3, "main", "ERROR" if is_error else "INFO", text)
    diagnosis = diagnosed(judged(tmp_path, log), GROWTH)
    assert diagnosis.summary.code == "incident.error-growth.total"
    assert diagnosis.summary.arguments["after_share"] == pytest.approx(0.05, abs=0.01)


def test_a_log_without_errors_has_no_share(tmp_path: Path) -> None:
    assert is_unseen(judged(tmp_path, pool()), GROWTH)


@pytest.mark.parametrize("seed", range(20))
def test_constant_shares_do_not_rise(tmp_path: Path, seed: int) -> None:
    assert is_healthy(judged(tmp_path, failing(0.02, 0.02, seed, 3000)), GROWTH)


def spans(*begins: float, duration_s: float = 5.0, kind: str = "gc-pause") -> Spans:
    pairs = tuple(
        (round((BEGIN_S + begin) * 1e9), round((BEGIN_S + begin + duration_s) * 1e9)) for begin in begins
    )
    return Spans(kind, "gc.log", pairs)  # type: ignore[arg-type]


def stalling(*begins: float, duration_s: float = 5.0) -> ServiceLog:
    log = ServiceLog()
    for number in range(4):
        quiet = tuple((begin, begin + duration_s) for begin in begins)
        log.thread(f"worker-{number}", 0, 1800, 0.3, quiet=quiet)
    return log


def test_silences_during_pauses_of_the_collector_coincide(tmp_path: Path) -> None:
    pauses = spans(300, 900)
    judgements = judged(tmp_path, stalling(300, 900), others=(pauses,))
    diagnosis = diagnosed(judgements, COINCIDENCE)
    values = diagnosis.summary.arguments
    assert (values["count"], values["of"], values["source"]) == (2, 2, "gc.log")
    assert float(str(values["chance_probability"])) < 0.001
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "high")


@pytest.mark.parametrize(("late_s", "is_seen"), [(0.0, True), (1.5, False)])
def test_silences_of_a_short_log_coincide_by_their_begin_and_end(
    tmp_path: Path, late_s: float, is_seen: bool
) -> None:
    log = ServiceLog()
    for number in range(4):
        log.thread(f"worker-{number}", 0, 60, 0.05, quiet=((15, 17.3), (35, 37)))
    pauses = tuple(
        (round((BEGIN_S + begin + late_s) * 1e9), round((BEGIN_S + end + late_s) * 1e9))
        for begin, end in ((15, 17.3), (35, 37), (2, 3.6))
    )
    judgements = judged(tmp_path, log, others=(Spans("gc-pause", "gc.log", pauses),))
    assert is_healthy(judgements, COINCIDENCE) is not is_seen


@pytest.mark.parametrize(
    ("covered_s", "is_examined"), [((0, 1800), True), ((5000, 6000), False), (None, False)]
)
def test_silences_coincide_with_no_pause_of_a_log_of_the_same_time_without_long_ones(
    tmp_path: Path, covered_s: tuple[float, float] | None, is_examined: bool
) -> None:
    covered = covered_s and tuple(round((BEGIN_S + instant) * 1e9) for instant in covered_s)
    pauses = Spans("gc-pause", "gc.log", (), covered)  # type: ignore[arg-type]
    judgements = judged(tmp_path, stalling(300, 900), others=(pauses,))
    assert is_healthy(judgements, COINCIDENCE) is is_examined
    assert is_unseen(judgements, COINCIDENCE) is not is_examined


def test_logs_without_common_time_are_not_compared(tmp_path: Path) -> None:
    pauses = replace(spans(30_300, 30_900), covered=instants(30_000, 31_000))
    judgements = judged(tmp_path, stalling(300, 900), others=(pauses,))
    assert reasons(judgements, COINCIDENCE) == ["incident.log-coincidences.apart"]
    assert not is_healthy(judgements, COINCIDENCE)


def test_silences_outside_the_time_of_the_gc_log_do_not_count(tmp_path: Path) -> None:
    pauses = replace(spans(300, 900), covered=instants(0, 1000))
    values = diagnosed(judged(tmp_path, stalling(300, 900, 1500), others=(pauses,)), COINCIDENCE).summary
    assert (values.arguments["count"], values.arguments["of"]) == (2, 2)


def test_a_gc_log_without_dates_is_named(tmp_path: Path) -> None:
    pauses = Spans("gc-pause", "gc.log", (), has_date=False)
    judgements = judged(tmp_path, stalling(300, 900), others=(pauses,))
    assert reasons(judgements, COINCIDENCE) == ["incident.log-coincidences.no-gc-date"]


def instants(begin_s: float, end_s: float) -> tuple[int, int]:
    return round((BEGIN_S + begin_s) * 1e9), round((BEGIN_S + end_s) * 1e9)


def reasons(judgements: Sequence[Judgement], incident: str) -> list[str]:
    return [item.reason.code for item in judgements if isinstance(item, Unseen) and item.incident == incident]


def test_a_single_silence_within_a_pause_is_explained_by_it(tmp_path: Path) -> None:
    log = ServiceLog()
    for number in range(4):
        log.thread(f"worker-{number}", 0, 600, 0.5, quiet=((300, 308),))
    judgements = judged(tmp_path, log, others=(spans(298.5, duration_s=11),))
    diagnosis = diagnosed(judgements, COINCIDENCE)
    assert (diagnosis.level, diagnosis.confidence) == ("note", "low")
    values = diagnosis.summary.arguments
    assert (diagnosis.summary.code, values["count"]) == ("incident.log-coincidences.few", 1)
    assert 0.001 < float(str(values["chance_probability"])) < 0.1
    assert not is_healthy(judgements, COINCIDENCE)
    assert is_healthy(judgements, SILENT), "the pause is stated once"


def test_a_silence_beside_one_within_a_pause_is_stated(tmp_path: Path) -> None:
    judgements = judged(tmp_path, stalling(300, 900, duration_s=8.0), others=(spans(300, duration_s=8.0),))
    assert diagnosed(judgements, SILENT).summary.arguments["count"] == 1
    assert diagnosed(judgements, COINCIDENCE).summary.arguments["count"] == 1


def test_chance_is_that_of_the_time_of_the_service(tmp_path: Path) -> None:
    """Another log that ends hours later makes nothing improbable."""
    quiet = ServiceLog()
    for number in range(4):
        quiet.thread(f"worker-{number}", 0, 600, 0.5, quiet=((300, 308),))
    later = ServiceLog()
    later.thread("main", 50_000, 50_600, 0.5)
    pauses = spans(298.5, duration_s=11)
    values = [
        diagnosed(judged(tmp_path, *logs, others=(pauses,)), COINCIDENCE).summary.arguments
        for logs in ((quiet,), (quiet, later))
    ]
    assert values[0]["chance_probability"] == values[1]["chance_probability"]


def test_chance_of_errors_is_that_of_the_time_of_their_service(tmp_path: Path) -> None:
    failing_log = pool(end_s=120)
    for begin in (10, 50, 90):
        failing_log.add(begin + 1, "worker-0", "ERROR", "connection refused")
    later = ServiceLog()
    later.thread("main", 50_000, 50_600, 0.5)
    pauses = spans(10, 50, 90, duration_s=10)
    judgements = judged(tmp_path, failing_log, later, others=(pauses,))
    assert is_healthy(judgements, COINCIDENCE), "they cover a third of the time of the log"


def test_silences_at_other_times_than_pauses_do_not_coincide(tmp_path: Path) -> None:
    assert is_healthy(judged(tmp_path, stalling(300, 900), others=(spans(400, 1200),)), COINCIDENCE)


def test_pauses_for_most_of_the_time_explain_nothing(tmp_path: Path) -> None:
    pauses = spans(*range(0, 1800, 10), duration_s=8.0)
    assert is_healthy(judged(tmp_path, stalling(300, 900), others=(pauses,)), COINCIDENCE)


def test_errors_during_faults_are_a_note(tmp_path: Path) -> None:
    log = pool()
    for begin in (200, 600, 1000):
        for number in range(10):
            log.add(begin + 3 + number * 0.1, "worker-0", "ERROR", "connection refused")
    faults = spans(200, 600, 1000, kind="fault")
    diagnosis = diagnosed(judged(tmp_path, log, others=(faults,)), COINCIDENCE)
    assert (diagnosis.level, diagnosis.summary.arguments["count"]) == ("note", 3)


def test_errors_at_clock_steps_coincide(tmp_path: Path) -> None:
    def clock(at_s: float) -> float:
        return at_s + (7.3 if at_s % 300 >= 150 else 0)

    log = ServiceLog(clock)
    for number in range(4):
        log.thread(f"worker-{number}", 0, 1800, 0.5)
    for begin in range(150, 1800, 150):
        log.add(begin + 0.2, "worker-0", "ERROR", "Unable to establish connection")
    diagnosis = diagnosed(judged(tmp_path, log), COINCIDENCE)
    assert diagnosis.summary.arguments["spans"].code == "log-spans.clock-step"  # type: ignore[attr-defined]


@pytest.mark.parametrize("seconds", [0, 15])
def test_a_log_of_few_seconds_cannot_show_coincidences(tmp_path: Path, seconds: float) -> None:
    log = ServiceLog()
    log.add(300 + seconds)
    for _ in range(3):
        log.add(300, "main", "ERROR", "refused")
    pauses = spans(299, duration_s=1.5)
    assert is_unseen(judged(tmp_path, log, others=(pauses,)), COINCIDENCE)


def test_without_another_source_coincidences_are_not_visible(tmp_path: Path) -> None:
    assert is_unseen(judged(tmp_path, pool()), COINCIDENCE)


def test_a_healthy_log_has_no_diagnosis(tmp_path: Path) -> None:
    assert not any(isinstance(item, Diagnosis) for item in judged(tmp_path, pool()))
