"""Takes out of a run's records what tells whose machine it was: where it measured, against whom, and how it
was called.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loadcell.execution.interrupts import INTERRUPTED
from loadcell.model.json import JsonObject, convert, document
from loadcell.model.run_record import RunRecord
from loadcell.store.layout import ELSEWHERE_COPY, EVENTS, OUTPUT, RUN, TRIAL, cannot_write, resume_command
from loadcell.store.write import json_text, write_text

#: What stands for a directory and for another machine: each of a form that a plan takes.
DIRECTORY, MOUNT, PEER = "/directory", "/mount", "peer.example"


def unname(run: Path) -> None:
    """Replace paths and addresses of the target `host`, and the command line, in the records of a run.

    The run has ended, or was interrupted. To resume it, the places that it measures must be given again
    (`asked_again`). Raises StoreError.
    """
    trials = sorted((run / "trials").glob(f"*/{TRIAL}"))
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in (run / RUN, *trials)}
    instead = _instead(documents.values())
    documents[run / RUN] |= {"command": [], "plan_directory": None, "anonymous": True}
    by = convert(RunRecord, documents[run / RUN]).resumed_by
    for plain in documents.values():
        _resume_command(plain, run, by)
    texts = [path for name in (EVENTS, OUTPUT) for path in (run / name, *run.glob(f"trials/*/{name}"))]
    path = run
    try:
        for path, plain in documents.items():
            write_text(path, json_text(_replaced(plain, instead)))
        for path in texts:
            if path.is_file():
                write_text(path, _resumed(path.read_text(encoding="utf-8", errors="replace"), instead))
    except OSError as error:
        raise cannot_write(path, error, resume_command(run, by), ELSEWHERE_COPY) from None


def anonymous_run(run: RunRecord) -> RunRecord:
    """Record as an anonymous run has it; a resumed anonymous run is compared with it."""
    plain = document(run)
    replaced = _instead([plain])
    return convert(RunRecord, {key: _replaced(value, replaced) for key, value in plain.items()})


def asked_again(sets: Iterable[str]) -> dict[str, str]:
    """Settings of an anonymised run (path -> placeholder) that its changes of the plan do not give."""
    pairs = (text.partition("=") for text in sets)
    return {path: value for path, _, value in pairs if DIRECTORY in value or MOUNT in value or PEER in value}


def _resume_command(document: JsonObject, run: Path, by: str) -> None:
    """The command that resumes the run, as it is called from beside it."""
    if document.get("reason_code") == "interrupted":
        reason = INTERRUPTED(resume=resume_command(run.name, by))
        document.update(reason_args=reason.plain_arguments, advice=reason.advice)


def _instead(documents: Any) -> dict[str, str]:
    """Replacements, the longest first: a path within another precedes that one."""
    placeholders: dict[str, str] = {}
    for plain in documents:
        for options in _targets(plain):
            if options.get("directory"):
                placeholders[str(options["directory"])] = DIRECTORY
            if options.get("peer"):
                host, _, port = str(options["peer"]).rpartition(":")
                placeholders |= {f"{host}:{port}": f"{PEER}:{port}", host: PEER}
        data = (plain.get("target") or {}).get("data") or {}
        for options_of_data in (data, data.get("image") or {}):
            if options_of_data.get("path"):
                placeholders[options_of_data["path"]] = f"{DIRECTORY}/{Path(options_of_data['path']).name}"
            if options_of_data.get("mount", "/") != "/":
                placeholders[options_of_data["mount"]] = MOUNT
    return dict(sorted(placeholders.items(), key=lambda pair: -len(pair[0])))


def _targets(document: JsonObject) -> Iterator[JsonObject]:
    """Options of targets in settings."""
    for section in (document, *document.get("treatments", ())):
        target = (section.get("settings") or {}).get("target") or {}
        yield from (options for options in target.values() if isinstance(options, dict))


def _replaced(value: Any, instead: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _resumed(value, instead)
    if isinstance(value, list):
        return [_replaced(item, instead) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, instead) for key, item in value.items()}
    return value


def _resumed(text: str, instead: Mapping[str, str]) -> str:
    for private, public in instead.items():
        text = text.replace(private, public)
    return text
