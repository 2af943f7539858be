"""Clock steps in logs of services: recognised where two sources fight, and not in logs near that."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadcell.incidents import application_logs
from loadcell.incidents.base import Diagnosis, Judgement, examine
from loadcell.linux.fault_control import FaultControl
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload

from .gc_texts import diagnosed, is_healthy, is_unseen
from .log_texts import ServiceLog, judged

STEPS = "log-clock-steps"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stamps without a zone are those of this machine."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def fighting(forth_s: float, back_s: float, apart_s: float) -> Callable[[float], float]:
    """A clock that is set forward at 60 s, and back later."""

    def clock(at_s: float) -> float:
        return at_s + (forth_s if at_s >= 60 else 0) - (back_s if at_s >= 60 + apart_s else 0)

    return clock


def service(
    clock: Callable[[float], float] = lambda at_s: at_s, threads: int = 4, **options: str
) -> ServiceLog:
    log = ServiceLog(clock, **options)
    for number in range(threads):
        log.thread(f"worker-{number}", 0, 900)
    return log


def test_two_steps_of_opposite_sign_and_of_one_size_are_a_fight(tmp_path: Path) -> None:
    diagnosis = diagnosed(judged(tmp_path, service(fighting(7.3, 7.2, 300))), STEPS)
    assert (diagnosis.level, diagnosis.confidence) == ("critical", "high")
    values = diagnosis.summary.arguments
    assert values["forth_s"] == pytest.approx(7.3, abs=0.3)
    assert values["back_s"] == pytest.approx(7.2, abs=0.3)
    assert values["apart_s"] == pytest.approx(300, abs=10)
    assert values["threads"] == 4
    assert len(diagnosis.quotes) == 4


def test_one_thread_shows_a_fight_with_medium_confidence(tmp_path: Path) -> None:
    diagnosis = diagnosed(judged(tmp_path, service(fighting(7.3, 7.2, 300), threads=1)), STEPS)
    assert (diagnosis.level, diagnosis.confidence) == ("critical", "medium")


def test_two_services_of_one_host_show_one_step(tmp_path: Path) -> None:
    clock = fighting(7.3, 7.2, 300)
    diagnosis = diagnosed(judged(tmp_path, service(clock, threads=1), service(clock, threads=1)), STEPS)
    assert (diagnosis.confidence, diagnosis.summary.arguments["services"]) == ("high", 2)
    assert diagnosis.summary.arguments["count"] == 1


@pytest.mark.parametrize(
    ("forth_s", "back_s", "apart_s"),
    [(9.6, 7.2, 300), (7.2, 9.6, 300), (7.3, 7.2, 720), (0, 7.2, 0)],
    ids=["smaller", "larger", "apart", "alone"],
)
def test_a_step_back_without_its_opposite_is_a_warning(
    tmp_path: Path, forth_s: float, back_s: float, apart_s: float
) -> None:
    assert diagnosed(judged(tmp_path, service(fighting(forth_s, back_s, apart_s))), STEPS).level == "warning"


def test_a_step_below_the_threshold_is_none(tmp_path: Path) -> None:
    log = ServiceLog(fighting(0.4, 0.4, 300))
    for number in range(4):
        log.thread(f"worker-{number}", 0, 900, spacing_s=0.02)
    assert is_healthy(judged(tmp_path, log), STEPS)


def test_a_slewed_clock_is_none(tmp_path: Path) -> None:
    assert is_healthy(judged(tmp_path, service(lambda at_s: at_s * (1 - 0.0005))), STEPS)


def at_night(directory: Path, date: str, before: str, after: str, zone: str = "") -> tuple[Judgement, ...]:
    """Judgements of a log with a line per second up to an hour, and from another one on."""
    lines = [
        f"{date} {hour}:{minute:02}:{second:02}.5{zone} [worker-{second % 3}] INFO stored\n"
        for hour, minutes in ((before, range(50, 60)), (after, range(10)))
        for minute in minutes
        for second in range(60)
    ]
    path = directory / "app.log"
    path.write_text("".join(lines))
    return examine(application_logs.read([(path, "app.log")])[0])


def test_the_end_of_daylight_saving_time_is_no_step_of_a_log_without_a_zone(tmp_path: Path) -> None:
    assert is_healthy(at_night(tmp_path, "2026-10-25", "02", "02"), STEPS)
    _, reading = application_logs.read([(tmp_path / "app.log", "app.log")])
    [remark] = [remark for remark in reading.remarks if "daylight saving" in remark.text]
    assert "Europe/Berlin" in remark.text
    assert diagnosed(at_night(tmp_path, "2026-10-25", "02", "02", "Z"), STEPS).level == "warning"


@pytest.mark.parametrize("date", ["2026-10-21", "2026-11-29"])
def test_a_step_of_an_hour_at_which_no_zone_changes_is_one(tmp_path: Path, date: str) -> None:
    diagnosis = diagnosed(at_night(tmp_path, date, "02", "02"), STEPS)
    assert diagnosis.summary.arguments["back_s"] == pytest.approx(3600, abs=2)


def test_a_step_of_many_hours_may_be_another_zone(tmp_path: Path) -> None:
    assert is_healthy(at_night(tmp_path, "2026-11-29", "12", "05"), STEPS)
    _, reading = application_logs.read([(tmp_path / "app.log", "app.log")])
    assert any("zone of the service was changed" in remark.text for remark in reading.remarks)


def test_lines_of_two_zones_in_turn_cost_about_as_much_as_others(tmp_path: Path) -> None:
    """The log is unordered, and no line searches all zones for a change of an hour."""
    times = []
    for name, hours in (("one.log", ("10", "10")), ("two.log", ("10", "11"))):
        path = tmp_path / name
        path.write_text(
            "".join(
                f"2026-11-{day:02} {hours[second % 2]}:{minute:02}:{second:02}.5 [worker] INFO stored\n"
                for day in range(10, 15)
                for minute in range(20)
                for second in range(60)
            )
        )
        begin_s = time.process_time()
        _, reading = application_logs.read([(path, name)])
        times.append(time.process_time() - begin_s)
    assert times[1] < 4 * times[0] + 0.2
    assert any("out of order" in remark.text for remark in reading.remarks)
    assert not any("daylight saving" in remark.text for remark in reading.remarks)


@pytest.mark.parametrize(("date", "is_silent"), [("2026-03-29", False), ("2026-03-25", True)])
def test_the_begin_of_daylight_saving_time_is_no_silence(tmp_path: Path, date: str, is_silent: bool) -> None:
    lines = [
        f"{date} {hour}:{minute:02}:{second:02}.5 {level} stored\n"
        for hour, level in (("00", "INFO"), ("01", "INFO"), ("03", "ERROR"), ("04", "ERROR"))
        for minute in range(60)
        for second in range(0, 60, 4)
    ]
    path = tmp_path / "app.log"
    path.write_text("".join(lines))
    judgements = examine(application_logs.read([(path, "app.log")])[0])
    assert is_healthy(judgements, "silent-threads") is not is_silent


@pytest.mark.parametrize(("spacing_s", "width_s"), [(0.5, 1.5), (4.0, 9.0)])
def test_the_size_of_a_step_has_a_range(tmp_path: Path, spacing_s: float, width_s: float) -> None:
    """It is as wide as a long time between two lines, and contains the true size."""
    log = ServiceLog(fighting(57.3, 57.2, 300))
    for number in range(2):
        log.thread(f"worker-{number}", 0, 900, spacing_s)
    values = diagnosed(judged(tmp_path, log), STEPS).summary.arguments
    for name, size_s in (("forth", 57.3), ("back", 57.2)):
        least_s, most_s = float(str(values[f"least_{name}_s"])), float(str(values[f"most_{name}_s"]))
        assert least_s <= size_s <= most_s
        assert least_s <= float(str(values[f"{name}_s"])) <= most_s
        assert most_s - least_s < width_s


def test_the_size_of_a_step_is_as_exact_as_the_stamps(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    lines = service(fighting(57.3, 57.2, 300)).lines()
    path.write_text("".join(re.sub(r"\.\d+Z", "Z", line) for line in lines))
    values = diagnosed(examine(application_logs.read([(path, "app.log")])[0]), STEPS).summary.arguments
    assert float(str(values["most_back_s"])) - float(str(values["least_back_s"])) >= 2


def test_a_change_of_the_zone_in_the_stamps_is_no_step(tmp_path: Path) -> None:
    lines = service().lines()
    path = tmp_path / "app.log"
    moved = [line.replace("T10:", "T12:").replace("Z ", "+02:00 ") for line in lines[500:]]
    path.write_text("".join([*lines[:500], *moved]))
    evidence, _ = application_logs.read([(path, "app.log")])
    assert is_healthy(examine(evidence), STEPS)


@pytest.mark.parametrize("spacing_s", [0.2, 1.0])
def test_stamps_of_whole_seconds_show_a_fight(tmp_path: Path, spacing_s: float) -> None:
    log = ServiceLog(fighting(7.3, 7.2, 300))
    for number in range(4):
        log.thread(f"worker-{number}", 0, 900, spacing_s)
    path = tmp_path / "app.log"
    path.write_text("".join(re.sub(r"\.\d+Z", "Z", line) for line in log.lines()))
    evidence, _ = application_logs.read([(path, "app.log")])
    assert diagnosed(examine(evidence), STEPS).level == "critical"


def test_whole_seconds_that_concurrent_threads_write_in_turn_are_no_steps(tmp_path: Path) -> None:
    chance = random.Random(5)
    stamps = [number * 0.1 - chance.random() * 0.2 for number in range(5000)]
    lines = [
        f"{ServiceLog().stamp(at_s)[:19]}Z [w-{number % 9}] INFO x\n" for number, at_s in enumerate(stamps)
    ]
    path = tmp_path / "app.log"
    path.write_text("".join(lines))
    evidence, reading = application_logs.read([(path, "app.log")])
    assert is_healthy(examine(evidence), STEPS)
    assert not reading.remarks


def test_late_lines_of_slow_requests_are_none(tmp_path: Path) -> None:
    chance = random.Random(3)
    lines = []
    for number in range(3000):
        at_s = number * 0.2
        slow_s = 8.0 if chance.random() < 0.01 else chance.random() * 0.1
        lines.append(f"{ServiceLog().stamp(at_s - slow_s)} [main] INFO request {number}\n")
    path = tmp_path / "access.log"
    path.write_text("".join(lines))
    evidence, _ = application_logs.read([(path, "access.log")])
    assert is_healthy(examine(evidence), STEPS)
    assert evidence.logs.services[0].late_lines > 10


def test_a_log_merged_from_two_hosts_cannot_show_steps(tmp_path: Path) -> None:
    chance = random.Random(3)
    lines = [
        f"{ServiceLog().stamp(number * 0.2 - (2.5 if chance.random() < 0.5 else 0))} INFO x\n"
        for number in range(1000)
    ]
    path = tmp_path / "merged.log"
    path.write_text("".join(lines))
    evidence, reading = application_logs.read([(path, "merged.log")])
    assert is_unseen(examine(evidence), STEPS)
    assert any("merged from several hosts" in remark.text for remark in reading.remarks)


def test_few_lines_of_a_host_whose_clock_is_ahead_are_no_steps(tmp_path: Path) -> None:
    lines = [
        f"{ServiceLog().stamp(number * 0.2 + (6 if number % 60 == 0 else 0))} INFO x\n"
        for number in range(3000)
    ]
    path = tmp_path / "merged.log"
    path.write_text("".join(lines))
    evidence, _ = application_logs.read([(path, "merged.log")])
    assert is_healthy(examine(evidence), STEPS)
    assert evidence.logs.services[0].late_lines >= 48


def test_batches_of_two_hosts_with_different_threads_are_no_steps(tmp_path: Path) -> None:
    lines = []
    for begin in range(0, 600, 30):
        for host in ("a", "b"):
            log = ServiceLog()
            log.thread(f"{host}-worker", begin, begin + 30)
            lines += log.lines()
    path = tmp_path / "merged.log"
    path.write_text("".join(lines))
    evidence, _ = application_logs.read([(path, "merged.log")])
    assert not any(isinstance(item, Diagnosis) and item.incident == STEPS for item in examine(evidence))


def test_rotated_files_that_overlap_are_no_steps(tmp_path: Path) -> None:
    lines = service().lines()
    first, second = tmp_path / "app.log.1", tmp_path / "app.log"
    first.write_text("".join(lines[:4000]))
    second.write_text("".join(lines[3950:]))
    evidence, reading = application_logs.read([(second, "app.log"), (first, "app.log.1")])
    assert [service.files for service in evidence.logs.services] == [("app.log.1", "app.log")]
    assert is_healthy(examine(evidence), STEPS)
    assert any("order of their times" in remark.text for remark in reading.remarks)


#: Logs with four threads; its pool takes connections for broken when the clock leaps.
_SERVICE = """
import logging, sys, threading, time
form = "%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s"
logging.basicConfig(filename=sys.argv[1], level="INFO", format=form)
end, used = time.monotonic() + float(sys.argv[2]), {}
def work():
    number = 0
    while time.monotonic() < end:
        number += 1
        now, name = time.time(), threading.current_thread().name
        if abs(now - used.get(name, now)) > 3:
            logging.error("create connection: Unable to establish connection %d", number)
        else:
            logging.info("imported %d rows", number * 1000)
        used[name] = now
        time.sleep(0.05)
