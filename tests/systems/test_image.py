"""A file system in a file: mounted where root may mount, else refused in words, and never left behind."""

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
from systems.bench import open_directory

#: Messages where images cannot be mounted: to a normal user, and to root in a container.
CANNOT = (
    "only root can mount",
    "has no free loop device",
    "root may not mount",
    "does not support the file system",
    "cannot mount the image",
)


@cache
def machine_mounts() -> bool:
    """True if this machine mounts an image, found out without loadcell: where it does, loadcell must, too."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        file, mount = Path(directory) / "image", Path(directory) / "mount"
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
work = workdir.make_directory("killed", Path(sys.argv[1])) / "postgres"
work.mkdir()
MountedImage(Image(image=sys.argv[1], size="32MiB"), work, "postgres").make()
print("made", flush=True)
time.sleep(600)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    made = open_directory()
    yield made
    undo_below(made)
    workdir.remove(made)


def an_image(directory: Path, **options: str) -> MountedImage:
    work = directory / "work"
    work.mkdir(exist_ok=True)
    return MountedImage(
        Image.model_validate({"image": str(directory), "size": "32MiB", **options}), work, "postgres"
    )


def mounted(image: MountedImage) -> bool:
    """Make it. False where this machine cannot, which is then said clearly, and leaves nothing behind."""
    refused = refusal(image.make)
    if refused is not None:
        assert "--only" in refused.advice
        assert images_in(Path(image.options.image)) == []
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


def images_in(directory: Path) -> list[str]:
    return [path.name for path in directory.glob("loadcell-*.img")]


def trouble_of(image: MountedImage) -> TargetError:
    with pytest.raises(TargetError) as caught:
        image.make()
    assert caught.value.advice
    assert not image.mount.is_mount()
    assert images_in(Path(image.options.image)) == []
    return caught.value


def test_it_is_a_separate_file_system_until_it_is_removed(directory: Path) -> None:
    image = an_image(directory, mount_options="noatime")
    if not mounted(image):
        return
    (image.mount / "file").write_text("x")
    facts = file_system(image.mount)
    assert (facts["type"], facts["mount"]) == ("ext4", str(image.mount))
    assert "noatime" in facts["options"].split(",")
    assert facts["size_bytes"] < 32 << 20
    [file] = images_in(directory)
    assert facts["image"]["path"] == str(directory / file)
    assert facts["image"]["device"] == file_system(directory)["device"], "what the image lies on"
    image.remove()
    assert images_in(directory) == list((directory / "work").iterdir()) == []
    image.remove()  # again: nothing to do


def test_its_room_is_reserved(directory: Path) -> None:
    image = an_image(directory)
    if mounted(image):
        [file] = images_in(directory)
        assert (directory / file).stat().st_blocks * 512 >= 32 << 20, (
            "a sparse file would break in the middle of a trial"
        )


def test_equal_options_share_one_and_others_do_not(directory: Path) -> None:
    image, same, other = an_image(directory), an_image(directory), an_image(directory, size="40MiB")
    assert image.mount == same.mount != other.mount
    if mounted(image):
        (image.mount / "file").write_text("x")
        same.make()
        assert (same.mount / "file").read_text() == "x"
        other.make()
        assert len(images_in(directory)) == 2
        other.remove()
        assert image.mount.is_mount()


def test_what_a_killed_run_mounted_is_undone_by_the_next(directory: Path) -> None:
    command = [sys.executable, "-c", _MAKES_ONE_AND_WAITS, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        if child.stdout.readline() != "made\n":
            output = child.stderr.read()
            assert any(words in output for words in CANNOT), output
            assert not machine_mounts()
            return
        [file] = images_in(directory)
        assert workdir.sweep(directory) == [], "its run is alive"
        child.send_signal(signal.SIGKILL)
    assert str(directory) in Path("/proc/self/mountinfo").read_text(), (
        "nobody undoes what a killed process mounted"
    )
    assert workdir.sweep(directory) == ["killed"]
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()
    assert not (directory / file).exists()
    backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    assert not any(str(directory / file) in text for text in backing), "the loop device is free again"


def test_one_that_is_busy_at_the_end_goes_out_of_sight(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_image, "_BUSY_LIMIT_S", 0.0)
    image = an_image(directory)
    if not mounted(image):
        return
    with (image.mount / "held").open("w"):
        assert undo_below(directory)
        assert str(directory) not in Path("/proc/self/mountinfo").read_text()
    assert images_in(directory) == []


def test_one_of_which_only_the_record_was_made(directory: Path) -> None:
    image = an_image(directory)
    image.mount.mkdir(parents=True)
    assert undo_below(directory)
    assert list((directory / "work").iterdir()) == []
    image.mount.mkdir(parents=True)
    (image.directory / "image.json").write_text('{"file": "/nowhere/loadcell-0.img"}')
    assert undo_below(directory)
    assert list((directory / "work").iterdir()) == []


class TestTrouble:
    def test_a_normal_user(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        trouble = trouble_of(an_image(directory))
        assert trouble.finding == "only root can mount an image, and loadcell does not run as root"
        assert "exclude the treatments that need an image (`--only FACTOR=LEVEL,...`" in trouble.advice

    @pytest.fixture(autouse=True)
    def _as_root(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Refusals before anything is mounted, the same for any user."""
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def test_a_directory_that_is_not_there(self, directory: Path) -> None:
        trouble = trouble_of(an_image(directory, image=str(directory / "nowhere")))
        assert trouble.finding == f"there is no directory {directory}/nowhere for the image"

    def test_a_file_system_nobody_makes_here(self, directory: Path) -> None:
        assert "there is no mkfs.nosuchfs" in trouble_of(an_image(directory, fs="nosuchfs")).finding

    def test_no_room(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(handle: int, offset: int, size: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        trouble = trouble_of(an_image(directory, size="2GiB"))
        assert f"no space for an image of 2GiB in {directory}" in trouble.finding
        assert "GiB free" in trouble.finding

    def test_one_too_small_for_its_file_system(self, directory: Path) -> None:
        trouble = trouble_of(an_image(directory, size="4KiB"))
        assert "could not create a file system of 4KiB" in trouble.finding
        assert "a larger `target.postgres.data.size`" in trouble.advice

    @pytest.mark.parametrize(
        ("output", "finding", "advice"),
        [
            (
                "mount: /m: failed to setup loop device for /i.img.",
                "has no free loop device",
                "/dev/loop-control",
            ),
            (
                "mount: can't setup loop device: No such file or directory",
                "has no free loop device",
                "module `loop`",
            ),
            ("mount: /m: permission denied.", "root may not mount file systems here", "CAP_SYS_ADMIN"),
            ("mount: /m: must be superuser to use mount.", "root may not mount file systems here", "--only"),
            ("mount: /m: unknown filesystem type 'xfs'.", "does not support the file system ext4", "data.fs"),
            (
                "mount: /m: wrong fs type, bad option, bad superblock",
                "cannot mount the image",
                "mount_options",
            ),
        ],
    )
    def test_a_mount_that_is_refused(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, output: str, finding: str, advice: str
    ) -> None:
        ran = disk_image._run

        def refusing(*command: str) -> subprocess.CompletedProcess[str]:
            if command[0] == "mount":
                return subprocess.CompletedProcess(command, 32, f"{output}\n   dmesg(1) may have more\n")
            return ran(*command)

        monkeypatch.setattr(disk_image, "_run", refusing)
        trouble = trouble_of(an_image(directory))
        assert finding in trouble.finding
        assert output in trouble.finding
        assert advice in trouble.advice
