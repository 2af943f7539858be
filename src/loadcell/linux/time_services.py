"""Services that set the wall clock of a host, and the time servers that each is configured with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from loadcell.linux import cron_commands, procfs, sntp

#: Names of processes (15 characters at most) -> service.
_SERVICES: Final = {
    "chronyd": "chronyd", "ntpd": "ntpd", "systemd-timesyn": "systemd-timesyncd", "openntpd": "openntpd",
    "ptp4l": "ptp4l", "phc2sys": "ptp4l", "timemaster": "timemaster", "ntimed-client": "ntimed",
}  # fmt: skip
_MASTER: Final = "timemaster"
#: Programs of hypervisors that may set the clock of their guest.
_GUEST_TOOLS: Final = {"vmtoolsd": "vmtoolsd", "VBoxService": "VBoxService", "qemu-ga": "qemu-ga",
                       "prltoolsd": "prltoolsd"}  # fmt: skip
_CRON: Final = (
    "etc/crontab", "etc/cron.d/*", "etc/cron.hourly/*", "etc/cron.daily/*", "var/spool/cron/*",
    "var/spool/cron/crontabs/*",
)  # fmt: skip
_MOST_FILES: Final = 100
_MOST_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Name or address of a configured server, and its port if that is not the usual one."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        return self.name if self.port is None else f"{self.name} port {self.port}"


def running(root: Path = procfs.ROOT) -> tuple[list[str], list[str]]:
    """Services that run, entries of cron among them, and guest tools.

    What timemaster starts is part of it: it makes ptp4l and chronyd or ntpd set one clock together.
    """
    stats = list(procfs.all_stats(root))
    masters = {stat.pid for stat in stats if stat.name == _MASTER}
    names = {stat.name for stat in stats if stat.parent not in masters}
    services = sorted({_SERVICES[name] for name in names if name in _SERVICES})
    tools = sorted({_GUEST_TOOLS[name] for name in names if name in _GUEST_TOOLS})
    return [*services, *cron_entries(root)], tools


def cron_entries(root: Path) -> list[str]:
    """Commands of cron that set the clock, by program and file."""
    entries: dict[str, None] = {}
    for path in _files(root, _CRON):
        name = f"/{path.relative_to(root)}"
        for row in procfs.text(path).splitlines():
            for command in cron_commands.setting_clock(row, name):
                entries[f"cron: {command} ({name})"] = None
    return list(entries)


def servers(service: str, root: Path = procfs.ROOT) -> list[ServerAddress]:
    """Configured servers of a service, each once; of a pool its name."""
    if service == "chronyd":
        addresses = _chrony(root, ("etc/chrony.conf", "etc/chrony/chrony.conf"), 0)
    elif service == "ntpd":
        addresses = _directives(
            _rows(root, ("etc/ntp.conf", "etc/ntpsec/ntp.conf", "etc/ntpd.conf", "etc/openntpd/ntpd.conf"))
        )
    elif service == "openntpd":
        addresses = _directives(_rows(root, ("etc/ntpd.conf", "etc/openntpd/ntpd.conf")))
    elif service == "systemd-timesyncd":
        addresses = (ServerAddress(name) for name in _timesyncd(root))
    elif service == _MASTER:
        files = ("run/timemaster/chrony.conf", "run/timemaster/ntp.conf")
        addresses = _chrony(root, files, 0)
    else:
        return []
    return list(dict.fromkeys(item for item in addresses if not item.name.startswith("127.127.")))


def _rows(root: Path, patterns: Iterable[str]) -> Iterator[str]:
    for path in _files(root, patterns):
        yield from procfs.text(path).splitlines()


def _files(root: Path, patterns: Iterable[str]) -> list[Path]:
    paths = (path for pattern in patterns for path in sorted(root.glob(pattern.lstrip("/"))))
    return [
        path for path, _ in zip((path for path in paths if path.is_file()), range(_MOST_FILES), strict=False)
    ]


def _directives(rows: Iterable[str]) -> Iterator[ServerAddress]:
    """Servers of lines `server [-4] NAME ... [port NUMBER]`, `pool NAME ...`."""
    for row in rows:
        directive, *words = row.split() or [""]
        if directive.lower() not in ("server", "servers", "pool", "peer"):
            continue
        names = [word for word in words if not word.startswith("-")]
        if names and not names[0].startswith("#"):
            yield ServerAddress(names[0], _port(names[1:]))


def _port(options: list[str]) -> int | None:
    """Port of the options of a server, None for the usual one."""
    for key, value in pairwise(options):
        if key.lower() == "port" and value.isascii() and value.isdigit():
            number = int(value)
            return number if 0 < number < 1 << 16 and number != sntp.PORT else None
    return None


def _chrony(root: Path, patterns: Iterable[str], depth: int) -> Iterator[ServerAddress]:
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
