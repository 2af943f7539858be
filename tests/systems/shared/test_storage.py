"""The file system under a directory, from the kernel's table of mounts."""

from __future__ import annotations

from pathlib import Path

from loadcell.linux.disks import file_system, used_bytes

_MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 8:1 / /mnt rw,noatime shared:5 master:1 - xfs /dev/sdb1 rw,attr2
41 40 8:17 /inner /mnt/with\\040blank rw - btrfs /dev/sdc1 rw,space_cache
42 27 0:40 / /mnt/gl rw - fuse.glusterfs host:/volume rw,user_id=0
43 27 0:41 / /mnt/gl rw - nfs4 server:/export rw,vers=4.2
"""


def at(path: str) -> tuple[str, str, str]:
    facts = file_system(Path(path), _MOUNTS)
    return facts["type"], facts["device"], facts["mount"]


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
    facts = file_system(tmp_path)
    assert Path(facts["mount"]).is_mount()
    assert 0 <= facts["free_bytes"] <= facts["size_bytes"]


def test_used_bytes_are_those_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"x" * 100_000)
    assert 100_000 <= used_bytes(tmp_path) < 200_000


def test_a_directory_below_a_file_system_in_memory_is_reported(tmp_path: Path) -> None:
    upper, block = tmp_path / "upper", tmp_path / "block"
    upper.mkdir()
    (block / "loop7" / "loop").mkdir(parents=True)
    (block / "loop7" / "loop" / "backing_file").write_text("/run/image\n")
    (block / "loop7" / "loop" / "dio").write_text("1\n")
    mounts = f"""\
{_MOUNTS}\
50 27 0:50 / /run rw - tmpfs tmpfs rw,size=1g
51 27 0:51 / /bare rw - ramfs none rw
52 27 252:0 / /squeezed rw - ext4 /dev/zram0 rw
53 27 7:7 / /image rw - ext4 /dev/loop7 rw
54 27 0:54 / {tmp_path} rw - tmpfs tmpfs rw
55 27 0:55 / /over rw - overlay overlay rw,lowerdir=/a:/b,upperdir={upper},workdir=/w
56 27 0:56 / /container rw - overlay overlay rw,lowerdir=/a,upperdir=/not/to/be/seen/here,workdir=/w
57 27 0:57 / /read-only ro - overlay overlay ro,lowerdir=/a:/run
"""

    def memory(path: str) -> str | None:
        held = file_system(Path(path), mounts, block).get("memory")
        return held if held is None else str(held)

    facts = {path: memory(path) for path in ("/run/x", "/bare", "/squeezed", "/image", "/over/x")}
    assert facts == {
        "/run/x": "tmpfs", "/bare": "ramfs", "/squeezed": "/dev/zram0", "/image": "tmpfs", "/over/x": "tmpfs",
    }  # fmt: skip
    assert [memory(path) for path in ("/var/tmp", "/mnt", "/container", "/read-only")] == [None] * 4
