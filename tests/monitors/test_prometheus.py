"""The Prometheus monitor against a real HTTP server that behaves, and one that does not."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.prometheus import Prometheus, PrometheusOptions
from metric_pages import Pages, Request, with_tls


class Clock:
    """A clock that moves by `step_s` at each look."""

    def __init__(self, step_s: float = 2.0) -> None:
        self.now_s, self.step_s = 100.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as server:
        yield server


_made: list[Prometheus] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close the monitors that a test made."""
    yield
    while _made:
        _made.pop().close()


def monitor_of(pages: Pages, context: MonitorContext | None = None, **options: Any) -> Prometheus:
    # The time limit of a test is generous where it is not what is tested: machines are busy.
    options = {"url": pages.url, "timeout": "3s", **options}
    made = PrometheusOptions.model_validate(options)
    context = context or MonitorContext(roots=list, key="prometheus")
    _made.append(Prometheus(made, context, monotonic=Clock()))
    return _made[-1]


def by_name(rows: list[Row]) -> dict[tuple[str, str, str], float]:
    return {(row["name"], row["labels"], row["measure"]): row["value"] for row in rows}


def remarks(monitor: Prometheus) -> dict[str, int]:
    return {message.code: count for message, count in monitor.remarks()}


def text_of(monitor: Prometheus) -> str:
    return " ".join(f"{message.text}: {message.advice}" for message, _ in monitor.remarks())


PAGE = """\
# TYPE jobs_total counter
jobs_total{{kind="mail"}} {jobs}
# TYPE depth gauge
depth 7
# TYPE took_seconds histogram
took_seconds_bucket{{le="1"}} {count}
took_seconds_bucket{{le="+Inf"}} {count}
took_seconds_count {count}
took_seconds_sum {sum}
# TYPE size summary
size{{quantile="0.5"}} 12
size_count 4
size_sum 40
"""


def test_counters_become_rates_and_histograms_rates_and_means(pages: Pages) -> None:
    monitor = monitor_of(pages)
    pages.page = PAGE.format(jobs=100, count=10, sum=5)
    assert by_name(monitor.sample(0)) == {
        ("depth", "", "value"): 7.0,
        ("size", 'quantile="0.5"', "value"): 12.0,
    }
    pages.page = PAGE.format(jobs=110, count=14, sum=6)
    assert by_name(monitor.sample(1)) == {
        ("jobs_total", 'kind="mail"', "rate"): 5.0,
        ("depth", "", "value"): 7.0,
        ("took_seconds_count", "", "rate"): 2.0,
        ("took_seconds_sum", "", "rate"): 0.5,
        ("took_seconds", "", "mean"): 0.25,
        ("size", 'quantile="0.5"', "value"): 12.0,
        ("size_count", "", "rate"): 0.0,
        ("size_sum", "", "rate"): 0.0,
    }
    assert remarks(monitor) == {}
    account = monitor.account()
    assert (account.connects, account.questions) == (1, 2), "the connection is kept"
    assert pages.requests[0][0] == "/metrics"


def test_a_url_without_a_path_is_that_of_metrics(pages: Pages) -> None:
    for url in ("{0}", "{0}/", "{0}/some/where?name[]=a", "{0}?name[]=a"):
        monitor_of(pages, url=url.format(f"http://127.0.0.1:{pages.port}")).sample(0)
    assert [path for path, _ in pages.requests] == [
        "/metrics", "/", "/some/where?name[]=a", "/metrics?name[]=a",
    ]  # fmt: skip


def test_series_with_long_names_or_labels_are_not_recorded(pages: Pages) -> None:
    monitor = monitor_of(pages)
    long = [f'a{{sql="{"x" * 5000}"}} 1', f'b{{sql="{"x" * 150_000}"}} 2', f"{'c' * 300} 3"]
    pages.page = "\n".join([*long, "depth 7", ""])
    for _ in range(2):
        assert by_name(monitor.sample(0)) == {("depth", "", "value"): 7.0}
    assert remarks(monitor) == {"series.too-long": 4}, "the longest at each sample"
    assert "such as a:" in text_of(monitor)


def test_messages_have_the_beginning_of_a_long_series(pages: Pages) -> None:
    monitor = monitor_of(pages)
    pages.page = f'a{{sql="{"x" * 3000}"}} NaN\n'
    monitor.sample(0)
    assert remarks(monitor) == {"scrape.no-numbers": 1}
    assert len(text_of(monitor)) < 600


