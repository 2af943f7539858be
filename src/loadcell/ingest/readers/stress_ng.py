"""stress-ng's `--metrics` and `--metrics-brief`, or its `--yaml`: bogus operations a second by stressor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from loadcell.ingest.base import Measured, NotItsOutputError, PrintedTotal, Reading, Unread
from loadcell.ingest.checks import counted_rate
from loadcell.ingest.printed_numbers import integer, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_STRESS_NG = MessageCode("output.stress-ng")

NAME = "stress-ng"

_ROW = re.compile(
    r"stress-ng: (?:[\d:.]+ )?(?:metrc|metric|info): +\[\d+\] (?P<name>[\w-]+) +(?P<ops>\d+) "
    r"+(?P<real>[\d.]+) +(?P<user>[\d.]+) +(?P<system>[\d.]+) +"
    r"(?P<rate>[\d.]+) +(?P<cpu>[\d.]+)"
)
_HOGS = re.compile(r"stress-ng: (?:[\d:.]+ )?info: +\[\d+\] dispatching hogs: (?P<hogs>.+)")
_HOG = re.compile(r"(\d+) ([\w-]+)")
_IGNORED_LINES = re.compile(r"stress-ng: (?:[\d:.]+ )?(info|metrc|metric):")
#: Rates are of exact seconds, which are printed with two digits.
_TIME_ROUNDING_S = 0.005
#: `--yaml`: a list of stressors, each with its values below it.
_STRESSOR = re.compile(r"\s+- stressor: (?P<name>[\w-]+)\s*$")
_VALUE = re.compile(r"\s+(?P<key>[a-z-]+): (?P<value>-?[\d.]+)\s*$")
_YAML_RATE = "bogo-ops-per-second-real-time"
_YAML_FIGURES = {
    "bogo-ops-per-second-usr-sys-time": "per_cpu_s",
    "user-time": "user_s",
    "system-time": "system_s",
}


def read(lines: Iterable[str]) -> Reading:
    """A part for each stressor, by real time."""
    measured: list[Measured] = []
    hogs: dict[str, int] = {}
    unread = Unread()
    listed: list[_Listed] = []
    for line in lines:
        if (match := _HOGS.match(line)) is not None:
            hogs = {name: integer(count) for count, name in _HOG.findall(match["hogs"])}
        elif (match := _ROW.match(line)) is not None:
            figures = {
                "per_cpu_s": real(match["cpu"]),
                "user_s": real(match["user"]),
                "system_s": real(match["system"]),
            }
            name = match["name"]
            made, took_s = integer(match["ops"]), real(match["real"])
            rate = real(match["rate"])
            measured.append(
                Measured(
                    name,
                    "operation",
                    rate,
                    made,
                    None,
                    took_s,
                    hogs.get(name),
                    {},
                    figures,
                    printed=_printed(made, took_s),
                )
            )
        elif (match := _STRESSOR.match(line)) is not None:
            listed.append(_Listed(match["name"], {}))
        elif listed and (match := _VALUE.match(line)) is not None:
            listed[-1].values.setdefault(match["key"], real(match["value"]))
        elif _IGNORED_LINES.match(line) is None:
            unread.add(line)
    measured += [stressor.measured() for stressor in listed if _YAML_RATE in stressor.values]
    if not measured:
        raise NotItsOutputError(OUTPUT_STRESS_NG())
    return unread.reading(measured)


@dataclass(frozen=True)
class _Listed:
    """A stressor of the YAML document, with the first of each of its values."""

    name: str
    values: dict[str, float]

    def measured(self) -> Measured:
        values = self.values
        figures = {key: values[name] for name, key in _YAML_FIGURES.items() if name in values}
        made, took_s = round(values.get("bogo-ops", 0)), values.get("wall-clock-time")
        return Measured(
            self.name, "operation", values[_YAML_RATE], made, None, took_s, None, {}, figures,
            printed=_printed(made, took_s),
        )  # fmt: skip


def _printed(made: int, took_s: float | None) -> tuple[PrintedTotal, ...]:
    """The rate that count and time give, but for shorter times than a second."""
    short = took_s is None or took_s < 1
    return () if short else counted_rate("bogo ops/real time", made, took_s, _TIME_ROUNDING_S)


READER = Reader(NAME, by_line(read), line_starts=(b"stress-ng: ",), anywhere=(_YAML_RATE.encode(),))
