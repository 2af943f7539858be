"""Metrics of any service with a page for Prometheus: rates of counters, values of gauges, rates and means of
histograms and summaries.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from loadcell.model import trial_record
from loadcell.model.message import Count, MessageCode
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.prometheus.page import MOST_CACHED, MOST_SAMPLES, NotAPageError, PageReader, Sampled
from loadcell.monitors.prometheus.scrape import Auth, Endpoint, ScrapeError, check_url
from loadcell.monitors.series import (
    Choice,
    Measure,
    Reading,
    Series,
    SeriesMonitor,
    SeriesOptions,
    series_table,
)
from loadcell.plan.parts import PORT, Misfit, TargetPart
from loadcell.plan.problems import SettingError
from loadcell.plan.tls import TlsOptions
from loadcell.plan.units import Size

SCRAPE_PAGE_LIMIT = MessageCode("scrape.page-limit", least=str, most=str)
SCRAPE_NO_PORT = MessageCode("scrape.no-port", port=str, target=str)
SCRAPE_NO_PAGE = MessageCode("scrape.no-page", "caution", url=str, line=str)
SCRAPE_CROWDED = MessageCode("scrape.crowded", "caution", url=str, most=Count)
SCRAPE_EMPTY = MessageCode("scrape.empty", "caution", url=str)
SCRAPE_NO_NUMBERS = MessageCode("scrape.no-numbers", "caution", url=str, name=str)
SCRAPE_DUPLICATE = MessageCode("scrape.duplicate", "caution", url=str, name=str)
SCRAPE_RESET = MessageCode("scrape.reset", "info", url=str, name=str)

SMALLEST_PAGE, LARGEST_PAGE = 1 << 10, 64 << 20
#: Characters of a line that a remark shows.
_LINE_SHOWN: Final = 60
#: Characters of a series with its labels, the same.
_SERIES_SHOWN: Final = 200
#: Parts of histograms that are not recorded: a mean and rates take three series, buckets take dozens.
_PARTS_SKIPPED: Final = frozenset({"bucket", "created"})


class PrometheusOptions(SeriesOptions):
    """A page of metrics, and the series of it that matter."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="prometheus")

    url: str = Field(
        description="The page, without a login; without a path `/metrics`. `{port}` is the port of a service "
        "that loadcell starts.",
        examples=["http://127.0.0.1:9090/metrics", "http://127.0.0.1:{port}/metrics"],
    )
    auth: Auth | None = Field(
        default=None,
        description="Credentials: `{basic: {user: ..., password: '${env:NAME}'}}` or "
        "`{bearer: '${env:NAME}'}`.",
    )
    tls: TlsOptions = Field(default_factory=TlsOptions, description="`https` only: whom to trust.")
    page_limit: Size = Field(
        default=Size(4 << 20),
        description="Largest page that is read: 1KiB to 64MiB. No part of a larger one is.",
    )

    @field_validator("url")
    @classmethod
    def _url_is_usable(cls, url: str, info: ValidationInfo) -> str:  # noqa: ARG003
        check_url(url.replace(PORT, "1"))
        return url

    @field_validator("page_limit")
    @classmethod
    def _page_limit_is_possible(cls, limit: Size) -> Size:
        if not SMALLEST_PAGE <= limit <= LARGEST_PAGE:
            raise SettingError(
                SCRAPE_PAGE_LIMIT(least=Size(SMALLEST_PAGE).text, most=Size(LARGEST_PAGE).text)
            )
        return limit

    @model_validator(mode="after")
    def _tls_is_used(self) -> PrometheusOptions:
        self.tls.check(self.url)
        return self


@dataclass(slots=True, eq=False)
class _Tracked:
    """A series of the page: its use, and its value on the page before."""

    series: Series
    measure: Measure
    choice: Choice
    before: float = math.nan
    #: number of the page that it was on last
    page: int = -1


@dataclass(slots=True, eq=False)
class _Mean:
    """Mean of the observations between two scrapes, of one histogram or summary."""

    series: Series
    choice: Choice
    count: float = math.nan
    sum: float = math.nan


@dataclass(slots=True, eq=False)
class _PartOfMean(_Tracked):
    """Count or sum of a histogram or summary."""

    mean: _Mean | None = None
    is_count: bool = False


