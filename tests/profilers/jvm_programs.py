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

#: Two threads for each kind of lock, which one of them holds for 2 ms of 3 ms, so that they wait about 1 ms.
LOCKS: Final = """
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
public class Locks {
  interface Turn { void take() throws Exception; }
  static final Object MONITOR = new Object();
  static final ReentrantLock REENTRANT = new ReentrantLock();
  static final Semaphore SEMAPHORE = new Semaphore(1);
  static final StampedLock STAMPED = new StampedLock();
  static void hold() throws Exception { Thread.sleep(2); }
  static void monitor() throws Exception { synchronized (MONITOR) { hold(); } }
  static void reentrant() throws Exception { REENTRANT.lock(); hold(); REENTRANT.unlock(); }
  static void semaphore() throws Exception { SEMAPHORE.acquire(); hold(); SEMAPHORE.release(); }
  static void stamped() throws Exception { long stamp = STAMPED.writeLock(); hold(); STAMPED.unlock(stamp); }
  static void start(Turn turn) {
    for (int i = 0; i < 2; i++) {
      new Thread(() -> {
        try {
          while (true) { turn.take(); Thread.sleep(1); }
        } catch (Exception error) { throw new IllegalStateException(error); }
      }).start();
    }
  }
  public static void main(String[] words) {
    start(Locks::monitor);
    start(Locks::reentrant);
    start(Locks::semaphore);
    start(Locks::stamped);
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