def test_long_labels_are_written_once(pages: Pages) -> None:
    context = MonitorContext(
        roots=list, key="prometheus:app", redact=lambda text: text.replace("s3cr3t", "${env:S}")
    )
    monitor = monitor_of(pages, context, metrics={"last": 'last of a{id="2"}'})
    text = f'sql="{"x" * 108}s3cr3t{"y" * 3000}"'
    pages.page = "".join(f'a{{id="{number}",{text}}} {number}\n' for number in range(3))
    samples = [monitor.sample(0) for _ in range(3)]
    assert [[row["value"] for row in rows] for rows in samples] == [[0.0, 1.0, 2.0]] * 3
    labels = [row["labels"] for row in samples[0]]
    assert len({*labels}) == 3
    assert all(len(label) < 160 and "s3c" not in label for label in labels)
    assert [row["labels"] for row in samples[2]] == labels
    written = monitor.further_rows()["labels"]
    assert [row["labels"] for row in written] == labels
    assert [row["text"] for row in written] == [
        f'id="{number}",{text}'.replace("s3cr3t", "${env:S}") for number in range(3)
    ]
    assert monitor.further_rows() == {"labels": []}
    assert monitor.tables["labels"].file == "prometheus-app-labels.csv"
    assert monitor.metrics() == {"last": 2.0}, "selectors see the whole labels"


def test_series_are_chosen_by_name_pattern_and_label(pages: Pages) -> None:
    pages.page = 'a{x="1"} 1\na{x="2"} 2\nb 3\ngo_b 4\n'
    for series, expected in (
        ([], {1, 2, 3, 4}),
        (["a"], {1, 2}),
        (['a{x="2"}'], {2}),
        (["*b"], {3, 4}),
        (["!go_*"], {1, 2, 3}),
        (["*", "!a"], {3, 4}),
        (['{x="*"}', '!{x="1"}'], {2, 3, 4}),
    ):
        values = {row["value"] for row in monitor_of(pages, series=tuple(series)).sample(0)}
        assert values == expected, series


def test_series_beyond_the_limit_are_named(pages: Pages) -> None:
    pages.page = "".join(f'many{{i="{index}"}} 1\n' for index in range(30)) + "last 2\n"
    monitor = monitor_of(pages, limit=10)
    assert len(monitor.sample(0)) == 10
    assert len(monitor.sample(1)) == 10
    assert remarks(monitor) == {"series.left-out": 1}
    assert "21 series beyond the limit of 10 were not recorded: many, last" in text_of(monitor)


def test_metrics_are_of_the_measured_window_alone(pages: Pages) -> None:
    measuring = threading.Event()
    context = MonitorContext(roots=list, measuring=measuring.is_set)
    monitor = monitor_of(
        pages,
        context,
        series=("nothing_of_this",),
        metrics={
            "deepest": "max of depth , lower is better",
            "jobs": "mean of jobs_total",
            "took": "mean of took_seconds",
        },
    )
    for depth, jobs, count, total in ((99, 0, 0, 0), (5, 10, 2, 1), (8, 30, 10, 3), (1, 40, 10, 3)):
        page = PAGE.format(jobs=jobs, count=count, sum=total).replace("depth 7", f"depth {depth}")
        pages.page = page + f'jobs_total{{kind="chat"}} {jobs}\n'
        assert monitor.sample(1) == []
        measuring.set()
    # jobs of both kinds: 2 * (10 + 20 + 10) in 3 times 2 s; observations: 3 in 10
    assert monitor.metric_facts()["deepest"].better == "lower"
    assert monitor.metric_facts()["jobs"].better == "neither"
    assert monitor.metrics() == {"deepest": 8.0, "jobs": pytest.approx(80 / 6), "took": pytest.approx(0.3)}


def test_a_metric_without_samples_is_named(pages: Pages) -> None:
    pages.page = "a 1\n"
    monitor = monitor_of(pages, metrics={"queue": "max of quueue_depth"})
    monitor.sample(0)
    assert monitor.metrics() == {}
    assert remarks(monitor) == {"series.unmatched": 1}


def test_a_counter_that_is_reset_has_no_rate_there(pages: Pages) -> None:
    monitor = monitor_of(pages)
    rates = []
    for value in (100, 110, 3, 5):
        pages.page = f"# TYPE n counter\nn {value}\n"
        rates.append([row["value"] for row in monitor.sample(1)])
    assert rates == [[], [5.0], [], [1.0]]
    assert remarks(monitor) == {"scrape.reset": 1}


def test_nan_and_infinite_values_are_left_out_and_reported(pages: Pages) -> None:
    pages.page = "# TYPE n counter\na NaN\nb +Inf\nc 1\nn NaN\n"
    monitor = monitor_of(pages)
    assert [row["name"] for row in monitor.sample(0)] == ["c"]
    assert remarks(monitor) == {"scrape.no-numbers": 3}


