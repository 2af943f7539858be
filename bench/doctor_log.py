"""Time and memory of reading logs of services: two logs of different sizes, each in a separate process.

    python -m bench.doctor_log [--size 50]

Prints a line per format: size, seconds, and the peak memory with that of a log of a tenth of the size.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from bench import doctor_speed

BEGIN_S = 1_795_946_400


def entries(seed: int = 1) -> Iterator[tuple[float, str, str, str]]:
    """Time, thread, level and message of entries at random times, without end."""
    chance = random.Random(seed)
    at_s = float(BEGIN_S)
    for number in count():
        at_s += chance.expovariate(20)
        thread = f"pool-1-thread-{chance.randint(1, 16)}"
        kind = chance.random()
        if kind < 0.7:
            customer = chance.randint(1, 5000)
            yield at_s, thread, "INFO", f"Order {number} stored in {kind * 9:.1f} ms for customer {customer}"
        elif kind < 0.95:
            key = f"{chance.getrandbits(64):016x}"
            yield (
                at_s,
                thread,
                "DEBUG",
                f"GET http://10.0.0.{number % 255}:8080/api/v1/items/{key} took {kind:.3f}",
            )
        else:
            yield at_s, thread, "ERROR", f"Unable to establish connection {number % 30}"


def stamp(at_s: float) -> str:
    """As logback prints it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_s)) + f",{int(at_s % 1 * 1000):03d}"


def java() -> Iterator[str]:
    """A log of logback with stack traces."""
    for at_s, thread, level, text in entries():
        yield f"{stamp(at_s)} [{thread}] {level:5} com.example.orders.OrderService - {text}\n"
        if level == "ERROR":
            yield "java.sql.SQLException: refused\n"
            yield from (
                f"\tat com.example.orders.Class{line}.run(Class{line}.java:17)\n" for line in range(5)
            )


def chinese() -> Iterator[str]:
    """A log with Chinese messages."""
    for at_s, thread, level, text in entries():
        yield f"{stamp(at_s)} [{thread}] {level:5} 导入服务 - {text.replace('stored in', '已保存，耗时')}\n"


def fields() -> Iterator[str]:
    """A log of JSON lines."""
    for at_s, thread, level, text in entries():
        yield f'{{"ts":{at_s:.3f},"level":"{level}","thread":"{thread}","logger":"orders","msg":"{text}"}}\n'


def requests() -> Iterator[str]:
    """A log whose lines have a hexadecimal identifier and the name of a user."""
    chance = random.Random(2)
    users = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(5000)]
    for at_s, thread, level, text in entries():
        key, user = f"{chance.getrandbits(64):016x}", chance.choice(users)
        yield f"{stamp(at_s)} [{thread}] {level:5} com.example.orders.Api - request {key} of {user}: {text}\n"


def unique() -> Iterator[str]:
    """A log whose messages are texts of users, none of them twice."""
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(5000)]
    for at_s, thread, level, _text in entries():
        text = " ".join(chance.choices(words, k=9))
        yield f"{stamp(at_s)} [{thread}] {level:5} com.example.Chat - {text}\n"


FORMATS: dict[str, Callable[[], Iterator[str]]] = {
    "java": java,
    "chinese": chinese,
    "json": fields,
    "requests": requests,
    "unique": unique,
}


def write(path: Path, name: str, size_bytes: int) -> None:
    """A log of about this size."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for line in FORMATS[name]():
            written += file.write(line)
            if written >= size_bytes:
                return


def examine(path: Path) -> int:
    """Examine a log; the number of its entries."""
    from loadcell.incidents.application_logs import read
    from loadcell.incidents.examination import examination

    evidence, reading = read([(path, path.name)])
    examination(path.name, [evidence], readings=[reading])
    return evidence.entries


if __name__ == "__main__":
    doctor_speed.main("bench.doctor_log", __doc__, FORMATS, write, examine, "entries")
