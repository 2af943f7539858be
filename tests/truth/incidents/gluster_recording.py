"""Records a GlusterFS volume as the doctor reads it: answers of commands, listings, and attributes on bricks.

`python -m truth.incidents.gluster_recording`, in the folder `tests`, as root, makes a volume for each state,
damages it as the plan incident-gluster does, and writes gluster_recorded.json. Bricks have other paths there.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).with_name("gluster_recorded.json")
_SCRIPTS: Final = Path(__file__).parents[3] / "plans" / "incident"
_FILES, _DAMAGED = 24, 6
_SETTLING_S: Final = 1.0
_HOME: Final = "/bricks"
_COMMANDS: Final = {
    "heal": ("heal", "info", "split-brain"),
    "pending": ("heal", "info"),
    "open": ("top", "open"),
    "rebalance": ("rebalance", "status"),
}


def tree(root: str) -> dict[str, Any]:
    """Names of each directory below a mount in the order of their reading, and the state of each name."""
    listings: dict[str, list[str]] = {}
    states: dict[str, dict[str, int]] = {}
    waiting = [""]
    while waiting:
        path = waiting.pop(0)
        with os.scandir(f"{root}/{path}") as entries:
            listings[path] = [entry.name for entry in entries]
        for name in dict.fromkeys(listings[path]):
            below = f"{path}/{name}" if path else name
            try:
                status = os.lstat(f"{root}/{below}")
            except OSError as error:
                states[below] = {"error": error.errno or 0}
                continue
            states[below] = {"mode": status.st_mode, "owner": status.st_uid}
            if states[below]["mode"] & 0o170000 == 0o040000:
                waiting.append(below)
    return {"listings": listings, "states": states}


def brick(root: str) -> dict[str, dict[str, str]]:
    """Names below a brick with their attributes of the distribution, as by `getfattr -m dht -e hex`."""
    names = {}
    for directory, below, files in os.walk(root):
        if ".glusterfs" in below:
            below.remove(".glusterfs")
        for path in (directory, *(f"{directory}/{name}" for name in files)):
            names[os.path.relpath(path, root)] = {
                name: os.getxattr(path, name).hex() for name in sorted(os.listxattr(path)) if "dht" in name
            }
    return names


def _state(volume: Any) -> dict[str, Any]:
    """All that the doctor reads of the volume on its first host, and the same of the other bricks."""
    from loadcell.systems.gluster.volume import NAME

    answers = {}
    for name, (command, *words) in _COMMANDS.items():
        with contextlib.suppress(SystemExit):  # refused: no rebalance was started
            answers[name] = volume.gluster("volume", command, NAME, *words)
    bricks = {item.location: brick(str(item.path)) for item in volume.bricks}
    with volume.mounted(1) as point:
        listing = volume.inside(1, sys.executable, "-B", __file__, "--tree", point)
    return {"answers": answers, "bricks": bricks, **json.loads(listing)}


def _open_files(volume: Any) -> Callable[[], None]:
    files = [(volume.home / name).open() for name in list(volume.contents)[:_DAMAGED]]
    time.sleep(_SETTLING_S)
    return lambda: [file.close() for file in files] and None


def _link_files(volume: Any) -> None:
    """Renamed files, whose new names hash to the other pair: GlusterFS makes links to them."""
    for name in list(volume.contents):
        (volume.home / name).rename(volume.home / f"renamed-{name}")


def _closed(volume: Any) -> None:
    """Directories that somebody closed: without mode, but of an owner."""
    for number in range(_DAMAGED):
        path = volume.home / f"closed-{number}"
        path.mkdir()
        os.chown(path, 1000 + number, 1000)
        path.chmod(0)


def _heal(volume: Any) -> None:
    """Files that were written while a brick was down, and that wait for their heal."""
    volume.volume("set", "cluster.self-heal-daemon", "off")
    item = volume.pairs[1][0]
    volume.storage.hosts.end(volume.storage.volume.brick_processes(item))
    time.sleep(_SETTLING_S)
    for name in volume.contents:
        (volume.home / name).write_text("written without a brick\n")
    volume.volume("start", "force")
    volume.await_connection()


def record() -> dict[str, Any]:
    """States by their names."""
    sys.path.insert(0, str(_SCRIPTS))
    import gluster
    from gluster_volume import made

    states: dict[str, Any] = {}
    healthy: dict[str, Callable[[Any], Any]] = {
        "open": _open_files,
        "links": _link_files,
        "closed": _closed,
        "heal": _heal,
    }
    for name in (*healthy, *gluster.REHEARSALS):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as home, made(Path(home) / "v", _FILES) as volume:
            undo = None
            if name in healthy:
                undo = healthy[name](volume)
            else:
                gluster.REHEARSALS[name](volume, _DAMAGED).damage()
            states[name] = json.loads(json.dumps(_state(volume)).replace(f"{home}/v", _HOME))
            if undo is not None:
                undo()
        print(name, file=sys.stderr, flush=True)
    return states


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tree"]:
        print(json.dumps(tree(sys.argv[2])))
    else:
        lines = (f" {json.dumps(name)}: {json.dumps(state)}" for name, state in record().items())
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
