"""Parts of GlusterFS that faults act on: bricks, hosts, and management daemons.

`storage.brick` and `storage.brick-1` are the first brick, `storage.bricks` are all; so for hosts.
`storage.volume` are all bricks, and the subject of commands that change bricks.
`storage.management` are the management daemons (glusterd) of all hosts, `storage.management-2` is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from loadcell.systems.gluster.changes import Changes
from loadcell.systems.gluster.hosts import CLIENT, address
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.volume import Volume
from loadcell.systems.shared.storage import SUBJECT_PREFIX
from loadcell.systems.subjects import CLIENT_NAME, Subject, SubjectAbilities, VolumeShape

#: The subject of commands that change bricks.
VOLUME = SUBJECT_PREFIX + "volume"
_NUMBERED = re.compile(r"(brick|host|management)(?:-(\d+)|(s?))")


def abilities(options: GlusterOptions) -> Mapping[str, SubjectAbilities]:
    """The subjects of a volume with these options."""
    names = ["brick", "bricks", "host", "hosts", "management"]
    names += [f"brick-{number}" for number in range(1, options.brick_count + 1)]
    for part in ("host", "management"):
        names += [f"{part}-{number}" for number in range(1, options.hosts + 1)]
    subjects = {
        SUBJECT_PREFIX + name: SubjectAbilities(
            startable=True, interfaces=name.startswith("host"), parts=_parts(options, name)
        )
        for name in names
    }
    shape = VolumeShape(options.brick_count, options.replica, options.hosts)
    volume = SubjectAbilities(startable=True, volume=shape, parts=_parts(options, "bricks"))
    return {**subjects, VOLUME: volume}


def _parts(options: GlusterOptions, name: str) -> frozenset[str]:
    """The bricks, management daemons and hosts of a subject; a host has those that run on it."""
    match = _NUMBERED.fullmatch(name)
    assert match is not None
    part, count = match[1], options.brick_count if match[1] == "brick" else options.hosts
    every = bool(match[3]) or name == "management"
    numbers = range(1, count + 1) if every else [int(match[2] or 1)]
    parts = {f"{part}-{number}" for number in numbers}
    if part == "host":
        parts |= {f"management-{number}" for number in numbers}
        bricks = range(1, options.brick_count + 1)
        parts |= {f"brick-{brick}" for brick in bricks if options.host_of(brick) in numbers}
    return frozenset(parts)


def subject(volume: Volume, name: str) -> Subject:
    """A subject by its name in plans. Raises KeyError."""
    if name == VOLUME:
        return replace(subject(volume, SUBJECT_PREFIX + "bricks"), name=name, volume=Changes(volume))
    match = _NUMBERED.fullmatch(name.removeprefix(SUBJECT_PREFIX))
    if match is None or name not in abilities(volume.options):
        raise KeyError(name)
    part, number, every = match[1], int(match[2] or 1), bool(match[3])
    if part == "brick":
        bricks = volume.bricks if every else volume.bricks[number - 1 : number]
        return _subject(
            volume,
            name,
            lambda: [pid for brick in bricks for pid in volume.brick_processes(brick)],
            volume.start_bricks,
        )
    every = every or (part == "management" and match[2] is None)
    hosts = list(volume.hosts.numbers) if every else [number]
    if part == "management":
        return _subject(
            volume,
            name,
            lambda: [pid for host in hosts for pid in volume.management_processes(host)],
            volume.start_management,
        )

    def start() -> None:
        volume.start_management()
        volume.start_bricks()

    part_of_hosts = _subject(
        volume, name, lambda: [pid for host in hosts for pid in volume.hosts.processes(host)], start
    )
    return replace(
        part_of_hosts,
        interfaces=lambda: tuple(volume.hosts.interface(host) for host in hosts),
        addresses={CLIENT_NAME: address(CLIENT), **_addresses(volume.options)},
    )


def _addresses(options: GlusterOptions) -> dict[str, str]:
    return {f"{SUBJECT_PREFIX}host-{host}": address(host) for host in range(1, options.hosts + 1)}


def _subject(
    volume: Volume, name: str, processes: Callable[[], Sequence[int]], start: Callable[[], None]
) -> Subject:
    return Subject(name, lambda: tuple(processes()), stop=lambda: volume.hosts.end(processes()), start=start)
