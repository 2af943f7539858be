"""Write the log of a service whose clock two sources set, and examine it.

The clock of the service is injected; that of the host is never changed. FORTH and BACK are the seconds of
the steps, 0 for none. Standard library only.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from doctor import diagnoses, examination

INCIDENT = "log-clock-steps"


class Clock:
    """The wall clock, shifted by its steps at a third and at two thirds of the time."""

    def __init__(self, forth_s: float, back_s: float, duration_s: float) -> None:
        begin = time.monotonic()
        self._steps = ((begin + duration_s / 3, forth_s), (begin + duration_s * 2 / 3, -back_s))

    def now(self) -> float:
        """Seconds since 1970, as the service takes them."""
        return time.time() + sum(size for at, size in self._steps if time.monotonic() >= at)


def work(path: Path, clock: Clock, end: float) -> int:
    """Log of four threads of a pool until the end, whose connections break at a step; number of lines."""
    lock, counts = threading.Lock(), [0] * 4
    with path.open("w") as file:

        def run(number: int) -> None:
            used = clock.now()
            while time.monotonic() < end:
                now = clock.now()
                is_broken = abs(now - used) > 3
                used = now
                event = "ERROR unable to establish connection" if is_broken else "INFO imported rows"
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(now)))
                with lock:
                    file.write(f"{stamp}.{int(now * 1000) % 1000:03}Z [pool-1-thread-{number}] {event}\n")
                counts[number] += 1
                time.sleep(0.02)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(counts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(counts)


def main() -> None:
    """Print the metrics of the plan."""
    forth_s, back_s = (float(os.environ.get(name, "0")) for name in ("FORTH", "BACK"))
    duration_s, path = float(sys.argv[1]), Path("service.log")
    lines = work(path, Clock(forth_s, back_s, duration_s), time.monotonic() + duration_s)
    named = [item for item in diagnoses(examination("--log", str(path))) if item["incident"] == INCIDENT]
    print(f"lines: {lines}")
    print(f"lines per second: {lines / duration_s:.1f}")
    print(f"recognised: {len(named)}")
    print(f"critical: {sum(item['level'] == 'critical' for item in named)}")


if __name__ == "__main__":
    main()
