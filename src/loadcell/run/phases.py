"""The phases of a trial: each timed, bounded, and ended in one of the ways a trial can end."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loadcell.plan.secrets import MissingSecretError
from loadcell.profilers.base import ProfilerError
from loadcell.run.executor import LoadError, LoadStoppedError, LoadTimeoutError
from loadcell.run.interrupts import Interrupted, Interrupts, LimitReached
from loadcell.run.record import utc_text
from loadcell.store.errors import StoreError
from loadcell.targets.base import TargetError

NAMES = ("up", "prepare", "warmup", "measure", "collect", "verify", "cleanup")

#: Which key of the plan's `limits` bounds a phase.
LIMIT_KEYS = {"warmup": "load_slack", "measure": "load_slack"}


class TrialEndedError(Exception):
    """The trial ends here, with this status (`failed`, `timed-out`, `aborted`), for this reason.

    `code` names the reason for programs, where one is worth telling from all others (`overloaded`).
    """

    def __init__(self, status: str, reason: str, advice: str, code: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.advice = advice
        self.code = code


@dataclass
class Phases:
    """The phases so far, as trial.json lists them."""

    interrupts: Interrupts
    monotonic_ns: Callable[[], int]
    tell: Callable[[str], None]
    output: Callable[[str], None]
    event: Callable[[dict[str, Any]], None]
    found: list[dict[str, Any]] = field(default_factory=list)

    @contextlib.contextmanager
    def step(self, name: str, limit_s: float | None, *, breakable: bool = True) -> Iterator[None]:
        """One phase. Whatever goes wrong in it becomes a TrialEndedError; only StoreError goes through as it is."""
        self.begin(name)
        if name not in LIMIT_KEYS:  # of the load's own phases the engine tells
            self.event({"event": "phase", "phase": name, "mono_ns": self.found[-1]["started_mono_ns"]})
        try:
            with self.interrupts.bounded(limit_s, breakable=breakable):
                yield
        except StoreError:
            self.end("failed")
            raise
        except BaseException as error:
            ended = self._ending(error, limit_s)
            self.end("failed")
            if ended is None:
                raise
            self.found[-1]["status"] = (
                ended.status
            )  # a load's last phase had ended before the load was found broken
            raise ended from error
        self.end("ok")

    def begin(self, name: str, started_mono_ns: int | None = None, started_utc: str | None = None) -> None:
        """A phase begins; the one before it, if it was still open, ended well."""
        if self.open:
            self.end("ok", started_mono_ns)
        mono_ns = self.monotonic_ns() if started_mono_ns is None else started_mono_ns
        self.found.append(
            {"name": name, "started_mono_ns": mono_ns, "started_utc": started_utc or utc_text()}
        )
        self.tell(name)

    def end(self, status: str, ended_mono_ns: int | None = None) -> None:
        """The open phase ends; does nothing when none is open."""
        if self.open:
            now_ns = self.monotonic_ns() if ended_mono_ns is None else ended_mono_ns
            last = self.found[-1]
            last["duration_s"] = max(0, now_ns - last["started_mono_ns"]) / 1e9
            last["status"] = status

    @property
    def open(self) -> bool:
        """Whether the last phase has not ended."""
        return bool(self.found) and "status" not in self.found[-1]

    @property
    def current(self) -> str:
        """The name of the last phase; empty before the first."""
        return str(self.found[-1]["name"]) if self.found else ""

    def _ending(self, error: BaseException, limit_s: float | None) -> TrialEndedError | None:
        """What an exception means for the trial; None for one that is not the trial's business."""
        name = self.current
        match error:
            case TrialEndedError():
                return error
            case TargetError() | LoadError() | ProfilerError():
                return TrialEndedError("failed", error.finding, error.advice)
            case MissingSecretError():
                return TrialEndedError(
                    "failed", str(error), "Set it, then go on with --resume DIR --retry-failed."
                )
            case LimitReached() | LoadTimeoutError():
                key = LIMIT_KEYS.get(name, name)
                limit_s = error.limit_s if isinstance(error, LoadTimeoutError) else limit_s
                return TrialEndedError(
                    "timed-out",
                    f"{name} did not end within its limit" + (f" of {limit_s:g} s" if limit_s else ""),
                    f"See what held it up in output.log of this trial; limits.{key} in the plan sets the limit.",
                )
            case Interrupted() | LoadStoppedError():
                return TrialEndedError(
                    "aborted", "the run was interrupted", "Go on with `loadcell run --resume DIR`."
                )
            case Exception():
                for line in traceback.format_exception(error):
                    self.output(line.rstrip("\n"))
                return TrialEndedError(
                    "failed",
                    f"a fault in loadcell or one of its parts: {type(error).__name__}: {error}",
                    "The whole story is in output.log of this trial; please report it.",
                )
        return None
