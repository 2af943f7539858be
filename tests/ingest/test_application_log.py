"""Logs of services: stamps of all formats, levels, threads, messages, and lines that continue an entry."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from loadcell.ingest.application_log import Reader, stamps_of
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.log_entries import Entry, without_values
from loadcell.ingest.log_excerpts import excerpt, log_line
from loadcell.ingest.log_gathering import MOST_THREADS
from loadcell.ingest.log_messages import MOST_ERROR_SLOTS, MOST_LINES, MOST_MESSAGES, MOST_SLOTS, Messages
from loadcell.ingest.log_pattern import LINE_S, Pattern
from loadcell.model.application_log import ApplicationLogs

NOON = datetime(2026, 11, 29, 11, 2, 3, tzinfo=UTC)
WRITTEN_S = NOON.timestamp() + 3600


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stamps without a zone are those of this machine."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read(lines: Sequence[str], pattern: str | None = None, written_s: float = WRITTEN_S) -> ApplicationLogs:
    expression = None if pattern is None else Pattern(pattern)
    stamps = stamps_of(lines, written_s, expression)
    assert stamps is not None
    reader = Reader(expression)
    reader.begin_file("app.log", "app.log", stamps)
    for line in lines:
        reader.take(line)
    return reader.logs()


#: line, milliseconds of its second, level, thread, message
LINES = [
    ("2026-11-29T19:02:03.123+08:00  INFO 77 --- [app] [nio-8080-exec-1] o.s.web.Foo : Served 17 in 23 ms",
     123, "other", "nio-8080-exec-1", "<n> --- [app] o.s.web.Foo : Served <n> in <n> ms"),
    ("2026-11-29 11:02:03,123 [main] ERROR com.foo.Bar - Connection to 10.0.0.1:5432 refused",
     123, "error", "main", "com.foo.Bar - Connection to <addr> refused"),
    ("2026-11-29 11:02:03.5 ERROR [pool-1-thread-3] com.foo.Bar: order 0xdeadbeef failed",
     500, "error", "pool-1-thread-3", "com.foo.Bar: order <hex> failed"),
    ("2026-11-29 11:02:03,123 - app.module - WARNING - slow query 'select 1'",
     123, "warning", "", "app.module - - slow query <str>"),
    ("Nov 29 11:02:03 host1 sshd[123]: Accepted password for root from 1.2.3.4 port 22",
     0, "other", "host1/sshd[123]", "Accepted password for root from <addr> port <n>"),
    ("2026-11-29T11:02:03.123456+00:00 host1 app[77]: error: disk full",
     123, "error", "host1/app[77]", "disk full"),
    ("<11>1 2026-11-29T11:02:03.003Z host app 111 ID47 - su failed",
     3, "error", "", "host app <n> ID<n> - su failed"),
    ('10.1.2.3 - bob [29/Nov/2026:19:02:03 +0800] "GET /a?b=1 HTTP/1.1" 502 123',
     0, "error", "", "GET /a 5xx"),
    ('10.1.2.3 - bob [29/Nov/2026:19:02:03 +0800] "GET /a?b=1 HTTP/1.1" 404 123',
     0, "other", "", "GET /a 4xx"),
    ('10.1.2.3 - - [29/Nov/2026:11:02:03 +0000] "GET /api/v1/item/17/x-0f1e2d3c?k=\\"1\\" HTTP/1.1" 500 9',
     0, "error", "", "GET /api/v1/item/<n>/x-<hex> 5xx"),
    ('a.org:443 10.1.2.3 - - [29/Nov/2026:11:02:03 +0000] "\\x16\\x03" 400 9', 0, "other", "", "<str> 4xx"),
    ('2026-11-29 11:02:03 INFO uvicorn - 10.1.2.3:5 - '
     '"POST /u/%E4%BD%A0/9f86d081-84c5-4f3e-9c3f-1d2e3f4a5b6c HTTP/1.1" 503 Unavailable',
     0, "error", "", "POST /u/<str>/<uuid> 5xx"),
    ("2026/11/29 11:02:03 [error] 1234#5678: *17 connect() failed (111: Connection refused)",
     0, "error", "1234#5678", "*<n> connect failed (<n>: Connection refused)"),
    ("2026/11/29 11:02:03.123456 main.go:23: listening on :8080",
     123, "other", "", "main.go:<n>: listening on :<n>"),
    ("2026/11/29 11:02:03 panic: index out of range", 0, "error", "", "index out of range"),
    ('{"level":"error","ts":1795950123.5,"logger":"db","msg":"connect failed","thread":"w-1"}',
     500, "error", "w-1", "db - connect failed"),
    ('{"@timestamp":"2026-11-29T11:02:03.123Z","log":{"level":"WARN"},"message":"slow 17"}',
     123, "warning", "", "slow <n>"),
    ('{"level":50,"time":1795950123500,"pid":3,"msg":"boom"}', 500, "error", "3", "boom"),
    ('time="2026-11-29T11:02:03Z" level=error msg="cannot open file 17" thread=w-7',
     0, "error", "w-7", "cannot open file <n>"),
    ("E1129 11:02:03.123456   12345 file.go:123] something failed",
     123, "error", "12345", "file.go:<n>] something failed"),
    ("2026-11-29 11:02:03.123 CST [1234] FATAL:  relation \"x\" does not exist",
     123, "error", "1234", "CST : relation <str> does not exist"),
    ("2026-11-29T11:02:03.123456Z 8 [Warning] [MY-010055] [Server] Address 'x' not resolved",
     123, "warning", "8", "[MY-<n>] [Server] Address <str> not resolved"),
    ("1234:M 29 Nov 2026 11:02:03.123 * Background saving started by pid 17",
     123, "other", "", "<n>:M * Background saving started by pid <n>"),
    ("[Sun Nov 29 11:02:03.123456 2026] [core:error] [pid 1234:tid 5678] AH00124: limit",
     0, "error", "pid 1234:tid 5678", "[core:] AH<n>: limit"),
    ("1795950123.123 [worker-1] INFO hello", 123, "other", "worker-1", "hello"),
    ("1795950123123 SEVERE hello 9f86d081-84c5-4f3e-9c3f-1d2e3f4a5b6c",
     123, "error", "", "hello <uuid>"),
    ("[2026-11-29 11:02:03.875] [thread-3] [ERROR] create connection SQLException, errorCode -2147483637",
     875, "error", "thread-3", "create connection SQLException, errorCode <n>"),
    ("[2026-11-29 11:02:03.370] [INFO] [INFO ][2026-11-29 11:00:36] 导入中 Sec_20220416.csv, 已导入 51000 行",
     370, "other", "", "[INFO ][<time>] 导入中 Sec_<n>.csv, 已导入 <n> 行"),
    ("26/11/29 11:02:03 INFO executor.Backend: Registered 17",
     0, "other", "", "executor.Backend: Registered <n>"),
    ("261129 110203 148 WARN dfs.DataNode: block 17 lost",
     0, "warning", "148", "dfs.DataNode: block <n> lost"),
    ("nova.log.1.2017-05-16_13:53:08 2026-11-29 11:02:03.008 25746 ERROR nova [req-1] failed",
     8, "error", "25746", "nova.log.<n>-<n>-<n>_<time> nova [req-<n>] failed"),
    ("- 1795950123 2026.11.29 R02-M1 RAS KERNEL FATAL parity error",
     0, "error", "", "<n> R<n>-M<n> RAS KERNEL parity error"),
    ("11-29 11:02:03.811  1702  2395 E WindowManager: hang",
     811, "error", "1702  2395", "WindowManager: hang"),
    ("11/29 11:02:03.123456 00001234 DND ERROR vnode 17 closed",
     123, "error", "00001234", "DND vnode <n> closed"),
    ("20261129-11:02:03:606|Step_LSC|30002312|onChanged 3579",
     606, "other", "", "Step_LSC|<n>|onChanged <n>"),
    ("29-Nov-2026 11:02:03.123 SEVERE [main] org.apache.catalina.Foo failed",
     123, "error", "main", "org.apache.catalina.Foo failed"),
    ("[2026-11-29 11:02:03.123456 +0000] E [MSGID: 101] [dht.c:12:open] 0-vol: split-brain",
     123, "error", "", "[MSGID: <n>] [dht.c:<n>:open] <n>-vol: split-brain"),
    ("2026-11-29 11:02:03,747 - INFO  [QuorumPeer[myid=1]/0:2181:Fast@774] - Notification",
     747, "other", "QuorumPeer[myid=1]/0:2181:Fast@774", "Notification"),
    ("2026-11-29 11:02:03, Error                 CBS    Loaded 17", 0, "error", "", "CBS Loaded <n>"),
    ("[2026-11-29T11:02:03,123][WARN ][o.e.c.Node   ] [node-1] slow",
     123, "warning", "node-1", "[o.e.c.Node ] slow"),
    ('{"t":{"$date":"2026-11-29T11:02:03.123+00:00"},"s":"E","c":"NETWORK","msg":"lost 17"}',
     123, "error", "", "NETWORK - lost <n>"),
    ("svc-1  | 2026-11-29 11:02:03 ERROR hello", 0, "error", "svc-1", "svc-<n> | hello"),
    ("[pod/web-7/app] 2026-11-29 11:02:03 [main] ERROR hello",
     0, "error", "pod/web-7/app/main", "[pod/web-<n>/app] hello"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "milliseconds", "level", "thread", "message"), LINES)
def test_a_line_has_its_time_level_thread_and_message(
    line: str, milliseconds: int, level: str, thread: str, message: str
) -> None:
    logs = read([line + "\n"])
    [service] = logs.services
    assert service.begin_ns == round(NOON.timestamp()) * 10**9 + milliseconds * 10**6 + (
        456_000 if "123456" in line and "Sun" not in line else 0
    )
    assert [item.name for item in service.threads[1:]] == ([thread] if thread else [])
    assert [(item.level, item.text) for item in logs.messages] == [(level, message)]


@pytest.mark.parametrize(
    ("lines", "levels"),
    [
        ([f"time=2026-11-29T11:02:03Z level={number} msg=x" for number in (30, 50, 40, 30)],
         {"other": 2, "error": 1, "warning": 1}),
        ([f"2026-11-29 11:02:03 [main] level={number} x" for number in (6, 3)], {"other": 1, "error": 1}),
        ([f"2026-11-29 11:02:03 level={number} [main] x" for number in (6, 3)], {"other": 1, "error": 1}),
        ([f"<{number}>1 2026-11-29T11:02:03.003Z host app x" for number in (14, 11)],
         {"other": 1, "error": 1}),
        ([f"{letter}1129 11:02:03.123456   12345 file.go:123] x" for letter in "IEW"],
         {"other": 1, "error": 1, "warning": 1}),
    ],
)  # fmt: skip
def test_lines_that_differ_in_their_level_alone(lines: list[str], levels: dict[str, int]) -> None:
    logs = read([f"{line}\n" for line in lines])
    assert {item.level: item.count for item in logs.messages} == levels


@pytest.mark.parametrize(
    ("stamp", "milliseconds"),
    [
        ("29.11.2026 11:02:03", 0),
        ("29.11.2026, 11:02:03,123", 123),
        ("29.11.2026 12:02:03 +01:00", 0),
        ("2026年11月29日 11:02:03.123", 123),
        ("2026年11月29日 11时02分03秒", 0),
        ("2026年11月29日 19:02:03+08:00", 0),
    ],
)
@pytest.mark.parametrize("pattern", [None, r"^(?P<time>[^|]+)\|(?P<level>\w+)\|(?P<message>.*)"])
def test_dates_with_dots_and_chinese_ones(stamp: str, milliseconds: int, pattern: str | None) -> None:
    logs = read([f"{stamp}|ERROR|disk 17 full\n"], pattern)
    assert logs.services[0].begin_ns == round(NOON.timestamp()) * 10**9 + milliseconds * 10**6
    assert [(item.level, item.text) for item in logs.messages] == [("error", "disk <n> full")]


def test_java_util_logging_has_its_level_on_the_second_line() -> None:
    logs = read([
        "Nov 29, 2026 11:02:03 AM com.foo.Bar run\n", "SEVERE: disk 17 full\n",
        "Nov 29, 2026 12:02:03 PM com.foo.Bar run\n", "INFO: ok\n",
    ])  # fmt: skip
    assert {(item.level, item.text) for item in logs.messages} == {
        ("error", "disk <n> full"),
        ("other", "ok"),
    }
    assert logs.services[0].end_ns - logs.services[0].begin_ns == 3600 * 10**9


def test_stack_traces_belong_to_the_entry_before_and_other_lines_are_examples() -> None:
    logs = read([
        *(["2026-11-29 11:02:03 INFO ok\n"] * 100),
        "2026-11-29 11:02:03 ERROR failed\n",
        "java.sql.SQLException: at 2026-11-28 10:00:00 refused\n",
        "\tat com.foo.Bar.run(Bar.java:17)\n",
        "Caused by: java.io.IOException: closed\n",
        "\t... 17 more\n",
        "Usage: app [options]\n",
        "2026-11-29 11:02:04 INFO ok\n",
    ])  # fmt: skip
    assert (logs.services[0].entries, logs.unstamped, logs.continued) == (102, 5, 4)
    assert [item.text for item in logs.examples] == ["Usage: app [options]\n"]


def test_a_log_that_begins_with_a_long_trace() -> None:
    lines = ["\tat com.foo.Bar.run(Bar.java:17)\n"] * 3000 + ["2026-11-29 11:02:03 ERROR failed\n"] * 5
    logs = read(lines)
    assert (logs.services[0].entries, logs.unstamped) == (5, 3000)


def test_a_date_within_a_message_is_no_stamp() -> None:
    lines = [f"2026-11-29 11:02:{second:02} INFO tick\n" for second in range(50)]
    lines.insert(25, "restored the backup of 2020-01-01 00:00:00 ERROR\n")
    logs = read(lines)
    assert (logs.services[0].entries, logs.unstamped) == (50, 1)


def test_the_year_of_syslog_is_that_of_its_file_and_december_is_before_january() -> None:
    lines = ["Dec 31 23:59:59 h app[1]: a\n", "Jan  1 00:00:01 h app[1]: b\n"]
    [service] = read(lines, written_s=datetime(2027, 1, 2, tzinfo=UTC).timestamp()).services
    assert service.begin_ns == datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() * 1e9
    assert service.end_ns - service.begin_ns == 2 * 10**9


@pytest.mark.parametrize(
    ("written", "stamps", "dates"),
    [
        ("2027-01-15", ("Nov 20", "Jan  3"), ("2026-11-20", "2027-01-03")),
        ("2027-01-15", ("Nov 20", "Jan  3", "Dec 31", "Jan  4"),
         ("2026-11-20", "2027-01-03", "2026-12-31", "2027-01-04")),
        ("2027-03-01", ("Sep  9", "Feb  8"), ("2026-09-09", "2027-02-08")),
        ("2029-01-15", ("Feb 29", "Mar  1"), ("2028-02-29", "2028-03-01")),
        ("2028-03-15", ("Dec  1", "Feb 29"), ("2027-12-01", "2028-02-29")),
        ("2026-11-29", ("Nov 29", "Nov 29"), ("2026-11-29", "2026-11-29")),
    ],
)  # fmt: skip
def test_years_of_stamps_without_one_are_nearest_to_the_stamp_before(
    written: str, stamps: tuple[str, ...], dates: tuple[str, ...]
) -> None:
    written_s = datetime.fromisoformat(f"{written}T12:00:00+00:00").timestamp()
    lines = [f"{stamp} 11:02:03 h app[1]: a\n" for stamp in stamps]
    reader = stamps_of(lines, written_s)
    assert reader is not None
    instants = [reader.take(line) for line in lines]
    assert [
        instant and f"{datetime.fromtimestamp(instant[0] / 1e9, UTC):%Y-%m-%d}" for instant in instants
    ] == list(dates)


def test_29_february_without_a_leap_year_nearby_is_no_stamp() -> None:
    logs = read(["Nov 20 11:02:03 h a[1]: a\n", "Feb 29 11:02:03 h a[1]: a\n", "Nov 21 11:02:03 h a[1]: a\n"])
    assert (logs.services[0].entries, logs.unstamped) == (2, 1)


@pytest.mark.parametrize(
    ("zone", "stamps", "instants"),
    [
        ("Europe/Berlin", ("2026-10-24 12:00:00", "2026-10-26 12:00:00"),
         ("2026-10-24T10:00:00", "2026-10-26T11:00:00")),
        ("Europe/Berlin", ("2026-10-25 02:59:59", "2026-10-25 02:00:00", "2026-10-25 02:59:59",
                           "2026-10-25 03:00:00"),
         ("2026-10-25T00:59:59", "2026-10-25T01:00:00", "2026-10-25T00:59:59", "2026-10-25T02:00:00")),
        ("America/New_York", ("2026-03-08 01:59:59", "2026-03-08 03:00:00"),
         ("2026-03-08T06:59:59", "2026-03-08T07:00:00")),
        ("Asia/Shanghai", ("2026-10-24 12:00:00",), ("2026-10-24T04:00:00",)),
    ],
)  # fmt: skip
def test_stamps_without_a_zone_have_the_offset_of_their_hour(
    monkeypatch: pytest.MonkeyPatch, zone: str, stamps: tuple[str, ...], instants: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    lines = [f"{stamp} INFO a\n" for stamp in stamps]
    reader = stamps_of(lines, datetime(2026, 10, 27, tzinfo=UTC).timestamp())
    assert reader is not None
    taken = [reader.take(line) for line in lines]
    shown = [item and f"{datetime.fromtimestamp(item[0] / 1e9, UTC):%FT%T}" for item in taken]
    assert shown == list(instants)


def test_the_hour_that_is_twice_is_no_change_of_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    times = [f"{hour}:{minute:02}" for hour in ("01", "02", "02", "03") for minute in range(60)]
    [service] = read([f"2026-10-25 {at}:00 INFO a\n" for at in times]).services
    assert service.end_ns - service.begin_ns == 239 * 60 * 10**9
    assert not service.zone_changes


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("11:02:03.123+08 INFO", 8),
        ("11:02:03-05 INFO", -5),
        ("11:02:03 +08:00 INFO", 8),
        ("11:02:03 -10 a", 0),
    ],
)
def test_a_zone_may_be_hours_alone_right_behind_the_time(text: str, hours: int) -> None:
    [service] = read([f"2026-11-29 {text} x\n"]).services
    assert service.begin_ns // 10**9 == NOON.timestamp() - hours * 3600
    assert service.has_zone is bool(hours)


def test_the_leap_second_and_an_impossible_date() -> None:
    logs = read([
        "2026-06-30T23:59:59Z INFO a\n", "2026-06-30T23:59:60Z INFO a\n", "2026-07-01T00:00:01Z INFO a\n",
        "2026-02-31T00:00:01Z INFO a\n",
    ])  # fmt: skip
    assert (logs.services[0].entries, logs.services[0].late_lines, logs.unstamped) == (3, 0, 1)


def test_times_without_a_date_continue_after_midnight() -> None:
    [service] = read(["23:59:59.900 [a] INFO x\n", "00:00:00.100 [a] INFO x\n"]).services
    assert service.end_ns - service.begin_ns == 200_000_000
    assert not service.has_date


def test_a_stamp_far_from_the_others_is_not_taken() -> None:
    lines = [f"2026-11-29 11:02:{second:02} INFO tick\n" for second in range(50)]
    lines.insert(25, "1970-01-01 00:00:00 INFO tick\n")
    logs = read(lines)
    assert logs.services[0].end_ns - logs.services[0].begin_ns == 49 * 10**9
    assert logs.unstamped == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("order 17 of alice@10.0.0.1:80", "order 99 of alice@10.2.0.9:8080"),
        ("id 9f86d08184c5 done", "id 0a11d08184ff done"),
        ("id_9f86d08184c5_x done", "id_0a11d08184ff_x done"),
        ("订单9f86d08184c5已保存", "订单0a11d08184ff已保存"),
        ("at 0xdeadbeef", "at 0x1f"),
        (f"sum {'9f' * 64} ok", f"sum {'a1' * 20} ok"),
        ("read 'a b' in 1.5 ms", "read 'c' in 17 ms"),
        ("object Foo@1a2b3c4d", "object Foo@99aa88bb"),
        ("at 2026-11-29T11:02:03Z", "at 2020-01-01T00:00:00Z"),
    ],
)
def test_messages_that_differ_in_values_are_one(first: str, second: str) -> None:
    assert without_values(first) == without_values(second)


@pytest.mark.parametrize("form", ["{}", "订单{}", '{{"time":"2026-11-29T11:02:03Z","msg":"of {} x"}}'])
@pytest.mark.parametrize("digits", [16, 24, 40, 64])
def test_identifiers_are_no_part_of_a_message_whatever_came_before(form: str, digits: int) -> None:
    chance = random.Random(digits)
    ids = [f"{chance.getrandbits(4 * digits - 4):0{digits - 1}x}f" for _ in range(300)]
    is_json = form[0] == "{" and form[1] == "{"
    lines = [("" if is_json else "2026-11-29 11:02:03 INFO ") + form.format(text) + "\n" for text in ids]
    [message] = read(lines).messages
    assert message.count == 300


def test_lines_of_one_form_have_their_threads() -> None:
    lines = [
        f"2026-11-29 11:02:03 [{name}] ERROR request {key} of user failed\n"
        for name in ("worker-1", "abcdef12-3", "deadbeef12-3")
        for key in ("9f86d08184c5", "0a11d08184ff")
    ]
    [service] = read(lines).services
    assert [(thread.name, thread.lines) for thread in service.threads[1:]] == [
        ("worker-1", 2), ("abcdef12-3", 2), ("deadbeef12-3", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["[{}] INFO stored", "INFO [{}] stored", "({}) ERROR stored"])
@pytest.mark.parametrize("names", [("exec-1", "exec-10", "exec-100"), ("main", "main-worker", "main worker")])
@pytest.mark.parametrize("order", [1, -1])
def test_threads_whose_names_begin_alike_are_distinct(form: str, names: tuple[str, ...], order: int) -> None:
    lines = [f"2026-11-29 11:02:03 {form.format(name)} {text}\n" for text in "ab" for name in names[::order]]
    [service] = read(lines).services
    assert {thread.name: thread.lines for thread in service.threads[1:]} == dict.fromkeys(names, 2)


@pytest.mark.parametrize("first", [0, 1])
def test_requests_that_differ_in_values_alone_are_examined_once(first: int) -> None:
    """Versions of an interface are no values, nor are words of as many letters as an identifier."""
    targets = ["/api/v1/xxxxxx/7?a=1", "/api/v2/deadbeef1234/8", "/api/v1/0abcde/9", "/api/v12/x/10?b"]
    paths = ["/api/v1/xxxxxx/<n>", "/api/v2/<hex>/<n>", "/api/v1/<hex>/<n>", "/api/v12/x/<n>"]
    lines = [
        f'10.0.0.1 - - [29/Nov/2026:11:02:03 +0000] "GET {target} HTTP/1.1" {status} 17\n'
        for status in (200, 503)
        for target in targets[:: -1 if first else 1]
    ]
    messages = {(item.text, item.level): item.count for item in read(lines).messages}
    assert messages == {
        (f"GET {path} {status}", level): 1
        for path in paths
        for status, level in (("2xx", "other"), ("5xx", "error"))
    }


def test_lines_and_slots_of_errors_are_bounded_over_all_services() -> None:
    messages = Messages()
    services = [messages.of_service() for _ in range(20)]
    for second in range(500):
        for service in services:
            for letter in "abcdefghijklmnopqrstuvwxyz"[:25]:
                entry = Entry(second * 10**9, "error", "", f"refused by {letter}")
                messages.take(entry, second, "line", partial(replace, entry), service)
    errors = [error for service in services for error in service.messages()]
    assert sum(len(error.lines) for error in errors) <= MOST_LINES
    assert sum(len(error.slots) for error in errors) <= MOST_ERROR_SLOTS
    assert {error.count for error in errors} == {500}
    assert len(errors) == 500


@pytest.mark.parametrize(
    ("head", "level"),
    [
        ("[信息] 线程-3", "other"),
        ("[错误] 线程-3", "error"),
        ("[警告]", "warning"),
        ("【致命】", "error"),
        ("严重：", "error"),
        ("调试 ", "other"),
        ("[INFO] 上次错误 严重 ", "other"),
        ("订单 错误 ", "other"),
    ],
)
def test_chinese_levels_in_brackets_or_behind_the_stamp(head: str, level: str) -> None:
    logs = read([f"2026-11-29 11:02:{second:02} {head} 订单 17 已提交\n" for second in range(5)])
    assert {item.level for item in logs.messages} == {level}
    pattern = r"^(?P<time>\S+ \S+) \[(?P<level>\w+)\] (?P<message>.*)"
    if head.startswith("[") and head.endswith("]"):
        logs = read([f"2026-11-29 11:02:03 {head} 订单\n"], pattern)
        assert {item.level for item in logs.messages} == {level}


def test_words_are_no_values() -> None:
    assert without_values("face the facade, feed a decade") == "face the facade, feed a decade"


def test_secrets_in_messages_are_removed() -> None:
    logs = read([f"2026-11-29 11:02:03 ERROR login with password=hunter{word} failed\n" for word in "xyz"])
    [message] = logs.messages
    assert "hunter" not in message.text
    assert message.count == 3


def test_threads_messages_and_slots_are_bounded() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("ghijklmnopqrstuvwxyz", k=8)) for _ in range(4000)]
    lines = [
        f"{datetime.fromtimestamp(NOON.timestamp() + number * 600, UTC):%Y-%m-%d %H:%M:%S} "
        f"[{word}-{number}] ERROR {word} {word} failed\n"
        for number, word in enumerate(words)
    ]
    logs = read(lines)
    [service] = logs.services
    assert service.entries == 4000
    assert len(service.threads) <= MOST_THREADS + 600
    assert service.more_threads == 4000 - MOST_THREADS
    assert len(logs.messages) <= MOST_MESSAGES + 600
    assert sum(message.count for message in logs.messages) == 4000
    assert max(logs.entries) - min(logs.entries) < MOST_SLOTS
    assert sum(logs.entries.values()) == 4000


def test_a_pattern_names_the_parts_of_a_line() -> None:
    pattern = r"^(?P<level>\w)\|(?P<time>[\d-]+T[\d:]+)\|(?P<thread>[^|]*)\|(?P<message>.*)"
    logs = read(
        ["E|2026-11-29T11:02:03|job 7|lost 17 rows\n", "no\n", "I|2026-11-29T11:02:04|job 7|ok\n"], pattern
    )
    [service] = logs.services
    assert [item.name for item in service.threads[1:]] == ["job 7"]
    assert {(item.level, item.text) for item in logs.messages} == {
        ("error", "lost <n> rows"),
        ("other", "ok"),
    }
    assert logs.unstamped == 1


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "no regular expression, at character 1: missing"),
        ("(?P<level>.*)", "no group `time`"),
        ("(?P<time>.*)(?P<lvl>.*)", "groups of other names: lvl"),
    ],
)
def test_a_useless_pattern_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ImportProblemError, match=re.escape(reason)):
        Pattern(pattern)


def test_a_pattern_with_exponential_time_ends() -> None:
    began_s = time.monotonic()
    with (
        pytest.raises(ImportProblemError, match="takes more than 1 s"),
        Pattern(r"(?P<time>(\d+)+)$") as pattern,
    ):
        stamps_of(["1" * 60 + "x\n"], WRITTEN_S, pattern)
    assert LINE_S < time.monotonic() - began_s < 10 * LINE_S


@pytest.mark.parametrize("seed", range(30))
def test_any_text_is_read_without_an_error(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [line for line, *_ in LINES] + [
        "{",
        "}",
        '{"time": [1]}',
        "\x00\x1b[31m",
        "é中\ud800",
        "[" * 200,
        "1" * 5000,
    ]
    lines = []
    for _ in range(200):
        text = "".join(chance.choice(pieces)[chance.randrange(5) :][: chance.randrange(90)] for _ in range(3))
        lines.append(text + "\n")
    stamps = stamps_of([LINES[seed % len(LINES)][0]], WRITTEN_S)
    assert stamps is not None
    reader = Reader()
    reader.begin_file("a", "a", stamps)
    for line in lines:
        reader.take(line)
    assert reader.logs().lines == 200


AWS = "AKIAIOSFODNN7EXAMPLE"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpM"


@pytest.mark.parametrize(
    ("line", "pattern", "parts"),
    [
        ("2026-11-29 11:02:03 ERROR cannot reach postgres://app:hunter2@db/x", None, ("hunter",)),
        (f"2026-11-29 11:02:03 ERROR upload with {AWS} failed", None, ("IOSFODNN",)),
        (f"2026-11-29 11:02:03 ERROR {'x' * 180} token={TOKEN}", None, ("eyJ", "SflK")),
        (f"2026-11-29 11:02:03 ERROR x{' ' * 1940}{TOKEN}", None, ("eyJ", "SflK")),
        (f"2026-11-29 11:02:03 [job {AWS}] ERROR failed", None, ("IOSFODNN",)),
        (f"2026-11-29 11:02:03 ERROR failed thread={'a' * 70}/{TOKEN}", None, ("eyJ", "SflK")),
        ('{"time":"2026-11-29T11:02:03Z","level":"error","msg":"at postgres:\\/\\/app:hunter2@db"}',
         None, ("hunter",)),
        ('{"time":"2026-11-29T11:02:03Z","level":"error","msg":"x","thread":"%s"}' % ("a" * 70 + "/" + TOKEN),
         None, ("eyJ", "SflK")),
        ("E 2026-11-29T11:02:03 password=hunter2x9", r"(?P<level>.) (?P<time>\S+) \w+=(?P<message>.*)",
         ("hunter",)),
        (f"E 2026-11-29T11:02:03 {'a' * 70}/{TOKEN} x",
         r"(?P<level>.) (?P<time>\S+) (?P<thread>\S+) (?P<message>.*)", ("eyJ", "SflK")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("earlier", [0, 1])
def test_secrets_are_removed_before_values_are_masked_and_texts_are_cut(
    line: str, pattern: str | None, parts: tuple[str, ...], earlier: int
) -> None:
    """Messages, names of threads and excerpts, with and without an earlier line of the same form."""
    lines = [f"{line}\n".replace("hunter2", "hunter1")] * earlier + [f"{line}\n"] * 3
    logs = read(lines, pattern)
    [service] = logs.services
    names = [thread.name for thread in service.threads]
    retained = [log_line.text for thread in service.threads for log_line in [thread.last]]
    shown = [*names, *(item.text for item in logs.messages), *map(excerpt, retained)]
    assert not [text for text in shown for part in parts if part in text]
    assert sum(item.count for item in logs.messages) == len(lines)
    assert any("[redacted" in text for text in shown)


def test_beginnings_of_messages_have_no_secrets() -> None:
    letters = "ghijklmnopq"
    words = [f"{a}{b}{c}" for a in letters for b in letters for c in letters]
    lines = [f"2026-11-29 11:02:03 ERROR order by customer {word}\n" for word in words]
    logs = read([*lines, *[f"2026-11-29 11:02:03 ERROR {AWS} {TOKEN} failed again\n"] * 3])
    assert len(logs.messages) > MOST_MESSAGES
    assert sum(message.count for message in logs.messages) == len(lines) + 3
    assert not [item.text for item in logs.messages if "IOSFODNN" in item.text or "eyJ" in item.text]
    assert [item.count for item in logs.messages if "redacted" in item.text] == [3]


def test_a_token_at_the_end_of_an_excerpt_is_removed() -> None:
    for before in range(200, 300):
        text = f"2026-11-29 11:02:03 ERROR {'x' * before} {TOKEN} failed"
        assert "eyJ" not in log_line(1, text).text
        assert "eyJ" not in excerpt(log_line(1, text).text)


def test_names_of_threads_that_stepped_back_have_no_secrets() -> None:
    names = [f"job {number} {AWS}" for number in range(3)]
    stamps = [f"2026-11-29 11:{minute:02}:{second:02}.5" for minute in (10, 5) for second in range(50)]
    logs = read([f"{stamp} [{name}] INFO tick\n" for stamp in stamps for name in names])
    [service] = logs.services
    assert [len(step.threads) for step in service.steps] == [3]
    assert not any("IOSFODNN" in name for step in service.steps for name in step.threads)


def test_a_group_of_threads_has_no_secrets() -> None:
    lines = [f"2026-11-29 11:02:03 [worker-{number}] INFO x\n" for number in range(MOST_THREADS)]
    logs = read([*lines, f"2026-11-29 11:02:03 [job {AWS}] INFO x\n"])
    assert not any("IOSFODNN" in thread.name for thread in logs.services[0].threads)
    assert logs.services[0].more_threads == 1


def test_the_lines_of_a_private_key_are_no_examples() -> None:
    body = ["MIIEpAIBAAKCAQEA7Xq\n"] * 4
    logs = read([
        "2026-11-29 11:02:03 INFO a\n", "-----BEGIN RSA PRIVATE KEY-----\n", *body,
        "-----END RSA PRIVATE KEY-----\n", "usage\n",
    ])  # fmt: skip
    assert not any("MIIEp" in line.text for line in logs.examples)
    assert "usage\n" in [line.text for line in logs.examples]


def test_a_line_with_which_a_pattern_takes_too_long_is_quoted_without_secrets() -> None:
    with (
        pytest.raises(ImportProblemError) as caught,
        Pattern(r"password=hunter2 (?P<time>(\d+)+)$") as pattern,
    ):
        stamps_of(["password=hunter2 " + "1" * 60 + "x\n"], WRITTEN_S, pattern)
    assert "hunter2" not in caught.value.args[0].text
    assert "password=" in caught.value.args[0].text
