"""Lines on which a careless regular expression takes time in proportion to the square of their length."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Final

from loadcell.monitors.prometheus.page import NotAPageError

#: Any text may take this time; one of four times the length takes 16 times as long where time grows with the
#: square.
_FLOOR_S, _MOST = 0.005, 6.0


def _names(count: int) -> str:
    return ", ".join(f'"{number}": 1' for number in range(count))


def assert_linear(read: Callable[[str], object], line: Callable[[int], str]) -> None:
    """Compare the times of a line of 2,000 and of one of 8,000 characters."""
    short_s, long_s = (_time_s(read, line(length)) for length in (2000, 8000))
    assert long_s <= _MOST * max(short_s, _FLOOR_S), (short_s, long_s)


def _time_s(read: Callable[[str], object], text: str) -> float:
    """CPU time of the thread, the least of three: a busy machine disturbs it little."""
    times = []
    for _ in range(3):
        before_s = time.thread_time()
        with contextlib.suppress(NotAPageError):
            read(text)
        times.append(time.thread_time() - before_s)
    return min(times)


#: A line of about `n` characters, by what is odd about it.
LINES: Final[Mapping[str, Callable[[int], str]]] = {
    "digits and a letter": lambda n: "1" * n + "x",
    "a value of digits and a letter": lambda n: "a=" + "1" * n + "x",
    "digits behind a point": lambda n: "." + "1" * n + "x",
    "an exponent of digits and a letter": lambda n: "1e" + "1" * n + "x",
    "a name without a value": lambda n: "a" * n,
    "a name of colons": lambda n: "a" + ":" * n,
    "numbers between colons": lambda n: "a" + ":1" * (n // 2) + "x",
    "colons before spaces": lambda n: "a" + ": " * (n // 2),
    "spaces before a letter": lambda n: "a" + " " * n + "x",
    "spaces behind a pair": lambda n: "a 1" + " " * n + "!",
    "spaces in a header": lambda n: "a" + " " * n + "=,b",
    "an open brace": lambda n: "x{" + "a" * n,
    "open braces": lambda n: "a{" * (n // 2),
    "labels without a value": lambda n: "x{" + "a" * n + "} 1",
    "labels of spaces": lambda n: "x{a" + " " * n + "b} 1",
    "labels without an end of text": lambda n: "x{" + 'a="' * (n // 3) + "} 1",
    "labels of quotes": lambda n: "x{" + '"' * n + "} 1",
    "labels of backslashes": lambda n: 'x{a="' + "\\" * n + "} 1",
    "objects in objects": lambda n: '{"a":' * (n // 5),
    "names below a long key": lambda n: f'{{"{"k" * (n // 2)}": {{{_names(n // 24)}}}}}',
    "quotes and commas": lambda n: '",' * (n // 2),
    "a label above others": lambda n: "x{" + "a," * (n // 2) + "} 1",
}
