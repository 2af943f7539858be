"""Pages of metrics, compared with the parser of the package prometheus_client."""

from __future__ import annotations

import math
import random
import resource
import time

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from loadcell.monitors.prometheus.page import NotAPageError, PageReader, Sampled
from loadcell.monitors.series import Selector, Series
from monitors import hostile

TEXTS = ["a", "with space", 'quo"te', "back\\slash", "new\nline", "a,b={c}", "中文", ""]


def values_of(page: bytes) -> dict[tuple[str, str], float]:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    return {(item.series.name, item.series.labels): value for item, value in reader.read(page)}


def _written(labels: dict[str, str]) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

    return ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(labels.items()))


def made_up(seed: int) -> CollectorRegistry:
    """A registry with all kinds of metrics, odd labels and odd values."""
    chance = random.Random(seed)
    registry = CollectorRegistry()
    counter = Counter("requests", "Some help, with {braces}", ["code", "path"], registry=registry)
    gauge = Gauge("depth", "Depth # 3", ["queue"], registry=registry)
    histogram = Histogram("latency_seconds", "Latency", ["op"], registry=registry)
    summary = Summary("size_bytes", "Size", registry=registry)
    for _ in range(20):
        counter.labels(str(chance.randint(200, 599)), chance.choice(TEXTS)).inc(chance.random() * 1e9)
        gauge.labels(chance.choice(TEXTS)).set(chance.choice([-1.5, 0, 1e-9, 1e300, math.inf, -math.inf]))
        histogram.labels(chance.choice(TEXTS)).observe(chance.expovariate(1))
        summary.observe(chance.random())
    Gauge("nothing", "NaN", registry=registry).set(math.nan)
    return registry


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_prometheus_client(seed: int) -> None:
    registry = made_up(seed)
    for page, read in (
        (generate_latest(registry), read_text),
        (generate_openmetrics(registry), read_openmetrics),
    ):
        expected = {
            (sample.name, _written(sample.labels)): sample.value
            for family in read(page.decode())
            for sample in family.samples
        }
        values = values_of(page)
        assert values.keys() == expected.keys()
        assert all(
            values[key] == value or (math.isnan(value) and math.isnan(values[key]))
            for key, value in expected.items()
        )


def test_kinds_come_from_the_type_lines_of_both_formats() -> None:
    registry = made_up(1)
    for page in (generate_latest(registry), generate_openmetrics(registry)):
        reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
        kinds = {(item.series.name, item.kind, item.part) for item, _ in reader.read(page)}
        assert {
            ("requests_total", "counter", "total" if b"# EOF" in page else ""),
            ("depth", "gauge", ""),
            ("latency_seconds_count", "histogram", "count"),
            ("latency_seconds_sum", "histogram", "sum"),
            ("latency_seconds_bucket", "histogram", "bucket"),
            ("size_bytes_sum", "summary", "sum"),
        } <= kinds


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a 3", 3.0),
        ("a 3 1700000000000", 3.0),
        ("a{} 3", 3.0),
        ("a   3", 3.0),
        ("a\t3", 3.0),
        ("a 3\r", 3.0),
        ('a{le="1"} 3 # {trace_id="x y"} 0.5 1700000000.1', 3.0),
        ('a{x="} 7",} 3', 3.0),
        ("a +Inf", math.inf),
        ("a 1e3", 1000.0),
    ],
)
def test_lines_are_read_the_first_time_and_the_second(line: str, value: float) -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    page = f"# HELP a text\n{line}\n".encode()
    for _ in range(2):
        assert [number for _, number in reader.read(page)] == [value]
    assert reader.unread == 0


@pytest.mark.parametrize(
    "page",
    [
        "<html>\n<body>not found</body>\n</html>\n",
        '{"status": "up"}',
        "hello world\nsecond line",
        "\x00\xff\n",
    ],
)
def test_other_texts_are_refused_with_their_first_line(page: str) -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    with pytest.raises(NotAPageError) as refused:
        list(reader.read(page.encode("latin-1")))
    assert refused.value.line == page.split("\n")[0].encode("latin-1").decode("utf-8", "replace")


