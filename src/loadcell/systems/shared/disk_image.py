"""A file system in a file: made, mounted on a loop device, and undone, by whoever comes next if loadcell is
killed.

What there is to undo is on record before it is made (`image.json`, beside the mount point, in the run's work
directory), so that `undo_below` finds it whenever a run ends or dies. The file has a name that nobody else's
can have.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from loadcell.model.message import Bytes, ForeignText, MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.units import Size
from loadcell.systems.base import IMAGE_NO_DIRECTORY, TargetError

KEEP_DATA_WITHOUT_DATA = MessageCode("keep-data.without-data")
KEEP_DATA_IN_IMAGE = MessageCode("keep-data.in-image")
IMAGE_NO_MKFS = MessageCode("image.no-mkfs", fs=str, kind=str)
IMAGE_MKFS_FAILED = MessageCode("image.mkfs-failed", fs=str, kind=str, said=ForeignText, size=str)
IMAGE_NOT_ROOT = MessageCode("image.not-root")
IMAGE_NO_ROOM = MessageCode("image.no-room", free_bytes=Bytes, kind=str, path=str, size=str)
IMAGE_NOT_MADE = MessageCode("image.not-made", kind=str, path=str, said=ForeignText, size=str)
IMAGE_NO_LOOP = MessageCode("image.no-loop", said=ForeignText)
IMAGE_NO_MOUNT = MessageCode("image.no-mount", said=ForeignText)
IMAGE_UNKNOWN_FS = MessageCode("image.unknown-fs", fs=str, kind=str, said=ForeignText)
IMAGE_NOT_MOUNTED = MessageCode("image.not-mounted", kind=str, said=ForeignText)

_RECORD = "image.json"
_PLACES = "image-*"
#: Of mkfs, so that nothing is written behind a trial's back later on (ext4 initialises its tables lazily),
#: and no room is given back that was just reserved (by discarding blocks).
_MKFS = {
    "ext4": ("-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("-q", "-K"),
    "btrfs": ("-q", "-K"),
}
#: The last programs of a server may hold the file system for a moment after it ended.
_BUSY_LIMIT_S = 5.0
_PAUSE_S = 0.1
_PROGRAM_LIMIT_S = 300.0


class Image(Options):
    """A file system in a file, which loadcell makes and mounts (root only)."""

    image: str = Field(
        min_length=1,
        description="Directory on the storage that the image is to lie on. The file has a unique name "
        "there, and goes when the run ends.",
    )
    size: Size = Field(description="Size of the image, reserved when it is made (`2GiB`).")
    fs: str = Field(
        default="ext4",
        pattern=r"^[a-z][a-z0-9]*$",
        description="File system to make in it: whatever the machine has a `mkfs.` for.",
    )
    mount_options: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_=,.:+-]+$",
        description="Options to mount it with, as after `mount -o`.",
        examples=["noatime,data=journal"],
    )


@dataclass(frozen=True)
class MountedImage:
    """The image that `options` describe, for one run: equal options share one, whichever target object asks
    first.
    """

    options: Image
    work: Path
    #: the target as the plan names it, for advice
    kind: str

    @property
    def directory(self) -> Path:
        words = json.dumps(self.options.model_dump(mode="json"), sort_keys=True)
        return self.work / f"image-{hashlib.sha256(words.encode()).hexdigest()[:8]}"

    @property
    def mount(self) -> Path:
        """Where it is mounted."""
        return self.directory / "mount"

    def make(self) -> None:
        """Make and mount it, unless that is done already. Raises TargetError."""
        if self.mount.is_mount():
            return
        _only_root()
        self._check_place()
        undo(self.directory)  # remains of an interrupted attempt
        try:
            self._make()
        except BaseException:
            undo(self.directory)
            raise

    def remove(self) -> None:
        """Unmount and remove it, if it is there."""
        undo(self.directory)

    def _check_place(self) -> None:
        wanted = Path(self.options.image).expanduser()
        if not wanted.is_dir():
            raise TargetError(IMAGE_NO_DIRECTORY(path=wanted, kind=self.kind))
        if shutil.which(f"mkfs.{self.options.fs}", path=_path()) is None:
            raise TargetError(IMAGE_NO_MKFS(fs=self.options.fs, kind=self.kind))

    def _make(self) -> None:
        options = self.options
        file = Path(options.image).expanduser().resolve() / f"loadcell-{secrets.token_hex(6)}.img"
        self.directory.mkdir(parents=True, mode=0o755)
        self.mount.mkdir(mode=0o755)
        _write(self.directory / _RECORD, json.dumps({"made_by": "loadcell", "file": str(file)}))
        try:
            _reserve(file, int(options.size))
        except OSError as error:
            raise _no_file(error, file, options.size, self.kind) from error
        made = _run(f"mkfs.{options.fs}", *_MKFS.get(options.fs, ()), str(file))
        if made.returncode != 0:
            raise TargetError(
                IMAGE_MKFS_FAILED(
                    fs=options.fs,
                    size=options.size.text,
                    said=_first_line(made),
                    kind=self.kind,
                )
            )
        how = "loop" + (f",{options.mount_options}" if options.mount_options else "")
        mounted = _run("mount", "-t", options.fs, "-o", how, str(file), str(self.mount))
        if mounted.returncode != 0:
            raise _not_mounted(_first_line(mounted), options, self.kind)
        self.mount.chmod(0o755)
        # Past the page cache of the storage below, where that can be: or everything would be cached twice.
        for device in _devices_of(file):
            _run("losetup", "--direct-io=on", device)


def _only_root() -> None:
    if os.geteuid() != 0:
        raise TargetError(IMAGE_NOT_ROOT())


def _reserve(file: Path, size: int) -> None:
    """Make the file with all its room: a sparse one would fail in the middle of a trial, as a broken disk
    does.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.posix_fallocate(handle, 0, size)
    finally:
        os.close(handle)


