"""The reason of a JVM's end in its last lines: what it printed early, and what a program survived."""

from __future__ import annotations

import pytest

from loadcell.systems.jvm.exit_causes import cause, exception, failed_write
from systems.jvm.conftest import Make

CRASH = [
    "#",
    "# A fatal error has been detected by the Java Runtime Environment:",
    "#",
    "#  SIGSEGV (0xb) at pc=0x00007f5c8d6b5d3f, pid=4711, tid=4712",
]
HEAP = "java.lang.OutOfMemoryError: Java heap space"


@pytest.mark.parametrize(
    ("lines", "early", "code"),
    [
        (["Conflicting collector combinations in option list"], True, "jvm.refused"),
        (["Conflicting update for row 7"], False, None),
        (["Specified order 12 is unknown"], False, None),
        (["Error occurred during initialization of the cache", "retrying"], False, None),
        (["Error: Could not find or load main class Missing"], True, "jvm.not-loaded"),
        (
            ['Exception in thread "main" java.lang.NoClassDefFoundError: a/B', "\tat M.main(M.java)"],
            True,
            "jvm.no-class",
        ),
        (
            ["started", "Caused by: java.lang.ClassNotFoundException: a.B", "\t... 1 more"],
            True,
            "jvm.no-class",
        ),
        (['Exception in thread "main" java.lang.NoClassDefFoundError: a/B'], False, None),
        (
            [
                "Error: LinkageError occurred while loading main class M",
                "\tjava.lang.UnsupportedClassVersionError: M has been compiled by a more recent version",
            ],
            True,
            "jvm.newer-class",
        ),
        (["plugin: UnsupportedClassVersionError"], False, None),
        (["Too small a buffer", *CRASH], True, "jvm.crashed"),
        ([f"cache reduced: {HEAP}", *CRASH], False, "jvm.crashed"),
        ([f"Terminating due to {HEAP}"], False, "jvm.out-of-heap"),
        ([f"Aborting due to {HEAP}", *CRASH], False, "jvm.out-of-heap"),
        ([f'Exception in thread "main" {HEAP}'], False, "jvm.out-of-heap"),
        (
            ['Exception in thread "main" java.io.IOException: No space left on device'],
            False,
            "jvm.cannot-write",
        ),
        (["Disk usage is not within je.maxDisk or je.freeDisk limits and write"], True, "jvm.cannot-write"),
        (["request failed: java.io.IOException: No space left on device"], False, None),
    ],
)
def test_the_cause_in_the_last_lines(lines: list[str], early: bool, code: str | None) -> None:
    message = cause(lines, early=early)
    assert (None if message is None else message.code) == code


TRACE = [
    'Exception in thread "main" java.lang.IllegalStateException: no settings',
    "\tat Service.main(Service.java:9)",
]
CAUSE = ["Caused by: java.io.FileNotFoundException: shop.conf", "\t... 1 more"]


@pytest.mark.parametrize(
    ("lines", "early", "named"),
    [
        (["mode fast", *TRACE], True, TRACE[0]),
        (["mode fast", *TRACE, *CAUSE], True, CAUSE[0]),
        ([*TRACE, *CAUSE, "shutdown complete"], True, CAUSE[0]),
        ([*TRACE, *CAUSE, "shutdown complete"], False, None),
        (["\tjava.lang.Error: no settings ", *TRACE[1:]], False, "java.lang.Error: no settings"),
        (["ERROR: application failed", *TRACE, *CAUSE], False, CAUSE[0]),
        ([f"{TRACE[0]}:", "a = 1", "b = 2", TRACE[1], *CAUSE], True, CAUSE[0]),
        (
            ["started", "java.lang.Error: no settings:", "a = 1", TRACE[1]],
            False,
            "java.lang.Error: no settings:",
        ),
        (["\tat Recursion.f(Recursion.java:3)"] * 200, False, None),
        (["licence expired"], True, None),
        ([], True, None),
    ],
)
def test_the_exception_stands_for_its_stack_trace(lines: list[str], early: bool, named: str | None) -> None:
    assert exception(lines, early=early) == named


@pytest.mark.parametrize(
    "lines",
    [
        [
            'Exception in thread "main" java.lang.NoClassDefFoundError: Could not initialize class a.B',
            "\tat shop.Main.main(Main.java:9)",
        ],
        [
            'Exception in thread "metrics" java.lang.NoClassDefFoundError: shop/Gauge',
            "\tat shop.Metrics.run(Metrics.java:5)",
            "port 8080 is in use",
        ],
    ],
    ids=["initializer", "other-thread"],
)
def test_a_class_that_is_there_is_not_missing(lines: list[str]) -> None:
    assert cause(lines, early=True) is None


JE_LIMIT = "Disk usage is not within je.maxDisk or je.freeDisk limits"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("request failed: java.io.IOException: No space left on device", "No space left on device"),
        (f"com.sleepycat.je.DiskLimitException: (JE 18.3.12) {JE_LIMIT} and writes are prohibited", JE_LIMIT),
        ("upload rejected: File too large", None),
        ("cannot mount: Read-only file system", None),
        ("java.io.IOException: Connection reset by peer", None),
    ],
)
def test_a_failed_write_is_an_exception_in_the_output(line: str, reason: str | None) -> None:
    assert failed_write(line) == reason


@pytest.mark.parametrize(
    ("lines", "status", "flags", "code"),
    [
        (CRASH, -6, {"ExitOnOutOfMemoryError": False}, "jvm.crashed"),
        (["licence expired"], 7, {}, None),
        (["licence expired"], 3, {"ExitOnOutOfMemoryError": False}, None),
        (["the last line of another thread"], 3, {}, "jvm.out-of-heap"),
    ],
)
def test_an_error_that_a_program_survived_is_not_the_reason(
    make: Make, lines: list[str], status: int, flags: dict[str, bool], code: str | None
) -> None:
    """An OutOfMemoryError of an earlier trial is no longer among the last lines."""
    target = make(flags=flags)
    target.on_line(f"java: {HEAP}")
    message = target.explain_end(lines, status, early=False)
    assert (None if message is None else message.code) == code
