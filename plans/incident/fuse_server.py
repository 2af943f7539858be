"""FUSE mounts of this program, made in its mount namespace: `fuse_server.py SECONDS POINT...`.

Each answers for its size after SECONDS. It prints a line when all are mounted. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time

_HEADER = struct.Struct("=IIQQIIIHH")
_INIT, _STATFS, _DESTROY = 26, 17, 38
_NOT_IMPLEMENTED = -38


def mount(point: str) -> int:
    """The descriptor of a new mount. Raises OSError."""
    descriptor = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,allow_other"
    result = ctypes.CDLL(None, use_errno=True).mount(
        b"server.test:/export", point.encode(), b"fuse.test", 0, options.encode()
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), point)
    return descriptor


def serve(descriptor: int, delay_s: float) -> None:
    """Answer the first questions of the kernel."""
    while True:
        try:
            request = os.read(descriptor, 1 << 18)
        except OSError:
            return
        _, operation, unique, *_ = _HEADER.unpack_from(request)
        if operation == _DESTROY:
            return
        error, body = 0, b""
        if operation == _INIT:
            body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
        elif operation == _STATFS:
            time.sleep(delay_s)
            body = struct.pack("=5Q10I", 1000, 500, 500, 100, 50, 4096, 255, 4096, *[0] * 7)
        else:
            error = _NOT_IMPLEMENTED
        os.write(descriptor, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


def main() -> None:
    """Serve until standard input ends."""
    delay_s, *points = sys.argv[1:]
    for point in points:
        descriptor = mount(point)
        threading.Thread(target=serve, args=(descriptor, float(delay_s)), daemon=True).start()
    print("mounted", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