def _no_file(error: OSError, file: Path, size: Size, kind: str) -> TargetError:
    where = file.parent
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        free = shutil.disk_usage(where).free
        return TargetError(IMAGE_NO_ROOM(size=size.text, path=where, free_bytes=free, kind=kind))
    return TargetError(IMAGE_NOT_MADE(size=size.text, path=where, said=error.strerror, kind=kind))


def _not_mounted(output: str, options: Image, kind: str) -> TargetError:
    """Remedies for messages of `mount` (util-linux, busybox)."""
    if any(word in output for word in ("loop device", "/dev/loop", "can't setup loop")):
        return TargetError(IMAGE_NO_LOOP(said=output))
    if any(word in output for word in ("permission denied", "must be superuser", "not permitted")):
        return TargetError(IMAGE_NO_MOUNT(said=output))
    if "unknown filesystem type" in output:
        return TargetError(IMAGE_UNKNOWN_FS(fs=options.fs, said=output, kind=kind))
    return TargetError(IMAGE_NOT_MOUNTED(said=output, kind=kind))


def undo_below(work: Path) -> bool:
    """Unmount and remove every image whose record lies in `work` or one level below; whether nothing is left
    mounted.
    """
    places = [directory for pattern in (_PLACES, f"*/{_PLACES}") for directory in work.glob(pattern)]
    remaining = [directory for directory in places if not directory.is_symlink() and not undo(directory)]
    return not remaining


def undo(path: Path) -> bool:
    """Unmount and remove one image; whether it is gone. Does nothing to what is no image of loadcell's."""
    try:
        record = json.loads((path / _RECORD).read_text())
        file = Path(record["file"])
    except (OSError, ValueError, KeyError, TypeError):
        # Killed before there was a record: at most two empty directories.
        for leftover in (path / "mount", path):
            with contextlib.suppress(OSError):
                leftover.rmdir()
        return not (path / "mount").is_mount()
    mount = path / "mount"
    deadline = time.monotonic() + _BUSY_LIMIT_S
    while mount.is_mount():
        late = time.monotonic() > deadline
        # At last out of sight, and gone for good when the last program that uses it ends.
        if _run("umount", *(["--lazy"] if late else []), str(mount)).returncode != 0:
            if late:
                return False
            time.sleep(_PAUSE_S)
    for device in _devices_of(file):
        _run("losetup", "--detach", device)
    try:
        file.unlink(missing_ok=True)
    except OSError:  # its record stays, for a later run
        return False
    shutil.rmtree(path, ignore_errors=True)
    return True


def _devices_of(file: Path) -> list[str]:
    """Loop devices on a file, from the kernel's own account."""
    devices = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text().rstrip("\n").removesuffix(" (deleted)") == str(file):
                devices.append(f"/dev/{backing.parts[-3]}")
    return devices


def _path() -> str:
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env={"PATH": _path(), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=_PROGRAM_LIMIT_S,
        )
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, f"there is no program `{command[0]}`")
    except subprocess.TimeoutExpired:
        late = f"`{command[0]}` did not end within {_PROGRAM_LIMIT_S:.0f} s"
        return subprocess.CompletedProcess(command, 124, late)
    except OSError as error:
        return subprocess.CompletedProcess(command, 126, f"cannot run `{command[0]}`: {error.strerror}")


def _first_line(done: subprocess.CompletedProcess[str]) -> str:
    """The first line a program said, without its repeated hints."""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[0] if lines else f"exit status {done.returncode}"


def _write(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
