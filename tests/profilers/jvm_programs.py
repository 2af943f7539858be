"""Small programs on the JVM with known costs, and the package of async-profiler."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Final

from loadcell.execution import profiler_packages
from loadcell.plan.profile import JvmCpuProfile

#: Two threads of a pool burn CPU, allocate `long[1000]` and contend for a monitor; each turn keeps a `Kept`.
BUSY: Final = """
import java.util.ArrayList;
public class Busy {
  static final class Kept { long value; }
  static final Object LOCK = new Object();
  static final ArrayList<Object> kept = new ArrayList<>();
  static volatile Object sink;
  static void burn(long ns) {
    long end = System.nanoTime() + ns;
    while (System.nanoTime() < end) { sink = new long[1000]; }
  }
  static void holdLock() {
    synchronized (LOCK) { burn(2_000_000); kept.add(new Kept()); }
  }
  public static void main(String[] words) throws Exception {
    for (int i = 1; i <= 2; i++) {
      new Thread(() -> { while (true) { holdLock(); burn(100_000); } }, "pool-1-thread-" + i).start();
    }
    System.out.println("ready");
  }
}
"""


@cache
def unpacked() -> Path:
    """The directory of async-profiler's package, which Maven fetches once."""
    package = profiler_packages.package(JvmCpuProfile())
    assert package is not None
    package.fetch()
    return package.directory


def library() -> Path:
    """The library for this processor."""
    return (
        unpacked()
        / {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[platform.machine()]
        / "libasyncProfiler.so"
    )
