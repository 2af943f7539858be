"""Destinations of pages by the options --out and --format, and output of a document in the requested form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.cli import language, messages
from loadcell.cli.streams import echo, echo_json
from loadcell.report.render import markdown, terminal
from loadcell.store import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.model.message import MessageCode
    from loadcell.report.publish import ComparisonDocument, Document

#: The format of pull requests: it is printed, whatever else is written.
SUMMARY = "summary"
_ADDRESS = re.compile(r"https?://[^\s/]\S*")
_TYPES = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}


def of_report(formats: tuple[str, ...], out: str | None) -> tuple[tuple[str, ...], Path | None]:
    """Formats and path of a report; without --out the directory of its run."""
    path = None if out is None else Path(out)
    if path is None or not path.suffix or path.is_dir():
        return formats, path
    if len(formats) > 1:
        raise language.CallError(messages.CALL_OUT_ONE_FILE(out=out, count=len(formats)))
    return formats or (_format(path, messages.CALL_OUT_REPORT_TYPE),), path


def of_comparison(
    formats: tuple[str, ...], out: str | None, link: str | None
) -> tuple[bool, tuple[tuple[str, ...], Path | None]]:
    """True if a summary is requested; formats and path of a comparison."""
    summarised = SUMMARY in formats
    pages = tuple(name for name in formats if name != SUMMARY)
    if link is not None and not summarised:
        raise language.CallError(messages.CALL_LINK_WITHOUT_SUMMARY())
    if link is not None and not _ADDRESS.fullmatch(link):
        raise language.CallError(messages.CALL_LINK(text=link))
    if summarised and out is None and "md" in pages:
        raise language.CallError(messages.CALL_SUMMARY_AND_MARKDOWN())
    return summarised, _of_pages(pages, out)


def _of_pages(formats: tuple[str, ...], out: str | None) -> tuple[tuple[str, ...], Path | None]:
    """Formats of pages and their path; only Markdown may be printed instead."""
    if out is None:
        if "html" in formats:
            raise language.CallError(messages.CALL_FORMAT_WITHOUT_OUT())
        return formats, None
    path = Path(out)
    if not path.suffix or path.is_dir():
        return formats or ("html", "md"), path
    format_of_file = _format(path, messages.CALL_OUT_TYPE)
    if formats and set(formats) != {format_of_file}:
        raise language.CallError(messages.CALL_OUT_FORMATS(out=out, formats=language.both(formats)))
    return (format_of_file,), path


def _format(path: Path, code: MessageCode) -> str:
    """The format by the suffix of a file."""
    if path.suffix not in _TYPES:
        raise language.CallError(code(suffix=path.suffix))
    return _TYPES[path.suffix]


def show(
    document: Document,
    formats: Sequence[str],
    location: Path | None,
    command: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Write the requested files, and print the others; with `as_json` standard output is JSON only.

    `command` created the document: with `--out` it writes the page.
    """
    if as_json:
        echo_json(document.json())
    elif location is None and formats:
        echo(document.markdown(), nl=False)
        return
    written = document.publish(formats, location) if location is not None else []
    if not as_json:
        terminal.render(document.brief(None if written else _writing(document, command)))
    for path in written:
        echo(path, err=as_json)


def show_summary(
    document: ComparisonDocument,
    formats: Sequence[str],
    location: Path | None,
    command: Sequence[str],
    link: str | None,
) -> None:
    """Write the requested files, and print the summary of a pull request. `link` is the address of the full
    report; without one, the summary has its path or the command that writes it.
    """
    if document.summary is None:
        raise language.CallError(messages.CALL_SUMMARY_OF_MACHINES())
    written = document.publish(formats, location) if location is not None else []
    location_of_report = link or (str(written[0]) if written else _writing(document, command))
    echo(markdown.render_summary(document.summary(location_of_report)), nl=False)
    for path in written:
        echo(path, err=True)


def _writing(document: Document, command: Sequence[str]) -> str:
    """The command that writes the page."""
    return f"{' '.join(map(layout.quoted, command))} --out {document.stem}.html"
