"""Steps of the wall clock, services that set it, and servers that disagree; with servers on the loopback."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from loadcell.incidents.base import Diagnosis, Healthy, Judgement, Unseen, examine
from loadcell.incidents.evidence.clocks import ClockReading, Clocks, ClockStep, TimeServer
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.clocks import ClockGatherer
from loadcell.linux import clock_log, sntp, time_services
from loadcell.linux.fault_control import FaultControl
from loadcell.model.message import Message
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload
from nobody import nobody

START_NS = 1_700_000_000 * 10**9


def watched(*offsets_s: float, interval_s: float = 1.0, **values: Any) -> Clocks:
    readings = tuple(
        ClockReading(round(index * interval_s * 1e9), START_NS + round(offset_s * 1e9))
        for index, offset_s in enumerate(offsets_s)
    )
    return Clocks("host", readings, **values)


def judged(evidence: Clocks) -> dict[str, list[Judgement]]:
    results: dict[str, list[Judgement]] = {}
    for judgement in examine(evidence):
        results.setdefault(judgement.incident, []).append(judgement)
    return results


def test_steps_forth_and_back_are_clocks_that_fight() -> None:
    evidence = watched(0, 0, 7.3, 7.3, 0.1, 0.1, 7.35, services=("chronyd", "ntpd"))
    judgements = judged(evidence)
    (diagnosis,) = judgements["fighting-clocks"]
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.level, diagnosis.summary.arguments["count"]) == ("critical", 3)
    assert diagnosis.summary.arguments["services"] == ["chronyd", "ntpd"]
    assert diagnosis.begin_ns == 2 * 10**9
    assert "clock-step" not in judgements


@pytest.mark.parametrize(
    "evidence",
    [
        watched(0, 0.4, 0, 0.4, 0),  # 20 % below a step
        watched(0, 7.3, 7.3 + 7.3),  # in one direction
        watched(0, 7.3, 7.3 - 5.7),  # sizes differ by 22 %
        watched(0, 7.3, 0, interval_s=601),
        watched(*(index * 0.0005 for index in range(100))),  # slewing
    ],
    ids=["small", "direction", "sizes", "late", "slewing"],
)
def test_other_changes_are_no_fight(evidence: Clocks) -> None:
    (judgement,) = judged(evidence)["fighting-clocks"]
    assert isinstance(judgement, Healthy)


def of_log(*sizes_s: float) -> Clocks:
    """A steady clock, and steps that its log states, one a minute."""
    steps = tuple(ClockStep(index * 60 * 10**9, size_s) for index, size_s in enumerate(sizes_s))
    return watched(0, 0, logged=steps)


def test_steps_of_the_log_are_judged_by_their_size() -> None:
    (fight,) = judged(of_log(0.6, -0.6))["fighting-clocks"]
    assert isinstance(fight, Diagnosis)
    assert fight.level == "critical"
    (step,) = judged(of_log(0.6))["clock-step"]
    assert isinstance(step, Diagnosis)


@pytest.mark.parametrize("sizes_s", [(0.13, -0.13), (0.4, -0.4, 0.4), (-0.4,)], ids=str)
def test_small_steps_of_the_log_are_ordinary(sizes_s: tuple[float, ...]) -> None:
    judgements = judged(of_log(*sizes_s))
    for incident in ("fighting-clocks", "clock-step"):
        (judgement,) = judgements[incident]
        assert isinstance(judgement, Healthy)


def test_a_single_step_is_a_warning() -> None:
    (diagnosis,) = judged(watched(0, 0, -0.6, -0.6))["clock-step"]
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.level, diagnosis.summary.arguments["size_s"]) == ("warning", pytest.approx(0.6))
    assert "back" in diagnosis.summary.text
    (healthy,) = judged(watched(0, 0.4, 0.4))["clock-step"]
    assert isinstance(healthy, Healthy)


def of_services(*offsets_s: float, services: tuple[str, ...] = ("chronyd",)) -> list[Judgement]:
    servers = tuple(TimeServer(f"s{index}", "chronyd", value) for index, value in enumerate(offsets_s))
    return judged(watched(0, 0, services=services, servers=servers))["time-services"]


def test_the_server_that_differs_from_the_others_is_named() -> None:
    (diagnosis,) = of_services(0.01, 7.3, 0.02)
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.arguments["names"] == ["s1"]
    assert "remove it" in diagnosis.summary.text


def test_of_two_servers_none_is_named() -> None:
    (diagnosis,) = of_services(0.01, 7.3)
    assert isinstance(diagnosis, Diagnosis)
    assert "not known which is right" in diagnosis.summary.text


@pytest.mark.parametrize(
    "offsets_s", [(0, 0.6), (0, 0.4, 0.8), (0, 0, 0, 0.4, -0.4), (0, 0, 0.7, 0.7)], ids=str
)
def test_servers_around_the_middle_are_not_named(offsets_s: tuple[float, ...]) -> None:
    (diagnosis,) = of_services(*offsets_s)
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == "warning"
    assert "not known which is right" in diagnosis.summary.text


@pytest.mark.parametrize("offsets_s", [(0, 0.4), (0, 0.2, 0.4), (0, 0, 0, 0.2, -0.2)], ids=str)
def test_servers_near_one_another_are_healthy(offsets_s: tuple[float, ...]) -> None:
    (healthy,) = of_services(*offsets_s)
    assert isinstance(healthy, Healthy)


def test_servers_that_agree_are_healthy_unless_this_clock_is_wrong() -> None:
    (healthy,) = of_services(0.0, 0.4, 0.1)
    assert isinstance(healthy, Healthy)
    (diagnosis,) = of_services(3.0, 3.1)
    assert isinstance(diagnosis, Diagnosis)
    assert "differs from all 2 servers" in diagnosis.summary.text


def unsynchronised(**values: Any) -> Diagnosis:
    judgements = judged(watched(0, 0, is_synchronised=False, **values))
    assert not any(isinstance(item, Diagnosis) for item in judgements["time-services"]), "no conflict"
    (diagnosis,) = judgements["unsynchronised-clock"]
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == "note"
    return diagnosis


def test_a_clock_that_no_service_sets_is_no_conflict_of_services() -> None:
    diagnosis = unsynchronised()
    assert "no service sets the clock" in diagnosis.summary.text
    assert "Start one time service" in Message(diagnosis.remedy_code).text
    hidden = unsynchronised(has_hidden=True)
    assert "not visible" in hidden.summary.text
    assert "as root" in Message(hidden.remedy_code).text


@pytest.mark.parametrize("values", [{"services": ("chronyd",)}, {"guest_tools": ("chronyd",)}], ids=str)
def test_a_service_that_does_not_reach_its_servers_is_named(values: dict[str, Any]) -> None:
    diagnosis = unsynchronised(**values)
    assert diagnosis.summary.arguments["services"] == ["chronyd"]
    assert "chronyc tracking" in Message(diagnosis.remedy_code).text


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_without_root_hidden_processes_are_no_missing_service() -> None:
    with tempfile.TemporaryDirectory(prefix="loadcell-test-") as name:
        hidden, visible = _with_hidden_processes(Path(name))
    assert hidden.has_hidden
    (judgement,) = judged(hidden)["time-services"]
    assert isinstance(judgement, Unseen)
    assert not visible.has_hidden


def _with_hidden_processes(root: Path) -> tuple[Clocks, Clocks]:
    """Evidence for nobody, and for root."""
    written(root, "proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw,hidepid=invisible\n")
    root.chmod(0o755)
    with nobody():
        (hidden,) = ClockGatherer().gather(Host(root, interval_s=0.1))
    (visible,) = ClockGatherer().gather(Host(root, interval_s=0.1))
    return hidden, visible


def test_a_synchronised_clock_is_healthy_and_an_unknown_state_is_not_visible() -> None:
    (healthy,) = judged(watched(0, 0, is_synchronised=True))["unsynchronised-clock"]
    assert isinstance(healthy, Healthy)
    for values in ({}, {"has_services": False}):
        (unseen,) = judged(watched(0, 0, **values))["unsynchronised-clock"]
        assert isinstance(unseen, Unseen)
    (hidden,) = judged(watched(0, 0, is_synchronised=True, has_hidden=True))["time-services"]
    assert isinstance(hidden, Unseen), "a second service may be among the hidden processes"


def test_two_services_are_a_warning() -> None:
    (diagnosis,) = of_services(services=("chronyd", "ntpd"))
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == "warning"
    (healthy,) = of_services()
    assert isinstance(healthy, Healthy)


def written(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def names(service: str, root: Path) -> list[str]:
    return [str(address) for address in time_services.servers(service, root)]


def test_configured_servers_are_read_with_their_directories(tmp_path: Path) -> None:
    write = partial(written, tmp_path)
    write(
        "etc/chrony/chrony.conf", "pool a.example iburst\nconfdir /etc/chrony/conf.d\nsourcedir /run/dhcp\n"
    )
    write("etc/chrony/conf.d/x.conf", "server b.example\n# server no.example\n")
    write("run/dhcp/eth0.sources", "server 10.0.0.9 iburst\n")
    write("etc/ntp.conf", "server 127.127.1.0\nserver n.example prefer\n")
    write("etc/systemd/timesyncd.conf", "[Time]\n#NTP=\nFallbackNTP=f.example\n")
    write("etc/crontab", "0 * * * * root /usr/sbin/ntpdate -u t.example\n# rdate\n")
    assert names("chronyd", tmp_path) == ["a.example", "b.example", "10.0.0.9"]
    assert names("ntpd", tmp_path) == ["n.example"]
    assert names("systemd-timesyncd", tmp_path) == ["f.example"]
    write("etc/systemd/timesyncd.conf.d/x.conf", "[Time]\nNTP=g.example h.example\n")
    assert names("systemd-timesyncd", tmp_path) == ["g.example", "h.example"]
    write("proc/5/stat", "5 (chronyd) S 1 " + "0 " * 40)
    assert time_services.running(tmp_path) == (["chronyd", "cron: ntpdate (/etc/crontab)"], [])


def test_options_and_ports_of_servers_are_read(tmp_path: Path) -> None:
    written(
        tmp_path,
        "etc/ntp.conf",
        "server -4 a.example iburst\npool -6 b.example\nserver c.example minpoll 4 port 11123\n"
        "server d.example port 123\nserver e.example port 99999\nserver -4\n\n",
    )
    assert names("ntpd", tmp_path) == [
        "a.example", "b.example", "c.example port 11123", "d.example", "e.example",
    ]  # fmt: skip


def test_a_server_is_asked_at_its_port_and_a_false_name_has_its_reason(tmp_path: Path) -> None:
    written(tmp_path, "proc/5/stat", "5 (chronyd) S 1 " + "0 " * 40)
    with server(shifted(7.3)) as port:
        written(tmp_path, "etc/chrony.conf", f"server 127.0.0.1 port {port}\nserver a..b iburst\n")
        (evidence,) = ClockGatherer().gather(Host(tmp_path, interval_s=0.1))
    answered, refused = evidence.servers
    assert answered.name == f"127.0.0.1 port {port}"
    assert answered.offset_s == pytest.approx(7.3, abs=0.2)
    assert refused.reason is not None
    assert "no address" in refused.reason.text


def test_the_services_of_timemaster_are_one(tmp_path: Path) -> None:
    for pid, name, parent in (
        (5, "timemaster", 1), (6, "chronyd", 5), (7, "ptp4l", 5), (8, "phc2sys", 5), (9, "ntpd", 1),
    ):  # fmt: skip
        written(tmp_path, f"proc/{pid}/stat", f"{pid} ({name}) S {parent} " + "0 " * 40)
    written(tmp_path, "run/timemaster/chrony.conf", "server a.example\nrefclock SHM 0\n")
    assert time_services.running(tmp_path)[0] == ["ntpd", "timemaster"]
    assert names("timemaster", tmp_path) == ["a.example"]


@pytest.mark.parametrize(
    ("row", "command"),
    [
        ("0 * * * * root /usr/sbin/ntpdate -u t.example", "ntpdate"),
        ("@daily root timeout 10 ntpdate t.example", "ntpdate"),
        ("5 4 * jan mon root [ -x /usr/sbin/ntpdate ] && A=1 sudo -n ntpdate t.example", "ntpdate"),
        ("5\t4\t*\t*\t*\troot\thwclock --hctosys", "hwclock --hctosys"),
        ('*/5 * * * * root sleep 3; date -s "$(wget t.example)" >/dev/null 2>&1', "date -s"),
        ("5 4 * * * root sh -c 'chronyd -q \"server t.example\"'", "chronyd -q"),
        ("5 4 * * * root ntpd -gq", "ntpd -gq"),
    ],
)
def test_commands_of_cron_that_set_the_clock(tmp_path: Path, row: str, command: str) -> None:
    written(tmp_path, "etc/cron.d/x", f"MAILTO=root\n{row}\n")
    assert time_services.cron_entries(tmp_path) == [f"cron: {command} (/etc/cron.d/x)"]


@pytest.mark.parametrize(
    "row",
    [
        "0 * * * * root logger 'ntpdate removed'",
        "0 * * * * root logger ntpdate removed",
        "0 * * * * root /opt/backup --date --set x",
        "0 * * * * root /opt/a --date -s x",
        "0 * * * * root date -d yesterday -Iseconds",
        "0 * * * * root ntpdate -q t.example",
        "0 * * * * ntpdate /opt/backup",  # a user
        "# 0 * * * * root ntpdate t.example",
    ],
)
def test_other_commands_of_cron_do_not_set_the_clock(tmp_path: Path, row: str) -> None:
    written(tmp_path, "etc/crontab", f"{row}\n")
    assert time_services.cron_entries(tmp_path) == []


def test_scripts_of_cron_that_set_the_clock(tmp_path: Path) -> None:
    written(tmp_path, "etc/cron.daily/ntp", "if true; then ntpdate a.example; fi\necho 'of\ntwo rows'\n")
    written(tmp_path, "var/spool/cron/crontabs/root", "0 * * * * rdate -s a.example\n")
    assert time_services.cron_entries(tmp_path) == [
        "cron: ntpdate (/etc/cron.daily/ntp)", "cron: rdate (/var/spool/cron/crontabs/root)",
    ]  # fmt: skip


def test_steps_are_read_from_the_log(tmp_path: Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/syslog").write_text(
        "2026-11-29T10:00:01+00:00 h chronyd[7]: System clock was stepped by 7.300000 seconds\n"
        "2026-11-29T10:01:01+00:00 h ntpd[8]: time reset -7.200000 s\n"
        "2026-11-29T10:02:01+00:00 h sshd[8]: time reset -7.200000 s\n"
        "2026-11-28T10:02:01+00:00 h ntpd[8]: time reset -7.200000 s\n"
    )
    now_ns = 1_795_946_521 * 10**9  # 2026-11-29T10:02:01Z
    steps = clock_log.steps(tmp_path, now_ns, 3600)
    assert [step.size_s for step in steps] == [7.3, -7.2]


Answer = Callable[[bytes], bytes | None]


@contextmanager
def server(answer: Answer, address: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """A server on the loopback."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind((address, port))
    link.settimeout(0.05)
    ends = threading.Event()

    def serve() -> None:
        while not ends.is_set():
            try:
                question, peer = link.recvfrom(1024)
            except TimeoutError:
                continue
            reply = answer(question)
            if reply is not None:
                link.sendto(reply, peer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield link.getsockname()[1]
    finally:
        ends.set()
        thread.join()
        link.close()


def shifted(seconds: float, head: int = 0x24, stratum: int = 2, identity: bytes = b"\x0a\0\0\1") -> Answer:
    """Answers with a clock that is shifted."""

    def answer(question: bytes) -> bytes:
        now = int((time.time() + seconds + 2_208_988_800) * 2**32) % 2**64
        stamps = struct.pack(">Q", now), question[40:48], struct.pack(">QQ", now, now)
        return bytes([head, stratum, 6, 0xEC]) + bytes(8) + identity + b"".join(stamps)

    return answer


def test_the_offset_of_a_server_is_measured() -> None:
    with server(shifted(7.3)) as port:
        offset_s = sntp.offset_s("127.0.0.1", sntp.SteadyClock.now(), 1.0, port)
    assert offset_s == pytest.approx(7.3, abs=0.2)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (shifted(0, stratum=0, identity=b"RATE"), "RATE"),
        (shifted(0, head=0xE4), "not synchronised"),
        (shifted(0, stratum=16), "not synchronised"),
        (shifted(0, head=0x23), "not one of SNTP"),
        (lambda _: b"short", "not one of SNTP"),
        (lambda question: shifted(0)(bytes(48)), "no answer"),  # to another question
        (lambda _: None, "no answer"),
    ],
)
def test_an_answer_without_the_time_has_its_reason(answer: Answer, code: str) -> None:
    with server(answer) as port, pytest.raises(sntp.SntpError, match=code):
        sntp.offset_s("127.0.0.1", sntp.SteadyClock.now(), 0.3, port)


