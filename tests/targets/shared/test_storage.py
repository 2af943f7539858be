"""The file system under a directory, from the kernel's table of mounts."""

from __future__ import annotations

from pathlib import Path

from loadcell.targets.shared.storage import file_system, used_bytes

_MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 8:1 / /mnt rw,noatime shared:5 master:1 - xfs /dev/sdb1 rw,attr2
41 40 8:17 /inner /mnt/with\\040blank rw - btrfs /dev/sdc1 rw,space_cache
42 27 0:40 / /mnt/gl rw - fuse.glusterfs host:/volume rw,user_id=0
43 27 0:41 / /mnt/gl rw - nfs4 server:/export rw,vers=4.2
"""


def at(path: str) -> tuple[str, str, str]:
    found = file_system(Path(path), _MOUNTS)
    return found["type"], found["device"], found["mount"]


def test_the_innermost_mount_counts() -> None:
    assert at("/var/lib") == ("ext4", "/dev/vda", "/")
    assert at("/mnt/data") == ("xfs", "/dev/sdb1", "/mnt")
    assert at("/mntx") == ("ext4", "/dev/vda", "/")


def test_blanks_are_written_in_octal_by_the_kernel() -> None:
    assert at("/mnt/with blank/x") == ("btrfs", "/dev/sdc1", "/mnt/with blank")


def test_the_later_of_two_mounts_on_one_place_is_seen() -> None:
    assert at("/mnt/gl/db") == ("nfs4", "server:/export", "/mnt/gl")


def test_options_of_mount_and_file_system_are_joined() -> None:
    assert file_system(Path("/"), _MOUNTS)["options"] == "rw,relatime,discard"


def test_of_a_real_directory(tmp_path: Path) -> None:
    found = file_system(tmp_path)
    assert Path(found["mount"]).is_mount()
    assert 0 <= found["free_bytes"] <= found["size_bytes"]


def test_used_bytes_are_those_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"x" * 100_000)
    assert 100_000 <= used_bytes(tmp_path) < 200_000