threads = [threading.Thread(target=work, name=f"pool-1-thread-{n}") for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_a_real_service_whose_clock_two_sources_set(tmp_path: Path) -> None:
    preload = Preload.install(tmp_path, Account("me", os.geteuid(), os.getegid(), (), other=False))
    control, path = FaultControl(preload.control), tmp_path / "import.log"
    process = subprocess.Popen(
        (sys.executable, "-c", _SERVICE, str(path), "6"), env=preload.variables(environment())
    )
    try:
        time.sleep(2)
        control.shift_clock(7_300_000_000)
        time.sleep(2)
        control.shift_clock(100_000_000)
        assert process.wait(30) == 0
    finally:
        process.kill()
    evidence, _ = application_logs.read([(path, "import.log")])
    judgements = examine(evidence)
    diagnosis = diagnosed(judgements, STEPS)
    assert (diagnosis.level, diagnosis.confidence) == ("critical", "high")
    assert diagnosis.summary.arguments["forth_s"] == pytest.approx(7.3, abs=0.2)
    assert diagnosis.summary.arguments["back_s"] == pytest.approx(7.2, abs=0.2)
    others = [item.incident for item in judgements if isinstance(item, Diagnosis)]
    assert others == [STEPS], "the silence is the leap of the clock"


def test_directions_of_a_clock_are_unambiguous_in_chinese() -> None:
    directory = Path(application_logs.__file__).parent
    texts = "".join(path.read_text() for path in directory.glob("messages*.toml"))
    assert "跳快" in texts
    assert "跳慢" in texts
    assert "向前" not in texts
    assert "向后" not in texts
