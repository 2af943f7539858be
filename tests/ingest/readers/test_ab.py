"""Forms of ab's output by version and option: failures, columns of times, settings, the printed rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.ingest import checks
from loadcell.ingest.base import ImportProblemError, Measured
from loadcell.ingest.read import read as read_files
from loadcell.ingest.readers import ab

TEXT = """This is ApacheBench, Version {version}
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/

Benchmarking shop.example (be patient).....done


Server Software:        Apache/1.3
Server Hostname:        shop.example
Server Port:            8080

Document Path:          /list
Document Length:        310 bytes

Concurrency Level:      3
Time taken for tests:   0.027 seconds
Complete requests:      100
Failed requests:        {failed}
{more}Total transferred:      51000 bytes
HTML transferred:       31000 bytes
Requests per second:    3673.09 [#/sec] (mean)
Time per request:       0.817 [ms] (mean)
Transfer rate:          1829.36 [Kbytes/sec] received
                        20.11 kb/s sent
                        1849.47 kb/s total

Connection Times (ms)
{times}
Percentage of the requests served within a certain time (ms)
  50%      8
 100%     31 (last request)
"""
MEANS = """              min  mean[+/-sd] median   max
Connect:        0    1   0.5      1       2
Processing:     2    9   3.1      8      30
Total:          2   10   3.3      8      31
"""
#: With `-S`, and before there were deviations.
AVERAGES = """              min   avg   max
Connect:        0     1    2
Processing:     2     9   30
Total:          2    10   31
"""


def measured(*, failed: int = 0, more: str = "", times: str = MEANS, version: str = "2.3") -> Measured:
    text = TEXT.format(failed=failed, more=more, times=times, version=version)
    parsed = ab.read(text.splitlines(keepends=True))
    assert parsed.examples == ()
    (execution,) = parsed.measured
    return execution


@pytest.mark.parametrize(
    "classes",
    ["(Connect: 2, Length: 40, Exceptions: 1)", "(Connect: 2, Receive: 0, Length: 40, Exceptions: 1)"],
)
def test_bodies_of_another_length_are_no_failures_in_any_version(classes: str) -> None:
    execution = measured(failed=43, more=f"   {classes}\n")
    assert (execution.succeeded, execution.failed) == (97, 3)
    assert execution.errors == {"connect": 2, "exceptions": 1}


@pytest.mark.parametrize("name", ["Write errors:      ", "Broken pipe errors:"])
def test_requests_that_could_not_be_sent_are_failures(name: str) -> None:
    execution = measured(failed=4, more=f"   (Connect: 0, Length: 4, Exceptions: 0)\n{name}     4\n")
    assert (execution.succeeded, execution.failed, execution.errors) == (96, 4, {"write": 4})


def test_the_printed_rate_is_taken_for_the_requests_that_succeeded() -> None:
    assert measured().throughput_per_s == 3673.09
    half = measured(more="Non-2xx responses:      50\n")
    assert half.throughput_per_s == pytest.approx(3673.09 / 2)
    assert not checks.disagreements(half)


def test_a_rate_that_contradicts_count_and_time_is_noticed() -> None:
    text = TEXT.format(failed=0, more="", times=MEANS, version="2.3").replace("3673.09", "5673.09")
    (execution,) = ab.read(text.splitlines(keepends=True)).measured
    assert [item.total.label for item in checks.disagreements(execution)] == ["Complete requests/Time taken"]


def test_times_without_deviation_are_read() -> None:
    execution = measured(times=AVERAGES, version="1.3d <$Revision$> apache-1.3")
    assert execution.response == {"min_ms": 2, "mean_ms": 10, "max_ms": 31, "p50_ms": 8}
    assert execution.figures == {"connect_mean_ms": 1, "processing_mean_ms": 9}


def test_host_port_and_path_are_settings_and_so_is_keeping_connections() -> None:
    expected = {"host": "shop.example", "port": 8080, "path": "/list", "server": "Apache/1.3"}
    assert measured().settings == {**expected, "keep_alive": "no"}
    assert measured(more="Keep-Alive requests:    99\n").settings == {**expected, "keep_alive": "yes"}


def test_tables_for_browsers_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ab.html"
    path.write_text("<p>\n This is ApacheBench, Version 2.3 <i>&lt;$Revision$&gt;</i><br>\n</p>\n")
    with pytest.raises(ImportProblemError, match="without -w"):
        read_files([path], "auto")


def test_a_summary_that_was_copied_without_its_head_is_an_execution() -> None:
    first = TEXT.format(failed=0, more="", times=MEANS, version="2.3")
    summary = (
        first[first.index("Concurrency Level") :].replace("3673.09", "1836.50").replace("0.027", "0.054")
    )
    for text in (
        f"{first}\nab -c 6 http://h/\n\n{summary}",
        f"{summary}\n{summary}".replace("1836.50", "3673.09", 1),
    ):
        rates = [item.throughput_per_s for item in ab.read(text.splitlines(keepends=True)).measured]
        assert rates == [3673.09, 1836.5]


def test_the_protocol_of_tls_and_times_without_indentation_are_read() -> None:
    text = TEXT.format(failed=0, more="", times=MEANS, version="2.3")
    text = text.replace("Server Port:", "SSL/TLS Protocol:       TLSv1.3\nServer Port:").replace(
        "Apache/1.3", ""
    )
    parsed = ab.read([f"{' '.join(line.split())}\n" for line in text.splitlines()])
    (execution,) = parsed.measured
    assert parsed.examples == ()
    assert (execution.settings["tls"], execution.response["p50_ms"]) == ("TLSv1.3", 8)
