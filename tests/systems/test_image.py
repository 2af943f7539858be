"""A file system in a file: mounted where root may mount, refused in words where not, and never left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from loadcell.execution import workdir
from loadcell.linux.disks import file_system
from loadcell.systems.base import TargetError
from loadcell.systems.shared import disk_image
from loadcell.systems.shared.disk_image import Image, MountedImage, undo_below
from systems.postgres.conftest import open_directory

#: What is said where images cannot be mounted: to a normal user, and to root in a container.
CANNOT = (
    "only root can mount",
    "gave no loop device",
    "root may not mount",
    "does not know the file system",
    "cannot mount the image",
)


@cache
def machine_mounts() -> bool:
    """Whether this machine mounts an image, found out without loadcell: where it does, loadcell must, too."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        file, mount = Path(place) / "image", Path(place) / "mount"
        mount.mkdir()
        file.write_bytes(bytes(16 << 20))
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", file], check=True)
        if subprocess.run(["mount", "-o", "loop", file, mount], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", mount], check=True)
        return True


_MAKES_ONE_AND_WAITS = """
import sys, time
from pathlib import Path
from loadcell.execution import workdir
from loadcell.systems.shared.disk_image import Image, MountedImage
work = workdir.make("killed", Path(sys.argv[1])) / "postgres"
work.mkdir()
MountedImage(Image(image=sys.argv[1], size="32MiB"), work, "postgres").make()
print("made", flush=True)
time.sleep(600)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    made = open_directory()
    yield made
    undo_below(made)
    workdir.remove(made)


def an_image(place: Path, **options: str) -> MountedImage:
    work = place / "work"
    work.mkdir(exist_ok=True)
    return MountedImage(
        Image.model_validate({"image": str(place), "size": "32MiB", **options}), work, "postgres"
    )


def mounted(one: MountedImage) -> bool:
    """Make it. False where this machine cannot, which is then said clearly, and leaves nothing behind."""
    refused = refusal(one.make)
    if refused is not None:
        assert "--only" in refused.advice
        assert images_in(Path(one.options.image)) == []
    return refused is None


def refusal(make: Callable[[], None]) -> TargetError | None:
    """None when it is made; what was said where images cannot be mounted."""
    try:
        make()
    except TargetError as error:
        if not machine_mounts() and any(words in error.finding for words in CANNOT):
            return error
        raise
    return None


def images_in(place: Path) -> list[str]:
    return [path.name for path in place.glob("loadcell-*.img")]


def trouble_of(one: MountedImage) -> TargetError:
    with pytest.raises(TargetError) as caught:
        one.make()
    assert caught.value.advice
    assert not one.mount.is_mount()
    assert images_in(Path(one.options.image)) == []
    return caught.value


def test_it_is_a_file_system_of_its_own_until_it_is_removed(place: Path) -> None:
    one = an_image(place, mount_options="noatime")
    if not mounted(one):
        return
    (one.mount / "file").write_text("x")
    found = file_system(one.mount)
    assert (found["type"], found["mount"]) == ("ext4", str(one.mount))
    assert "noatime" in found["options"].split(",")
    assert found["size_bytes"] < 32 << 20
    [file] = images_in(place)
    assert found["image"]["path"] == str(place / file)
    assert found["image"]["device"] == file_system(place)["device"], "what the image lies on"
    one.remove()
    assert images_in(place) == list((place / "work").iterdir()) == []
    one.remove()  # again: nothing to do


def test_its_room_is_reserved(place: Path) -> None:
    one = an_image(place)
    if mounted(one):
        [file] = images_in(place)
        assert (place / file).stat().st_blocks * 512 >= 32 << 20, (
            "a sparse file would break in the middle of a trial"
        )


def test_equal_options_share_one_and_others_do_not(place: Path) -> None:
    one, same, other = an_image(place), an_image(place), an_image(place, size="40MiB")
    assert one.mount == same.mount != other.mount
    if mounted(one):
        (one.mount / "file").write_text("x")
        same.make()
        assert (same.mount / "file").read_text() == "x"
        other.make()
        assert len(images_in(place)) == 2
        other.remove()
        assert one.mount.is_mount()


def test_what_a_killed_run_mounted_is_undone_by_the_next(place: Path) -> None:
    command = [sys.executable, "-c", _MAKES_ONE_AND_WAITS, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        if child.stdout.readline() != "made\n":
            said = child.stderr.read()
            assert any(words in said for words in CANNOT), said
            assert not machine_mounts()
            return
        [file] = images_in(place)
        assert workdir.sweep(place) == [], "its run is alive"
        child.send_signal(signal.SIGKILL)
    assert str(place) in Path("/proc/self/mountinfo").read_text(), (
        "nobody undoes what a killed process mounted"
    )
    assert workdir.sweep(place) == ["killed"]
    assert str(place) not in Path("/proc/self/mountinfo").read_text()
    assert not (place / file).exists()
    backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    assert not any(str(place / file) in text for text in backing), "the loop device is free again"


def test_one_that_is_busy_at_the_end_goes_out_of_sight(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_image, "_BUSY_LIMIT_S", 0.0)
    one = an_image(place)
    if not mounted(one):
        return
    with (one.mount / "held").open("w"):
        assert undo_below(place)
        assert str(place) not in Path("/proc/self/mountinfo").read_text()
    assert images_in(place) == []


def test_one_of_which_only_the_record_was_made(place: Path) -> None:
    one = an_image(place)
    one.mount.mkdir(parents=True)
    assert undo_below(place)
    assert list((place / "work").iterdir()) == []
    one.mount.mkdir(parents=True)
    (one.place / "image.json").write_text('{"file": "/nowhere/loadcell-0.img"}')
    assert undo_below(place)
    assert list((place / "work").iterdir()) == []


class TestTrouble:
    def test_a_normal_user(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        trouble = trouble_of(an_image(place))
        assert trouble.finding == "only root can mount an image, and loadcell does not run as root"
        assert "leave out the treatments that need an image (`--only FACTOR=LEVEL,...`" in trouble.advice

    @pytest.fixture(autouse=True)
    def _as_root(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is refused before anything is mounted is refused to anyone in the same words."""
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def test_a_directory_that_is_not_there(self, place: Path) -> None:
        trouble = trouble_of(an_image(place, image=str(place / "nowhere")))
        assert trouble.finding == f"there is no directory {place}/nowhere for the image"

    def test_a_file_system_nobody_makes_here(self, place: Path) -> None:
        assert "there is no mkfs.nosuchfs" in trouble_of(an_image(place, fs="nosuchfs")).finding

    def test_no_room(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(handle: int, offset: int, size: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        trouble = trouble_of(an_image(place, size="2GiB"))
        assert f"there is no room for an image of 2GiB in {place}" in trouble.finding
        assert "GiB are free" in trouble.finding

    def test_one_too_small_for_its_file_system(self, place: Path) -> None:
        trouble = trouble_of(an_image(place, size="4KiB"))
        assert "could not make a file system of 4KiB" in trouble.finding
        assert "a larger `target.postgres.data.size`" in trouble.advice

    @pytest.mark.parametrize(
        ("said", "finding", "advice"),
        [
            (
                "mount: /m: failed to setup loop device for /i.img.",
                "gave no loop device",
                "/dev/loop-control",
            ),
            (
                "mount: can't setup loop device: No such file or directory",
                "gave no loop device",
                "module `loop`",
            ),
            ("mount: /m: permission denied.", "root may not mount anything here", "CAP_SYS_ADMIN"),
            ("mount: /m: must be superuser to use mount.", "root may not mount anything here", "--only"),
            ("mount: /m: unknown filesystem type 'xfs'.", "does not know the file system ext4", "data.fs"),
            (
                "mount: /m: wrong fs type, bad option, bad superblock",
                "cannot mount the image",
                "mount_options",
            ),
        ],
    )
    def test_a_mount_that_is_refused(
        self, place: Path, monkeypatch: pytest.MonkeyPatch, said: str, finding: str, advice: str
    ) -> None:
        ran = disk_image._run

        def refusing(*command: str) -> subprocess.CompletedProcess[str]:
            if command[0] == "mount":
                return subprocess.CompletedProcess(command, 32, f"{said}\n   dmesg(1) may have more\n")
            return ran(*command)

        monkeypatch.setattr(disk_image, "_run", refusing)
        trouble = trouble_of(an_image(place))
        assert finding in trouble.finding
        assert said in trouble.finding
        assert advice in trouble.advice