def test_the_gatherer_asks_the_configured_servers(tmp_path: Path) -> None:
    (tmp_path / "proc/5").mkdir(parents=True)
    (tmp_path / "proc/5/stat").write_text("5 (ntpd) S 1 " + "0 " * 40)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ntp.conf").write_text("".join(f"server 127.0.0.{number}\n" for number in (1, 2, 3, 4)))
    with (
        server(shifted(0)) as port,
        server(shifted(0.1), "127.0.0.2", port),
        server(shifted(-7.3), "127.0.0.3", port),
        server(lambda _: None, "127.0.0.4", port),
    ):
        (evidence,) = ClockGatherer().gather(Host(tmp_path, interval_s=0.2, time_port=port))
    diagnosis, unseen = [
        item for item in examine(evidence) if item.incident == "time-services" and item_matters(item)
    ]
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.arguments["names"] == ["127.0.0.3"]
    assert isinstance(unseen, Unseen)
    assert unseen.reason.arguments["names"] == ["127.0.0.4"]
    assert evidence.watched_s >= 0.2


def item_matters(item: Judgement) -> bool:
    """The opinion of the kernel depends on the machine of the test."""
    return not isinstance(item, Diagnosis) or item.level != "note"


#: Watches the clock for 3 s, and prints the incidents with their levels.
WATCHING = """
from loadcell.incidents.base import Diagnosis, examine
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.clocks import ClockGatherer
print("ready", flush=True)
(evidence,) = ClockGatherer().gather(Host(interval_s=3.0))
for item in examine(evidence):
    if isinstance(item, Diagnosis) and item.level != "note":
        print(item.incident, item.level, item.summary.text)
"""


