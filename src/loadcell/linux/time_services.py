"""Services that set the wall clock of a host, and the time servers that each is configured with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

#: Names of processes (15 characters at most) -> service.
_SERVICES: Final = {
    "chronyd": "chronyd", "ntpd": "ntpd", "systemd-timesyn": "systemd-timesyncd", "openntpd": "openntpd",
    "ptp4l": "ptp4l", "phc2sys": "ptp4l", "timemaster": "ptp4l", "ntimed-client": "ntimed",
}  # fmt: skip
#: Programs of hypervisors that may set the clock of their guest.
_GUEST_TOOLS: Final = {"vmtoolsd": "vmtoolsd", "VBoxService": "VBoxService", "qemu-ga": "qemu-ga",
                       "prltoolsd": "prltoolsd"}  # fmt: skip
_CRON: Final = (
    "etc/crontab", "etc/cron.d/*", "etc/cron.hourly/*", "etc/cron.daily/*", "var/spool/cron/*",
    "var/spool/cron/crontabs/*",
)  # fmt: skip
_SETS_CLOCK: Final = re.compile(
    r"\b(ntpdate|rdate|sntp\s+-\S*[sS]|ntpd\s+-\S*q|chronyd\s+-\S*q|date\s+(?:-s|--set)|hwclock\s+(?:-s|--hctosys))\b"
)
_MOST_FILES: Final = 100
_MOST_DEPTH: Final = 3


def running(root: Path = procfs.ROOT) -> tuple[list[str], list[str]]:
    """Services that run, entries of cron among them, and guest tools."""
    names = {stat.name for stat in procfs.all_stats(root)}
    services = sorted({_SERVICES[name] for name in names if name in _SERVICES})
    tools = sorted({_GUEST_TOOLS[name] for name in names if name in _GUEST_TOOLS})
    return [*services, *cron_entries(root)], tools


def cron_entries(root: Path) -> list[str]:
    """Commands of cron that set the clock, by program and file."""
    entries: dict[str, None] = {}
    for path in _files(root, _CRON):
        for row in procfs.text(path).splitlines():
            match = None if row.lstrip().startswith("#") else _SETS_CLOCK.search(row)
            if match:
                entries[f"cron: {' '.join(match[1].split())} (/{path.relative_to(root)})"] = None
    return list(entries)


def servers(service: str, root: Path = procfs.ROOT) -> list[str]:
    """Configured servers of a service, each once; of a pool its name."""
    if service == "chronyd":
        names = _chrony(root, ("etc/chrony.conf", "etc/chrony/chrony.conf"), 0)
    elif service == "ntpd":
        names = _directives(
            _rows(root, ("etc/ntp.conf", "etc/ntpsec/ntp.conf", "etc/ntpd.conf", "etc/openntpd/ntpd.conf"))
        )
    elif service == "openntpd":
        names = _directives(_rows(root, ("etc/ntpd.conf", "etc/openntpd/ntpd.conf")))
    elif service == "systemd-timesyncd":
        names = iter(_timesyncd(root))
    else:
        return []
    return list(dict.fromkeys(name for name in names if not name.startswith("127.127.")))


def _rows(root: Path, patterns: Iterable[str]) -> Iterator[str]:
    for path in _files(root, patterns):
        yield from procfs.text(path).splitlines()


def _files(root: Path, patterns: Iterable[str]) -> list[Path]:
    paths = (path for pattern in patterns for path in sorted(root.glob(pattern.lstrip("/"))))
    return [
        path for path, _ in zip((path for path in paths if path.is_file()), range(_MOST_FILES), strict=False)
    ]


def _directives(rows: Iterable[str]) -> Iterator[str]:
    """Servers of lines `server NAME ...`, `pool NAME ...`."""
    for row in rows:
        words = row.split()
        if len(words) > 1 and words[0].lower() in ("server", "servers", "pool", "peer"):
            yield words[1]


def _chrony(root: Path, patterns: Iterable[str], depth: int) -> Iterator[str]:
    rows = list(_rows(root, patterns))
    yield from _directives(rows)
    if depth == _MOST_DEPTH:
        return
    for row in rows:
        words = row.split()
        if len(words) < 2:
            continue
        match words[0].lower():
            case "include":
                yield from _chrony(root, words[1:2], depth + 1)
            case "confdir":
                yield from _chrony(root, [f"{path}/*.conf" for path in words[1:]], depth + 1)
            case "sourcedir":
                yield from _chrony(root, [f"{path}/*.sources" for path in words[1:]], depth + 1)


def _timesyncd(root: Path) -> list[str]:
    """Servers of `NTP=`, to which further lines add and an empty one removes; without any the fallback."""
    chosen: dict[str, list[str]] = {"NTP": [], "FallbackNTP": []}
    homes = ("usr/lib/systemd", "run/systemd", "etc/systemd")
    files = [f"{home}/timesyncd.conf" for home in homes] + [
        f"{home}/timesyncd.conf.d/*.conf" for home in homes
    ]
    for row in _rows(root, files):
        key, equals, value = row.partition("=")
        if equals and key.strip() in chosen:
            chosen[key.strip()] = [*chosen[key.strip()], *value.split()] if value.strip() else []
    return chosen["NTP"] or chosen["FallbackNTP"]
