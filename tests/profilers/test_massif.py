"""massif: a real program with a known heap, recorded accounts, and accounts that are incomplete."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from loadcell.profilers.launched import massif
from loadcell.profilers.launcher import SystemCode, UnreadableError, launcher
from loadcell.systems.shared.launch import Launch

#: It allocates 3 MB in blocks by `cache_fill`, 1 MB by `index_build`, and frees the first.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
static char *blocks[30];
__attribute__((noinline)) void cache_fill(void) {
  for (int i = 0; i < 30; i++) { blocks[i] = malloc(100000); memset(blocks[i], 1, 100000); }
}
__attribute__((noinline)) char *index_build(void) { char *made = malloc(1000000); made[0] = 1; return made; }
int main(void) {
  cache_fill();
  char *index = index_build();
  for (int i = 0; i < 30; i++) free(blocks[i]);
  char *small = malloc(5000);
  small[0] = index[0];
  return small[0] != 1;
}
"""
SNAPSHOT = """snapshot={number}
#-----------
time={ms}
mem_heap_B={heap}
mem_heap_extra_B=40
mem_stacks_B=0
heap_tree={kind}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("program")
    (home / "heap.c").write_text(PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-o", home / "heap", home / "heap.c"], check=True)
    return home / "heap"


def profiled(program: Path, work: Path, code: SystemCode | None = None) -> Launch:
    launch = Launch(launcher("massif"), work / "massif.out", code)
    subprocess.run(launch.command([str(program)]), check=True, capture_output=True)
    return launch


def test_the_heap_of_a_program_is_known_to_the_byte(program: Path, tmp_path: Path) -> None:
    account = profiled(program, tmp_path).account()
    heap = account.heap
    assert heap is not None
    assert heap.peak_bytes == 4_000_000
    assert account.samples[0].heap_bytes == 0
    assert account.samples[-1].heap_bytes <= 1_005_000
    assert [sample.t_s for sample in account.samples] == sorted(sample.t_s for sample in account.samples)
    assert account.began_mono_ns > 0
    largest, second = heap.stacks[:2]
    assert (largest.bytes, second.bytes) == (3_000_000, 1_000_000)
    assert largest.stack[0].startswith("cache_fill (heap.c:")
    assert second.stack[0].startswith("index_build (heap.c:")
    assert heap.overhead_bytes
    assert heap.client_bytes is None
    assert not (tmp_path / "massif.out").exists()


def test_the_part_of_a_system_is_that_of_its_stacks(program: Path, tmp_path: Path) -> None:
    """Allocations of the rest of the process are subtracted at every moment."""
    account = profiled(program, tmp_path, SystemCode(("index_",))).account()
    heap = account.heap
    assert heap is not None
    assert (heap.peak_bytes, heap.overhead_bytes) == (1_000_000, None)
    assert [stack.bytes for stack in heap.stacks] == [1_000_000]
    most = max(account.samples, key=lambda sample: sample.client_bytes or 0)
    assert most.client_bytes == 3_000_000


def account_of(tree: str, path: Path, heap: int = 1000) -> Path:
    path.write_text("desc: x\ncmd: y\ntime_unit: ms\n" + SNAPSHOT.format(
        number=0, ms=1500, heap=heap, kind="peak") + tree)  # fmt: skip
    return path


#: As massif 3.19 writes it for a library without debug information.
TREE = """n3: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 600 0x48F: ??? (in /usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6)
  n0: 600 0x4A0: sqlite3Malloc (in /usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6)
 n2: 390 0x5F: operator new(unsigned long) (new_op.cc:50)
  n0: 300 0x60: std::string::assign(char const*) (in /usr/lib/libstdc++.so.6)
  n0: 90 in 4 places, all below massif's threshold (0.20%)
 n0: 10 in 2 places, all below massif's threshold (0.20%)
"""


def test_stacks_of_libraries_without_names_are_read(tmp_path: Path) -> None:
    heap = massif.read(account_of(TREE, tmp_path / "account")).heap
    assert heap is not None
    assert [(stack.bytes, stack.stack) for stack in heap.stacks] == [
        (600, ("[libsqlite3.so.0.8.6]", "sqlite3Malloc")),
        (300, ("operator new(unsigned long) (new_op.cc:50)", "std::string::assign(char const*)")),
        (90, ("operator new(unsigned long) (new_op.cc:50)",)),
    ]
    assert (heap.peak_bytes, heap.peak_s, heap.overhead_bytes) == (1000, 1.5, 40)


def test_a_program_without_a_heap_has_none(tmp_path: Path) -> None:
    """Such as massif writes it for a program that never calls malloc."""
    text = "".join(SNAPSHOT.format(number=n, ms=n, heap=0, kind="empty") for n in range(2))
    (tmp_path / "account").write_text(text)
    account = massif.read(tmp_path / "account")
    assert account.heap is not None
    assert (account.heap.peak_bytes, account.heap.stacks, len(account.samples)) == (0, (), 2)


def test_the_library_of_a_frame_tells_the_system(tmp_path: Path) -> None:
    account = massif.read(account_of(TREE, tmp_path / "account"), SystemCode((), ("libsqlite3",)))
    assert account.heap is not None
    assert (account.heap.peak_bytes, account.heap.client_bytes) == (600, 400)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "left no report"),
        ("", "no snapshot"),
        ("desc: x\ncmd: y\ntime_unit: ms\n", "no snapshot"),
        ("snapshot=0\ntime=\n", "incomplete"),
        ("snapshot=0\ntime=1\nmem_heap_B=9x\n", "incomplete"),
        ("snapshot=0\ntime=1\nheap_tree=peak\nn1: 5 a\n    n0: 5 0x1: b\n", "incomplete"),
    ],
)
def test_an_incomplete_account_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    account = tmp_path / "account"
    if text is not None:
        account.write_text(text)
    with pytest.raises(UnreadableError, match=why):
        massif.read(account)


@pytest.mark.parametrize(
    ("function", "file", "expected"),
    [
        ("redb::db::Database::open", "", True),
        ("<redb::table::Table<K,V> as core::ops::Drop>::drop", "", True),
        ("core::ptr::drop_in_place<redb::db::Database>", "", False),
        ("std::fs::read", "/x/_engine.abi3.so", False),
        ("???", "/usr/lib/librocksdb.so.7.8", True),
        ("???", "/usr/lib/other/librocks.so", False),
    ],
)
def test_frames_of_a_system(function: str, file: str, expected: bool) -> None:
    assert SystemCode(("redb::",), ("librocksdb",)).has(function, file) is expected
