"""`loadcell doctor [RUN] [--gc-log FILE...] [--log FILE...]`, or `--live`: known incidents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from loadcell.cli import doctor_files, doctor_live, doctor_watch, language, locales, messages, output
from loadcell.cli.arguments import Integer, Length, Positive, ProcessId, runs
from loadcell.cli.command import argument, command, option
from loadcell.incidents import event_spans
from loadcell.incidents.examination import Examination, examination
from loadcell.incidents.runs import base as run_evidence
from loadcell.report.doctor import document as doctor_report
from loadcell.store.find import find_run
from loadcell.store.read import StoredRun, read_run

#: Events of a watched condition without another number.
_MOST_EVENTS: Final = 5


@command("doctor", doctor_files.FilesCommand)
@argument("words", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]", shell_complete=runs)
@option(
    "--gc-log", "gc_log", multiple=True, type=click.Path(path_type=Path), metavar="FILE...", group="input"
)
@option("--log", multiple=True, type=click.Path(path_type=Path), metavar="FILE...", group="input")
@option("--pattern", metavar="REGEX", group="input")
@option("--live", is_flag=True, group="input")
@option("--pid", type=ProcessId(), metavar="PID", group="input")
@option("--watch", metavar="CONDITION", group="input")
@option("--for", "for_s", type=Length(), metavar="TIME", group="input")
@option("--most", type=Integer(), default=_MOST_EVENTS, show_default=True, metavar="N", group="input")
@option("--timeout", type=Positive(), metavar="SECONDS", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def doctor(
    words: tuple[Path, ...],
    gc_log: tuple[Path, ...],
    log: tuple[Path, ...],
    pattern: str | None,
    live: bool,
    pid: int | None,
    watch: str | None,
    for_s: float | None,
    most: int,
    timeout: float | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Recognise known incidents in a run, in logs, or on this host."""
    call = ["loadcell", "doctor", *map(str, words)]
    for name, files in (("--gc-log", gc_log), ("--log", log)):
        call += [name, *map(str, files)] if files else []
    if pattern is not None and not log:
        raise language.CallError(messages.CALL_DOCTOR_PATTERN())
    if watch is not None:
        if gc_log or log or words or live or timeout is not None:
            raise language.CallError(messages.CALL_DOCTOR_WATCH())
        directory = None if out is None else Path(out)
        options = doctor_watch.WatchOptions(watch, pid, most, for_s, directory, as_json)
        if doctor_watch.watch(options):
            sys.exit(1)
        return
    source_of = click.get_current_context().get_parameter_source
    for name, parameter in (("--for", "for_s"), ("--most", "most")):
        if source_of(parameter) is ParameterSource.COMMANDLINE:
            raise language.CallError(
                messages.CALL_NEEDS(option=name, missing="--watch", example='--watch "gc.full >= 3 in 60s"')
            )
    if live or pid is not None:
        if gc_log or log or words:
            raise language.CallError(messages.CALL_DOCTOR_LIVE())
        call += ["--live", *([] if pid is None else ["--pid", str(pid)])]
        examined = doctor_live.live(pid, timeout)
    elif gc_log or log or words:
        examined = _examined(words, gc_log, log, pattern, timeout)
    else:
        raise language.CallError(messages.CALL_DOCTOR_EVIDENCE())
    document = doctor_report.document(examined, locales.current())
    formats, location = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, location, call, as_json=as_json)
    if examined.has_incident:
        sys.exit(1)


def _examined(
    run_words: Sequence[Path],
    gc_log: Sequence[Path],
    log: Sequence[Path],
    pattern: str | None,
    timeout_s: float | None,
) -> Examination:
    """The examination of a run, of logs, or of logs with the trials and faults of a run."""
    stored = _run(run_words) if run_words else None
    if timeout_s is not None and not gc_log:
        raise language.CallError(messages.CALL_DOCTOR_TIMEOUT())
    if not gc_log and not log:
        assert stored is not None
        return run_evidence.examined(stored)
    events = () if stored is None else event_spans.of_run(stored)
    logs = doctor_files.read_logs(gc_log, log, pattern, timeout_s, events)
    if stored is not None:
        return run_evidence.examined(stored, logs.evidence, logs.readings)
    names = [name for reading in logs.readings for name in reading.files]
    return examination(", ".join(names), logs.evidence, readings=logs.readings)


def _run(words: Sequence[Path]) -> StoredRun:
    """The run of a name. Raises CallError for what is a file, or several runs."""
    name, *others = words
    if others:
        raise language.CallError(messages.CALL_DOCTOR_ONE_RUN(names=[str(word) for word in words]))
    if name.is_file():
        raise language.CallError(messages.CALL_DOCTOR_FILE(path=str(name)))
    return read_run(find_run(str(name)))
