"""Run campaigns in batches that can be resumed: `python -m campaigns.driver [NAME...]`, from `tests`.

A campaign is a module of this package with `CASES`, its number of cases, and `case(random, home)`, which
raises AssertionError when loadcell fails. Every case has its number as seed, so that one can be repeated
alone: `--only NUMBER`. The state is a file of JSON: the next case of each campaign, and the failures so far.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import pkgutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

from click.testing import CliRunner, Result

import campaigns
from in_time import TookTooLong, in_time
from loadcell.cli import language, main
from loadcell.model.message import Message, as_written

#: Exit status of a batch after which cases remain.
REMAINING = 4
#: No batch takes longer, in seconds.
BATCH_S = 3000.0
#: A command in this process computes longer only if it has no end, in seconds of processor time.
LONGEST_CPU_S = 20.0
#: It takes longer on the clock only if it waits; other work on the machine slows it down, but not so far.
LONGEST_S = 120.0
#: A case takes longer only if it hangs.
CASE_S = 300.0
#: A hang in which Python handles no signal ends the batch after this time.
_ENDS_S = 450.0


@dataclass(frozen=True)
class Campaign:
    """A module of this package, as the driver uses it."""

    name: str
    cases: int
    case: Callable[[Random, Path], None]


@dataclass
class Progress:
    """The next case of a campaign, and its failures by number; `running` is the case under way."""

    next: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    running: int | None = None


def all_campaigns() -> Iterator[Campaign]:
    """Every campaign of this package."""
    for module in pkgutil.iter_modules(campaigns.__path__):
        loaded = importlib.import_module(f"campaigns.{module.name}")
        if hasattr(loaded, "CASES"):
            yield Campaign(module.name, loaded.CASES, loaded.case)


def run_case(campaign: Campaign, number: int) -> str:
    """The failure of a case in a few lines; empty if there is none."""
    with tempfile.TemporaryDirectory(prefix="loadcell-campaign-") as home:
        faulthandler.dump_traceback_later(_ENDS_S, exit=True, file=sys.__stderr__ or 2)
        try:
            with in_time(CASE_S):
                campaign.case(Random(f"{campaign.name} {number}"), Path(home))
        except TookTooLong:
            return f"a hang\n{traceback.format_exc(limit=-4)}"
        except Exception as error:
            return str(error) if isinstance(error, AssertionError) else traceback.format_exc(limit=-4)
        finally:
            faulthandler.cancel_dump_traceback_later()
    return ""


def call(*arguments: str | Path) -> Result:
    """Call a command in this process.

    Raises AssertionError for a fault, an unknown exit status or a long wait.
    """
    words = [*map(str, arguments)]
    faults: list[str] = []

    def remember(error: BaseException) -> Message:
        faults.append("".join(traceback.format_exception(error)[-6:]))
        return as_written("")

    began_cpu = time.process_time()
    called = f"loadcell {' '.join(words)}"
    try:
        with patch.object(language, "unexpected", remember), in_time(LONGEST_S):
            result = CliRunner().invoke(main, words)
    except TookTooLong as error:
        raise AssertionError(f"{called}: {error}\n{traceback.format_exc(limit=-4)}") from error
    assert not faults, f"{called}: a fault\n{faults[0]}"
    assert result.exception is None or isinstance(result.exception, SystemExit), called
    assert result.exit_code in (0, 1, 2, 3), f"{called}: exit status {result.exit_code}"
    cpu_s = time.process_time() - began_cpu
    assert cpu_s < LONGEST_CPU_S, f"{called} computed for {cpu_s:.0f} s"
    return result


def run(campaign: Campaign, progress: Progress, until_s: float, save: Callable[[], None]) -> bool:
    """Run the remaining cases until an instant of the monotonic clock; whether all are done."""
    if progress.running is not None:
        progress.failures[str(progress.running)] = "the batch ended during this case"
        progress.next, progress.running = progress.running + 1, None
    while progress.next < campaign.cases:
        if time.monotonic() >= until_s:
            return False
        progress.running = progress.next
        save()
        failure = run_case(campaign, progress.next)
        if failure:
            progress.failures[str(progress.next)] = failure
            print(f"{campaign.name} {progress.next}: {failure}", flush=True)
        progress.next, progress.running = progress.next + 1, None
    return True


def main_() -> int:
    """Run one batch. Exit status: 0 all done and well, 1 failures, 4 cases remain for the next batch."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--state", type=Path, default=Path("campaigns-state.json"))
    options.add_argument("--batch-s", type=float, default=BATCH_S)
    options.add_argument("--only", type=int, metavar="NUMBER")
    asked = options.parse_args()
    chosen = [item for item in all_campaigns() if not asked.names or item.name in asked.names]
    if asked.only is not None:
        failures = [run_case(item, asked.only) for item in chosen]
        print("\n".join(failures))
        return int(any(failures))
    stored = json.loads(asked.state.read_text()) if asked.state.is_file() else {}
    states = {item.name: Progress(**stored.get(item.name, {})) for item in chosen}

    def save() -> None:
        document = {**stored, **{name: asdict(state) for name, state in states.items()}}
        asked.state.write_text(json.dumps(document, indent=1))

    until_s = time.monotonic() + asked.batch_s
    done = [run(item, states[item.name], until_s, save) for item in chosen]
    save()
    for name, state in states.items():
        print(f"{name}: {state.next} cases, {len(state.failures)} failures")
    if not all(done):
        return REMAINING
    return int(any(state.failures for state in states.values()))


if __name__ == "__main__":
    sys.exit(main_())