def watched_while(preload: Preload, change: Callable[[FaultControl], None]) -> str:
    """Output of the program whose clock is changed meanwhile."""
    environment_of = preload.variables({**os.environ, **environment()})
    with subprocess.Popen(
        [sys.executable, "-c", WATCHING], stdout=subprocess.PIPE, text=True, env=environment_of
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.8)
        change(FaultControl(preload.control))
        return process.communicate(timeout=30)[0]


def test_a_clock_that_two_sources_set_is_recognised_while_it_happens(tmp_path: Path) -> None:
    preload = Preload.install(tmp_path, Account("me", os.geteuid(), os.getegid(), (), other=False))

    def forth_and_back(control: FaultControl) -> None:
        control.shift_clock(7_300_000_000)
        time.sleep(0.7)
        control.shift_clock(100_000_000)

    assert watched_while(preload, forth_and_back).startswith("fighting-clocks critical")


def test_a_single_step_and_slewing_differ_while_they_happen(tmp_path: Path) -> None:
    preload = Preload.install(tmp_path, Account("me", os.geteuid(), os.getegid(), (), other=False))
    step = watched_while(preload, lambda control: control.shift_clock(-3_000_000_000))
    assert step.startswith("clock-step warning")
    assert "back" in step
    (tmp_path / "slewing").mkdir()
    preload = Preload.install(
        tmp_path / "slewing", Account("me", os.geteuid(), os.getegid(), (), other=False)
    )
    slewing = watched_while(
        preload, lambda control: control.shift_clock(400_000_000, time.monotonic_ns(), 2_000_000_000)
    )
    assert slewing == ""