def test_of_duplicate_series_the_first_counts(pages: Pages) -> None:
    pages.page = 'a{x="1",y="2"} 1\na{x="1",y="2"} 5\n'
    monitor = monitor_of(pages)
    assert [row["value"] for row in monitor.sample(0)] == [1.0]
    assert remarks(monitor) == {"scrape.duplicate": 1}


def test_series_that_come_and_go(pages: Pages) -> None:
    monitor = monitor_of(pages)
    counts = []
    for page in ("# TYPE n counter\nn 1\n", "a 1\n", "# TYPE n counter\nn 9\nb 2\n", "n 11\nb 2\n"):
        pages.page = page
        counts.append({row["name"]: row["value"] for row in monitor.sample(1)})
    assert counts == [{}, {"a": 1.0}, {"b": 2.0}, {"n": 1.0, "b": 2.0}], "no rate over a gap"


def test_a_page_of_50_mb_is_not_read(pages: Pages) -> None:
    line = b'padding_total{label="' + b"x" * 70 + b'"} 12345\n'
    sent = []

    def answer(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(50_000_000 // len(line) * len(line)))
        request.end_headers()
        for _ in range(50_000_000 // len(line) // 500):
            request.wfile.write(line * 500)
            sent.append(500 * len(line))

    pages.answer = answer
    monitor = monitor_of(pages)
    assert monitor.sample(0) == []
    assert remarks(monitor) == {"scrape.too-large": 1}
    assert "larger than 4" in text_of(monitor)
    assert "page_limit" in text_of(monitor)
    assert sum(sent) < 25_000_000, "the rest was not even received"


def test_a_page_that_drips_is_abandoned_in_time(pages: Pages) -> None:
    done = threading.Event()

    def answer(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000000")
        request.end_headers()
        while not done.wait(0.01):
            request.wfile.write(b"a")

    pages.answer = answer
    monitor = monitor_of(pages, timeout="200ms")
    before_s = time.monotonic()
    assert monitor.sample(0) == []
    done.set()
    assert time.monotonic() - before_s < 30, "it would take hours"
    assert remarks(monitor) == {"scrape.timeout": 1}


def test_a_header_that_drips_is_abandoned_in_time(pages: Pages) -> None:
    done = threading.Event()

    def answer(request: Request) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not done.wait(0.01):
            request.wfile.write(b"a")

    pages.answer = answer
    monitor = monitor_of(pages, timeout="200ms")
    assert monitor.sample(0) == []
    done.set()
    assert remarks(monitor) == {"scrape.timeout": 1}


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        ({"basic": {"user": "me", "password": "${env:PASS}"}}, "Basic bWU6c2VjcmV0"),
        ({"bearer": "${env:PASS}"}, "Bearer secret"),
    ],
)
def test_credentials_are_sent_and_never_shown(pages: Pages, auth: dict[str, Any], header: str) -> None:
    def answer(request: Request) -> None:
        if request.headers.get("Authorization") == header:
            request.reply(b"a 1\n")
        else:
            request.reply(b"no", 401)

    pages.answer = answer
    for password, codes in (("secret", {}), ("wrong-secret", {"scrape.login": 1})):
        context = MonitorContext(
            roots=list, secret=lambda text, value=password: text.replace("${env:PASS}", value)
        )
        monitor = monitor_of(pages, context, auth=auth)
        monitor.sample(0)
        assert remarks(monitor) == codes
        assert "secret" not in text_of(monitor)


def test_without_credentials_the_remark_names_them(pages: Pages) -> None:
    pages.answer = lambda request: request.reply(b"no", 401)
    monitor = monitor_of(pages)
    monitor.sample(0)
    assert remarks(monitor) == {"scrape.login": 1}
    assert "401 Unauthorized" in text_of(monitor)
    assert "check `auth`" in text_of(monitor)


def test_redirects_are_not_followed(pages: Pages) -> None:
    with Pages("b 1\n") as other:
        pages.answer = lambda request: request.reply(b"", 302, Location=other.url)
        monitor = monitor_of(pages)
        assert monitor.sample(0) == []
        assert remarks(monitor) == {"scrape.redirect": 1}
        assert other.url in text_of(monitor)
        assert other.requests == []


def test_secrets_leave_texts_before_these_are_cut(pages: Pages) -> None:
    secret = "s3cr3t-" + "x" * 60
    context = MonitorContext(roots=list, redact=lambda text: text.replace(secret, "${env:SECRET}"))
    for before in (30, 50, 59, 170, 199):
        location = f"http://127.0.0.1:1/{'a' * before}{secret}"
        pages.answer = lambda request, location=location: request.reply(b"", 302, Location=location)
        redirected = monitor_of(pages, context)
        redirected.sample(0)
        line = "<" + "a" * before + secret
        pages.answer = lambda request, line=line: request.reply(line.encode())
        no_page = monitor_of(pages, context)
        no_page.sample(0)
        texts = text_of(redirected) + text_of(no_page)
        assert remarks(redirected) | remarks(no_page) == {"scrape.redirect": 1, "scrape.no-page": 1}
        assert "s3cr3t"[:3] not in texts


def test_a_page_of_too_many_series_is_remarked(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.monitors.prometheus.page.MOST_SAMPLES", 2)
    pages.answer = lambda request: request.reply(b"a 1\nb 2\nc 3\n")
    monitor = monitor_of(pages)
    assert [row["name"] for row in monitor.sample(0)] == ["a", "b"]
    assert remarks(monitor) == {"scrape.crowded": 1}


def test_proxies_of_the_environment_are_not_used(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.page = "a 1\n"
    with Pages() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert len(monitor_of(pages).sample(0)) == 1
        assert proxy.requests == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda request: request.reply(b"<html>\n<h1>Hello</h1>\n</html>"), "scrape.no-page"),
        (lambda request: request.reply(b'{"up": true}'), "scrape.no-page"),
        (lambda request: request.reply(b""), "scrape.empty"),
        (lambda request: request.reply(b"# only a comment\n"), "scrape.empty"),
        (lambda request: request.reply(b"no", 404), "scrape.status"),
        (lambda request: request.reply(b"no", 500), "scrape.status"),
        (lambda request: request.reply(b"\x1f\x8b", Content_Encoding="gzip"), "scrape.encoding"),
        (lambda request: request.wfile.write(b"+PONG\r\n\r\n"), "scrape.broken"),
        (lambda request: request.connection.shutdown(socket.SHUT_RDWR), "scrape.unreachable"),
    ],
)
def test_answers_that_are_no_page(pages: Pages, answer: Any, code: str) -> None:
    pages.answer = answer
    monitor = monitor_of(pages)
    assert monitor.sample(0) == []
    assert remarks(monitor) == {code: 1}


def test_a_response_that_breaks_off(pages: Pages) -> None:
    def answer(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"a 1\n")
        request.close_connection = True

    pages.answer = answer
    monitor = monitor_of(pages)
    assert monitor.sample(0) == []
    assert remarks(monitor) == {"scrape.broken": 1}


def test_a_server_that_goes_and_comes_back(pages: Pages) -> None:
    # A listener that is gone must refuse: its port is taken by no other test's server meanwhile.
    first = Pages("# TYPE n counter\nn 1\n")
    port = first.port
    monitor = monitor_of(first)
    first.answer = lambda request: request.reply(first.page.encode(), Connection="close")
    monitor.sample(0)
    first.shutdown()
    first.server_close()
    assert [monitor.sample(1), monitor.sample(1)] == [[], []]
    with Pages("# TYPE n counter\nn 5\n", port) as second:
        assert [row["value"] for row in monitor.sample(1)] == [pytest.approx(2.0)]
        assert second.requests
    assert remarks(monitor) == {"scrape.unreachable": 2}
    assert [event["what"] for event in monitor.events()] == ["lost", "back"]


def test_a_connection_that_was_closed_while_idle_is_made_again(pages: Pages) -> None:
    pages.page = "a 1\n"
    monitor = monitor_of(pages)
    monitor.sample(0)
    pages.answer = lambda request: request.reply(b"a 2\n")
    monitor._endpoint._socket.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
    assert [row["value"] for row in monitor.sample(1)] == [2.0]
    assert remarks(monitor) == {}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("tls")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=metrics.test",
         "-addext", "subjectAltName=DNS:metrics.test"],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_tls_is_verified_as_the_options_say(certificate: tuple[Path, Path]) -> None:
    with with_tls(Pages("a 1\n"), *certificate) as pages:
        for tls, codes in (
            ({}, {"scrape.tls": 1}),
            ({"ca": str(certificate[0])}, {"scrape.tls": 1}),
            ({"ca": str(certificate[0]), "name": "metrics.test"}, {}),
            ({"verify": False}, {}),
        ):
            monitor = monitor_of(pages, tls=tls)
            assert len(monitor.sample(0)) == (0 if codes else 1), tls
            assert remarks(monitor) == codes, tls
            monitor.close()