class Prometheus(SeriesMonitor[PrometheusOptions]):
    """Scrapes one page once an interval."""

    name = "prometheus"
    summary = "any page of metrics for Prometheus: counters as rates, gauges, means of histograms"
    Options = PrometheusOptions
    table = series_table(name)

    @classmethod
    def target_misfits(
        cls,
        options: PrometheusOptions,
        target: type[TargetPart[Any]],
        of_target: Any,
    ) -> Iterator[Misfit]:
        if PORT in options.url and PORT not in target.placeholders(of_target):
            yield Misfit("url", SCRAPE_NO_PORT(port=PORT, target=target.name))

    def __init__(
        self,
        options: PrometheusOptions,
        context: MonitorContext,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(options, context)
        self._monotonic = monotonic
        self._endpoint: Endpoint | None = None
        self._reader: PageReader[_Tracked] = PageReader(self._know)
        self._means: dict[Series, _Mean] = {}
        self._scrapes = self._pages = 0
        self._scraped_s = math.nan
        self._lost = False
        self._events: list[Row] = []

    def sample(self, elapsed_s: float) -> list[Row]:
        """A row for each recorded series; none of counters at the first scrape."""
        if self._endpoint is None:
            self._endpoint = self._made()
        self._scrapes += 1
        try:
            page = self._endpoint.scrape()
            now_s = self._monotonic()
            elapsed_s, self._scraped_s = now_s - self._scraped_s, now_s
            self._pages += 1
            rows = self.rows(self._readings(page, elapsed_s))
        except ScrapeError as error:
            self.remark(error.message)
            self._tell("lost", error.finding)
            return []
        except NotAPageError as error:
            line = self.context.redact(error.line)[:_LINE_SHOWN]
            message = SCRAPE_NO_PAGE(url=self.options.url, line=repr(line))
            self.remark(message)
            self._tell("lost", message.text)
            return []
        self._tell("back")
        return rows

    def events(self) -> list[Row]:
        events, self._events = self._events, []
        return events

    def account(self) -> trial_record.MonitorRecord:
        record = super().account()
        if self._endpoint is None:
            return record
        return replace(record, connects=self._endpoint.connects, questions=self._scrapes)

    def close(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()

    def _made(self) -> Endpoint:
        options, context = self.options, self.context
        url = context.filled(options.url)
        has_secret = context.secret(options.url) != options.url
        return Endpoint(
            url,
            options.tls,
            shown=options.url if has_secret else url,
            redact=context.redact,
            authorization=None if options.auth is None else options.auth.header(context.secret),
            limit_s=float(options.timeout),
            limit_bytes=int(options.page_limit),
        )

    def _tell(self, state: str, reason: str = "") -> None:
        """Report once that the page went away, and that it came back."""
        if (state == "lost") == self._lost:
            return
        self._lost = state == "lost"
        event: Row = {"event": "monitor", "monitor": self.context.key or self.name, "what": state}
        self._events.append({**event, **({"reason": reason} if reason else {})})

    def _know(self, sampled: Sampled) -> _Tracked | None:
        """Use of a series that is new on the page; None if there is none."""
        if sampled.part in _PARTS_SKIPPED:
            return None
        series = sampled.series
        if self.is_too_long(series):
            return None
        choice = self.selection.choose(series)
        if sampled.kind in ("histogram", "summary") and sampled.part in ("count", "sum"):
            of_mean = Series(sampled.family, series.labels)
            mean = self._means.get(of_mean)
            if mean is None:
                if len(self._means) > MOST_CACHED:
                    self._means.clear()
                mean = self._means[of_mean] = _Mean(of_mean, self.selection.choose(of_mean))
            if not choice and not mean.choice:
                return None
            return _PartOfMean(series, "rate", choice, mean=mean, is_count=sampled.part == "count")
        if not choice:
            return None
        return _Tracked(series, "rate" if sampled.kind == "counter" else "value", choice)

    def _readings(self, page: bytes, elapsed_s: float) -> Iterator[tuple[Reading, Choice]]:
        """Values, rates and means of one page."""
        number, url = self._pages, self.options.url
        updated: dict[int, _Mean] = {}
        samples = 0
        for tracked, value in self._reader.read(page):
            samples += 1
            if tracked.page == number:
                self.remark(SCRAPE_DUPLICATE(url=url, name=self._name(tracked.series)))
                continue
            if not math.isfinite(value):
                self.remark(SCRAPE_NO_NUMBERS(url=url, name=self._name(tracked.series)))
                continue
            if tracked.measure == "value":
                tracked.page = number
                yield Reading(tracked.series, "value", value), tracked.choice
                continue
            before, is_consecutive = tracked.before, tracked.page == number - 1
            tracked.before, tracked.page = value, number
            if not is_consecutive or not elapsed_s > 0:
                continue
            if value < before:
                self.remark(SCRAPE_RESET(url=url, name=self._name(tracked.series)))
                continue
            if tracked.choice:
                yield Reading(tracked.series, "rate", (value - before) / elapsed_s), tracked.choice
            if isinstance(tracked, _PartOfMean) and tracked.mean is not None and tracked.mean.choice:
                updated[id(tracked.mean)] = tracked.mean
                if tracked.is_count:
                    tracked.mean.count = value - before
                else:
                    tracked.mean.sum = value - before
        for mean in updated.values():
            count, total = mean.count, mean.sum
            mean.count = mean.sum = math.nan
            if count > 0 and math.isfinite(total):
                yield Reading(mean.series, "mean", total / count, count), mean.choice
        if self._reader.too_long:
            self.remark_too_long(self._reader.too_long)
        if self._reader.is_cut:
            self.remark(SCRAPE_CROWDED(url=url, most=MOST_SAMPLES))
        if not samples and not self._reader.cached and not self._reader.too_long:
            self.remark(SCRAPE_EMPTY(url=url))

    def _name(self, series: Series) -> str:
        """A series in messages."""
        name = f"{series.name}{{{series.labels}}}" if series.labels else series.name
        return self.context.redact(name)[:_SERIES_SHOWN]


PART = Prometheus
