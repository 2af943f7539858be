"""Time limit for a call within the tests' process: one that hangs fails its test, and not the whole suite.

loadcell itself uses `signal.setitimer` for its steps, so a thread looks at the clock here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator

#: Far more than any of them takes, on a machine that has much else to do.
LIMIT_S = 300.0
#: The signal is sent again after this time, in case something on the way swallowed it.
_AGAIN_S = 10.0
_SIGNAL = signal.SIGUSR2


class TookTooLong(BaseException):
    """A call did not end within its limit; its traceback is where it hung."""


@contextlib.contextmanager
def in_time(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise TookTooLong in the block after `limit_s`, with the stacks of all threads on standard error.

    Only the main thread receives signals; in another one there is no limit.
    """
    main = threading.main_thread()
    if threading.current_thread() is not main:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        if not ended.wait(limit_s):
            faulthandler.dump_traceback(sys.__stderr__ or 2)
            signal.pthread_kill(main.ident or 0, _SIGNAL)
            while not ended.wait(_AGAIN_S):
                signal.pthread_kill(main.ident or 0, _SIGNAL)

    def late(_number: int, _frame: object) -> None:
        raise TookTooLong(f"not ended after {limit_s:g} s")

    before = signal.signal(_SIGNAL, late)
    watcher = threading.Thread(target=watch, daemon=True, name="in time")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        signal.signal(_SIGNAL, before)
