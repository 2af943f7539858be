"""Forms of redis-benchmark's output by version and option: before 6.2, threads, connections not kept."""

from __future__ import annotations

import pytest

from loadcell.ingest.base import NotItsOutputError, Reading
from loadcell.ingest.readers import redis_benchmark

OLD = """====== {title} ======
  30000 requests completed in 0.40 seconds
  25 parallel clients
  64 bytes payload
  keep alive: {keep}

{shares}75000.00 requests per second

"""
NEW = """====== GET ======
  30000 requests completed in 0.40 seconds
  25 parallel clients
  64 bytes payload
  keep alive: {keep}
  host configuration "save": {save}
  host configuration "appendonly": no
  multi-thread: {threads}

Summary:
  throughput summary: 75000.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.300     0.100     0.200     0.400     0.500     0.900
"""


def read(text: str) -> Reading:
    return redis_benchmark.read(text.splitlines(keepends=True))


def test_text_of_before_6_2_has_times_in_whole_milliseconds() -> None:
    shares = "89.00% <= 0 milliseconds\n94.90% <= 1 milliseconds\n99.20% <= 2 milliseconds\n"
    parsed = read(
        OLD.format(title="SET", keep=1, shares=f"{shares}100.00% <= 5 milliseconds\n")
        + OLD.format(title="MSET (10 keys)", keep=1, shares="100.00% <= 0 milliseconds\n")
    )
    first, second = parsed.measured
    assert parsed.examples == ()
    assert (first.title, first.throughput_per_s, first.succeeded, first.clients) == ("SET", 75000, 30000, 25)
    assert first.response == {"p90_ms": 1, "p95_ms": 2, "p99_ms": 2, "p99.9_ms": 5}
    assert (second.title, second.response) == ("MSET (10 keys)", {})
    assert first.settings == {"payload_bytes": 64, "keep_alive": "yes"}


def test_a_csv_of_before_6_2_has_no_head() -> None:
    parsed = read('"PING_INLINE","81000.50"\n"LPUSH (needed to benchmark LRANGE)","70000.00"\n"GET","x"\n')
    assert [(test.title, test.throughput_per_s) for test in parsed.measured] == [
        ("PING_INLINE", 81000.5), ("LPUSH (needed to benchmark LRANGE)", 70000),
    ]  # fmt: skip
    assert parsed.examples == ('"GET","x"',)
    with pytest.raises(NotItsOutputError):
        read('"price","12.50"\n"amount of all","7.00"\n')


def test_what_it_prints_of_its_options_is_settings() -> None:
    base = {"payload_bytes": 64, "appendonly": "no"}
    plain = read(NEW.format(keep=1, save="", threads="no")).measured[0]
    assert plain.settings == {**base, "keep_alive": "yes", "save": "none", "threads": 1}
    other = read(NEW.format(keep=0, save="3600 1", threads="yes\n  threads: 3")).measured[0]
    assert other.settings == {**base, "keep_alive": "no", "save": "3600 1", "threads": 3}


def test_a_row_of_times_that_is_none_ends_no_test() -> None:
    text = NEW.format(keep=1, save="", threads="no")
    parsed = read(text + text.replace("0.900", "inf"))
    assert len(parsed.measured) == 1
    assert parsed.unread == 1


def test_the_short_form_has_a_line_for_each_test() -> None:
    parsed = read(
        " \rSET: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)\r          \r"
        "SET: 41000.50 requests per second, p50=0.215 msec\n"
        "LRANGE_100 (first 100 elements): 9000.00 requests per second, p50=2.015 msec\n"
        "\neval return 7 0: 8000.00 requests per second, p50=0.300 msec\n"
    )
    assert [(test.title, test.throughput_per_s, test.response) for test in parsed.measured] == [
        ("SET", 41000.5, {"p50_ms": 0.215}),
        ("LRANGE_100 (first 100 elements)", 9000, {"p50_ms": 2.015}),
        ("eval return 7 0", 8000, {"p50_ms": 0.3}),
    ]
    assert parsed.examples == ()


def test_the_short_form_of_before_6_2_has_no_median() -> None:
    parsed = read("PING_INLINE: 81000.50 requests per second\nMSET (10 keys): 50000.00 requests per second\n")
    assert [(test.title, test.throughput_per_s) for test in parsed.measured] == [
        ("PING_INLINE", 81000.5), ("MSET (10 keys)", 50000),
    ]  # fmt: skip
    with pytest.raises(NotItsOutputError):
        read("The server answered: 200 requests per second\n")


def test_lines_that_lost_their_indentation_are_read() -> None:
    text = OLD.format(title="SET", keep=1, shares="100.00% <= 1 milliseconds\n") + NEW.format(
        keep=1, save="", threads="no"
    )
    parsed = read("".join(f"{line.strip()}\n" for line in text.splitlines()))
    assert parsed.examples == ()
    assert [(item.succeeded, item.clients, item.duration_s) for item in parsed.measured] == [
        (30000, 25, 0.4)
    ] * 2