def test_single_bad_lines_do_not_hide_the_others() -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    page = b"good 1\nbad\nworse {\nalso_good 2\nthird 3\n"
    assert [number for _, number in reader.read(page)] == [1.0, 2.0, 3.0]
    assert reader.unread == 2


@pytest.mark.parametrize(
    "line", ["a{" + "x" * 2_000_000, 'a{b="' + "x" * 2_000_000, 'a{b="' + "\\" * 2_000_000]
)
def test_a_line_without_end_takes_no_time(line: str) -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    before_s, before_bytes = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    assert [number for _, number in reader.read(f"good 1\n{line}\nfine 2\n".encode())] == [1.0, 2.0]
    assert time.process_time() - before_s < 5
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before_bytes < 50_000_000


@pytest.mark.parametrize("kind", hostile.LINES)
def test_time_grows_with_the_length_of_a_line(kind: str) -> None:
    def read(line: str) -> None:
        list(PageReader(lambda sampled: sampled).read(line.encode()))

    hostile.assert_linear(read, hostile.LINES[kind])


@pytest.mark.parametrize("labels", [" ", "a", 'a="', '"', "a,", "\\"])
def test_time_of_a_choice_grows_with_the_length_of_labels(labels: str) -> None:
    selector = Selector.parse('x{a="b*"}')
    hostile.assert_linear(
        lambda text: selector.matches(Series("x", text)), lambda length: labels * (length // len(labels))
    )


def test_a_line_that_is_too_long_is_named_and_not_read() -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    page = b'a 1\nstatement{sql="' + b"x" * 100_000 + b'"} 2\n# HELP b ' + b"y" * 100_000 + b"\nb 3\n"
    assert [number for _, number in reader.read(page)] == [1.0, 3.0]
    assert (reader.too_long, reader.unread) == ("statement", 0)
    list(reader.read(b"a 1\n"))
    assert reader.too_long == ""
    with pytest.raises(NotAPageError):
        list(reader.read(b'["' + b"x" * 100_000 + b'"]'))


def test_labels_that_are_none_make_a_bad_line() -> None:
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    assert [number for _, number in reader.read(b"a 1\nx{aaaa} 2\nb 3\n")] == [1.0, 3.0]
    assert reader.unread == 1


def test_of_a_page_with_too_many_series_the_first_are_read_and_stay_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("loadcell.monitors.prometheus.page.MOST_SAMPLES", 50)
    monkeypatch.setattr("loadcell.monitors.prometheus.page.MOST_CACHED", 100)
    classified: list[Sampled] = []
    reader: PageReader[int] = PageReader(lambda sampled: classified.append(sampled) or len(classified))
    page = "".join(f'a{{id="{index}"}} 1\n' for index in range(80)).encode()
    for _ in range(5):
        assert [item for item, _ in reader.read(page)] == list(range(1, 51))
        assert reader.is_cut
    assert len(classified) == 51, "each once, and the first that is not read"
    assert len(list(reader.read(page[:300]))) < 50
    assert not reader.is_cut


def test_memory_has_a_bound_when_labels_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.monitors.prometheus.page._MOST_CACHED_BYTES", 100_000)
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    for number in range(50):
        assert len(list(reader.read(b'a{id="%d-%s"} 1' % (number, b"x" * 20_000)))) == 1
        assert sum(map(len, reader.cached)) <= 125_000


def test_memory_has_a_bound_when_series_always_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.monitors.prometheus.page.MOST_CACHED", 100)
    reader: PageReader[Sampled] = PageReader(lambda sampled: sampled)
    for number in range(50):
        types = "".join(f"# TYPE t{number}_{index} gauge\n" for index in range(10))
        page = (types + "".join(f'a{{id="{number}-{index}"}} 1\n' for index in range(10))).encode()
        assert len(list(reader.read(page))) == 10
        assert len(reader.cached) <= 110
        assert len(reader.kinds) <= 110
