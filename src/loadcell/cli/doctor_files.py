"""Files of `loadcell doctor`: words behind an option of files are further files of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from loadcell.cli.command import Command
from loadcell.incidents import application_logs, event_spans, gc_logs
from loadcell.incidents.evidence.application_log import Spans
from loadcell.incidents.evidence.base import Evidence, Reading
from loadcell.ingest import base
from loadcell.ingest import inputs as input_files
from loadcell.ingest.log_contents import must_be_log_text


class FilesCommand(Command):
    """A command with options that take several files each, as a shell names them: `--log app.log*`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with the option in front of each of its files."""
        return super().parse_args(ctx, list(self._spread(args)))

    def _spread(self, args: Sequence[str]) -> Iterator[str]:
        options = {name: item for item in self.params if isinstance(item, click.Option) for name in item.opts}
        current = ""
        words = iter(args)
        for word in words:
            if word == "--":
                yield word
                yield from words
                return
            item = options.get(word)
            if item is not None and item.multiple:
                current = word
                yield word
                yield from (value for value in [next(words, None)] if value is not None)
            elif item is not None and not item.is_flag:
                yield word
                yield from (value for value in [next(words, None)] if value is not None)
            elif current and (not word.startswith("-") or word == "-"):
                yield current
                yield word
            else:
                yield word


@dataclass(frozen=True)
class Logs:
    """Evidence of logs, and how well they were read."""

    evidence: tuple[Evidence, ...] = ()
    readings: tuple[Reading, ...] = ()


def read_logs(
    gc_files: Sequence[Path],
    log_files: Sequence[Path],
    pattern: str | None,
    timeout_s: float | None,
    events: tuple[Spans, ...] = (),
) -> Logs:
    """The evidence of GC logs and of logs of services, which are compared with one another.

    `events` are those of a run. Raises ImportProblemError.
    """
    evidence: list[Evidence] = []
    readings: list[Reading] = []
    with ExitStack() as stack:
        inputs = stack.enter_context(input_files.Inputs(check=must_be_log_text))
        on_progress = stack.enter_context(input_files.Bar(sys.stderr))

        def plain(files: Sequence[Path]) -> list[tuple[Path, str]]:
            return [
                (copy, str(path))
                for path in files
                for copy in (inputs.plain([path], on_progress) if _is_stream(path) else [path])
            ]

        try:
            if gc_files:
                timeout_ns = None if timeout_s is None else round(timeout_s * 1e9)
                collected = gc_logs.read(plain(gc_files), timeout_ns, on_progress)
                evidence += collected.jvms
                readings.append(collected.reading)
                events += tuple(event_spans.of_collections(jvm) for jvm in collected.jvms)
            if log_files:
                log, reading = application_logs.read(plain(log_files), pattern, events, on_progress)
                evidence.append(log)
                readings.append(reading)
        except base.ImportProblemError as error:
            raise inputs.naming(error) from None
    return Logs(tuple(evidence), tuple(readings))


def _is_stream(path: Path) -> bool:
    """True for what can be read once: a pipe, or standard input."""
    return path == input_files.STDIN or (path.exists() and not path.is_file() and not path.is_dir())
