"""`loadcell doctor --gc-log FILE...` and `--live`: known incidents, recognised from evidence."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from loadcell.cli import doctor_live, language, locales, messages, output
from loadcell.cli.arguments import Positive
from loadcell.cli.command import argument, command, option
from loadcell.incidents import gc_logs
from loadcell.incidents.examination import Examination, examination
from loadcell.ingest import base
from loadcell.ingest import inputs as input_files
from loadcell.report.doctor import document as doctor_report


@command("doctor")
@argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE...]")
@option(
    "--gc-log", "gc_log", multiple=True, type=click.Path(path_type=Path), metavar="FILE...", group="input"
)
@option("--live", is_flag=True, group="input")
@option("--pid", type=click.IntRange(1), metavar="PID", group="input")
@option("--timeout", type=Positive(), metavar="SECONDS", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def doctor(
    files: tuple[Path, ...],
    gc_log: tuple[Path, ...],
    live: bool,
    pid: int | None,
    timeout: float | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Recognise known incidents in GC logs, or on this host."""
    if live or pid is not None:
        if gc_log or files:
            raise language.CallError(messages.CALL_DOCTOR_LIVE())
        words = ("loadcell", "doctor", "--live", *(() if pid is None else ("--pid", str(pid))))
        _show(doctor_live.live(pid), words, out, as_json=as_json)
        return
    if not gc_log:
        raise language.CallError(messages.CALL_DOCTOR_EVIDENCE())
    named = (*gc_log, *files)
    with input_files.Inputs() as inputs, input_files.Bar(sys.stderr) as on_progress:
        try:
            paths = [
                (plain, str(path))
                for path in named
                for plain in (inputs.plain([path], on_progress) if _is_stream(path) else [path])
            ]
            timeout_ns = None if timeout is None else round(timeout * 1e9)
            logs = gc_logs.read(paths, timeout_ns, on_progress)
        except base.ImportProblemError as error:
            raise inputs.naming(error) from None
    title = ", ".join(logs.reading.files)
    examined = examination(title, logs.jvms, readings=[logs.reading])
    _show(examined, ("loadcell", "doctor", "--gc-log", *map(str, named)), out, as_json=as_json)


def _show(examined: Examination, words: Sequence[str], out: str | None, *, as_json: bool) -> None:
    """Print or write an examination; the exit status is 1 if there is an incident."""
    document = doctor_report.document(examined, locales.current())
    formats, location = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, location, words, as_json=as_json)
    if examined.has_incident:
        sys.exit(1)


def _is_stream(path: Path) -> bool:
    """True for what can be read once: a pipe, or standard input."""
    return path == input_files.STDIN or (path.exists() and not path.is_file() and not path.is_dir())
