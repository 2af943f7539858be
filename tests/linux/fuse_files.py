"""A FUSE file system in this process's memory that refuses direct I/O only when it is asked to do some
(linux/fuse.h).
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from linux.fuse_server import INIT, STATFS, greeting, mount, serve, size

#: 16 GiB, nearly all of them free: there is room for a probe beside what is kept for others.
_BLOCKS = 4 << 20
_ROOT = 1
#: SETATTR changes the size.
_SIZE = 1 << 3


@dataclass
class Node:
    """A directory, by the names in it, or a file, by its bytes."""

    mode: int
    names: dict[bytes, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)


class Files:
    """The whole of it; a node stays after its last name is gone, as somebody may hold it open.

    `direct`: what is asked of it past the page cache is done.
    """

    def __init__(self, *, direct: bool = False) -> None:
        self.direct = direct
        self._nodes = {_ROOT: Node(stat.S_IFDIR | 0o777)}
        self._numbers = itertools.count(_ROOT + 1)
        self._operations: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup, 3: self._attributes, 4: self._change, 9: self._make_directory, 10: self._remove,
            11: self._remove, 14: self._open, 15: self._read, 16: self._write, 18: self._done, 27: self._open,
            28: self._list, 29: self._done, 35: self._create,
            INIT: lambda *_: greeting(), STATFS: lambda *_: size(_BLOCKS, _BLOCKS - 200),
        }  # fmt: skip

    def answer(self, operation: int, node: int, body: bytes) -> bytes:
        """One request's answer; what is not in the table is nothing that a probe needs."""
        if operation not in self._operations:
            raise OSError(errno.ENOSYS, "not here")
        return self._operations[operation](node, body)

    def _lookup(self, node: int, body: bytes) -> bytes:
        result = self._nodes[node].names.get(_name(body))
        if result is None:
            raise OSError(errno.ENOENT, "no such name")
        return self._entry(result)

    def _attributes(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._about(node)

    def _change(self, node: int, body: bytes) -> bytes:
        action, _, _, length = struct.unpack_from("<IIQQ", body)
        if action & _SIZE:
            data = self._nodes[node].data
            data[length:] = bytes(max(0, length - len(data)))
        return self._attributes(node, body)

    def _make_directory(self, node: int, body: bytes) -> bytes:
        return self._entry(self._new(node, _name(body[8:]), stat.S_IFDIR | 0o700))

    def _create(self, node: int, body: bytes) -> bytes:
        made = self._new(node, _name(body[16:]), stat.S_IFREG | 0o600)
        return self._entry(made) + self._open(made, body)

    def _remove(self, node: int, body: bytes) -> bytes:
        del self._nodes[node].names[_name(body)]
        return b""

    def _open(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", node, 0, 0)

    def _done(self, *_: object) -> bytes:
        return b""

    def _read(self, node: int, body: bytes) -> bytes:
        at, length = self._within(body)
        return bytes(self._nodes[node].data[at : at + length])

    def _write(self, node: int, body: bytes) -> bytes:
        at, length = self._within(body)
        data = self._nodes[node].data
        data.extend(bytes(max(0, at - len(data))))
        data[at : at + length] = body[40 : 40 + length]
        return struct.pack("<II", length, 0)

    def _list(self, node: int, body: bytes) -> bytes:
        begin, _ = self._within(body)
        names = list(self._nodes[node].names.items())[begin:]
        rows = [
            struct.pack("<QQII", number, path, len(name), 0) + name + bytes(-len(name) % 8)
            for path, (name, number) in enumerate(names, begin + 1)
        ]
        return b"".join(rows)

    def _within(self, body: bytes) -> tuple[int, int]:
        """Offset and length of a READ, WRITE or READDIR, which may not go past the page cache."""
        _, at, length, _, _, flags = struct.unpack_from("<QQIIQI", body)
        if flags & os.O_DIRECT and not self.direct:
            raise OSError(errno.EINVAL, "no direct I/O")
        return at, length

    def _new(self, node: int, name: bytes, mode: int) -> int:
        number = next(self._numbers)
        self._nodes[number] = Node(mode)
        self._nodes[node].names[name] = number
        return number

    def _entry(self, node: int) -> bytes:
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self._about(node)

    def _about(self, node: int) -> bytes:
        item = self._nodes[node]
        length = len(item.data)
        return struct.pack(
            "<6Q10I",
            node,
            length,
            length // 512,
            0,
            0,
            0,
            0,
            0,
            0,
            item.mode,
            1,
            os.geteuid(),
            os.getegid(),
            0,
            4096,
            0,
        )


def _name(body: bytes) -> bytes:
    return body.partition(b"\0")[0]


if __name__ == "__main__":
    serve(mount(sys.argv[1]), Files().answer)
