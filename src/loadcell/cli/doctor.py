"""`loadcell doctor [RUN | --gc-log FILE... | --live]`: known incidents, recognised from evidence."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from loadcell.cli import doctor_live, language, locales, messages, output
from loadcell.cli.arguments import Positive, runs
from loadcell.cli.command import argument, command, option
from loadcell.incidents import gc_logs
from loadcell.incidents.examination import Examination, examination
from loadcell.incidents.runs import base as run_evidence
from loadcell.ingest import base
from loadcell.ingest import inputs as input_files
from loadcell.report.doctor import document as doctor_report
from loadcell.store.find import find_run
from loadcell.store.read import read_run


@command("doctor")
@argument("words", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]", shell_complete=runs)
@option(
    "--gc-log", "gc_log", multiple=True, type=click.Path(path_type=Path), metavar="FILE...", group="input"
)
@option("--live", is_flag=True, group="input")
@option("--pid", type=click.IntRange(1), metavar="PID", group="input")
@option("--timeout", type=Positive(), metavar="SECONDS", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def doctor(
    words: tuple[Path, ...],
    gc_log: tuple[Path, ...],
    live: bool,
    pid: int | None,
    timeout: float | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Recognise known incidents in a run, in logs, or on this host."""
    call = ["loadcell", "doctor", *(["--gc-log"] if gc_log else []), *map(str, (*gc_log, *words))]
    if live or pid is not None:
        if gc_log or words:
            raise language.CallError(messages.CALL_DOCTOR_LIVE())
        call += ["--live", *([] if pid is None else ["--pid", str(pid)])]
        examined = doctor_live.live(pid)
    elif gc_log:
        examined = _gc_logs((*gc_log, *words), timeout)
    elif words:
        examined = _run(words, timeout)
    else:
        raise language.CallError(messages.CALL_DOCTOR_EVIDENCE())
    document = doctor_report.document(examined, locales.current())
    formats, location = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, location, call, as_json=as_json)
    if examined.has_incident:
        sys.exit(1)


def _gc_logs(named: Sequence[Path], timeout_s: float | None) -> Examination:
    """The examination of GC logs; their names may follow the option as further words."""
    with input_files.Inputs() as inputs, input_files.Bar(sys.stderr) as on_progress:
        try:
            paths = [
                (plain, str(path))
                for path in named
                for plain in (inputs.plain([path], on_progress) if _is_stream(path) else [path])
            ]
            timeout_ns = None if timeout_s is None else round(timeout_s * 1e9)
            logs = gc_logs.read(paths, timeout_ns, on_progress)
        except base.ImportProblemError as error:
            raise inputs.naming(error) from None
    return examination(", ".join(logs.reading.files), logs.jvms, readings=[logs.reading])


def _run(words: Sequence[Path], timeout_s: float | None) -> Examination:
    """The examination of a run. Raises CallError for what is a file, or several runs."""
    name, *others = words
    if others:
        raise language.CallError(messages.CALL_DOCTOR_ONE_RUN(names=[str(word) for word in words]))
    if name.is_file():
        raise language.CallError(messages.CALL_DOCTOR_FILE(path=str(name)))
    if timeout_s is not None:
        raise language.CallError(messages.CALL_DOCTOR_TIMEOUT())
    return run_evidence.examined(read_run(find_run(str(name))))


def _is_stream(path: Path) -> bool:
    """True for what can be read once: a pipe, or standard input."""
    return path == input_files.STDIN or (path.exists() and not path.is_file() and not path.is_dir())
