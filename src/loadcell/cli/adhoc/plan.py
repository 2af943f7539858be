"""The plan that a command line stands for: its text, which the run's directory stores, and its execution.

Results are those of people without a plan file: one page on the terminal.
"""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from loadcell import __version__, parts
from loadcell.cli import language, locales, messages, new_file
from loadcell.cli import run as run_command
from loadcell.cli.adhoc import DURATION, LineOptions
from loadcell.cli.arguments import beginning
from loadcell.cli.streams import echo, echo_json
from loadcell.execution import runner as execution
from loadcell.execution import target_pool
from loadcell.model import trial_record
from loadcell.model.message import MessageCode
from loadcell.plan import load as plan_loader
from loadcell.plan import secrets as plan_secrets
from loadcell.plan.model import LONGEST_COUNT
from loadcell.plan.units import Duration
from loadcell.report import adhoc_summary
from loadcell.report.render import terminal
from loadcell.report.texts import Texts
from loadcell.store import layout
from loadcell.store import read as stored_runs
from loadcell.systems.base import TargetError

if TYPE_CHECKING:
    from loadcell.execution.runner import Ended
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Message

RUN_RESUMABLE = MessageCode("run.resumable", "info", resume=str)

#: A time series shorter than this says nothing of steadiness (`loadcell.stats.steady_state`): intervals get
#: shorter, down to the shortest there is.
_INTERVALS = 40
_LONGEST_INTERVAL_S, _SHORTEST_INTERVAL_S = 1.0, 0.1
_WIDTH = 116


@dataclass(frozen=True)
class Line:
    """Meaning of the words of a command: `target` and `workload` as in a plan.

    `command` is the command line without secrets, `name` what the run's directory is called by.
    """

    name: str
    title: Message | str
    target: JsonObject
    workload: JsonObject
    command: tuple[str, ...] = ()
    load: JsonObject = field(default_factory=dict)
    #: what the words themselves vary, before what the options do
    factors: JsonObject = field(default_factory=dict)


def text(line: Line, options: LineOptions) -> str:
    """The plan of a line with these options, in YAML."""
    document: JsonObject = {
        "title": line.title if isinstance(line.title, str) else _in_both_languages(line.title),
        "target": dict(line.target),
        "workload": dict(line.workload),
        "load": {**_load(options), **line.load},
    }
    factors = dict(line.factors)
    factors |= {
        f"load.{key}": list(levels)
        for key, levels in (("clients", options.clients), ("rate", options.rate))
        if len(levels) > 1
    }
    if factors:
        document["factors"] = factors
    document["repeats"] = options.repeats
    if options.seed is not None:
        document["seed"] = options.seed
    for text in options.sets:
        _put(document, text)
    yaml = YAML()
    yaml.width = _WIDTH
    yaml.default_flow_style = False
    out = io.StringIO()
    yaml.dump(document, out)
    return _head(line) + out.getvalue()


def _in_both_languages(title: Message) -> JsonObject:
    """A title as a plan has it, so that each report is in the language of its reader."""
    return {"en": title.text, "zh": Texts("zh").message(title)}


def _put(document: JsonObject, text: str) -> None:
    """Meaning of `--set PATH=VALUE`; the plan's reader finds what is wrong with it."""
    path, equals, value = text.partition("=")
    section, _, tail = path.strip().partition(".")
    if not equals or not section:
        raise language.CallError(messages.CALL_ASSIGNMENT(text=text))
    keys = [section, tail] if section == "factors" and tail else path.strip().split(".")
    try:
        read = YAML(typ="safe", pure=True).load(value)
    except YAMLError:
        raise language.CallError(messages.CALL_NO_YAML(path=path, value=repr(value))) from None
    for key in keys[:-1]:
        below = document.get(key)
        document[key] = document = dict(below) if isinstance(below, Mapping) else {}
    document[keys[-1]] = read


def _head(line: Line) -> str:
    """The command it stands for, in comments. Nothing of the command may end the comment."""
    printable = "".join(
        character if character.isprintable() else " " for character in shlex.join(line.command)
    )
    explanation = language.written(messages.SAVED_PLAN_HEAD(version=__version__))
    return f"# {printable}\n# {explanation}\n"


def _load(options: LineOptions) -> JsonObject:
    document: JsonObject = {}
    if len(options.clients) == 1:
        document["clients"] = options.clients[0]
    if len(options.rate) == 1:
        document["rate"] = options.rate[0]
    for key in ("threads", "timeout"):
        if getattr(options, key) is not None:
            document[key] = getattr(options, key)
    document["warmup"] = options.warmup
    counted = options.requests is not None or options.requests_per_client is not None
    for key in ("requests", "requests_per_client"):
        if getattr(options, key) is not None:
            document[key] = getattr(options, key)
    duration = options.duration or (LONGEST_COUNT.text if counted else DURATION)
    document["duration"] = duration
    if not counted or options.duration is not None:
        interval = _interval(Duration.read(duration), counted=counted)
        if interval != _LONGEST_INTERVAL_S:
            document["interval"] = Duration(interval).text
    return document


def _interval(duration: Duration, *, counted: bool) -> float:
    """Rows of the time series: as many as say something, none shorter than can be."""
    if counted:  # a limit says nothing of how long it will take
        return max(_SHORTEST_INTERVAL_S, min(_LONGEST_INTERVAL_S, float(duration)))
    return max(_SHORTEST_INTERVAL_S, min(_LONGEST_INTERVAL_S, float(duration) / _INTERVALS))


def act(line: Line, options: LineOptions, env: Mapping[str, str] | None = None) -> int:
    """Save the plan, or run it: the exit status.

    `env` holds the secrets (default: the process's environment). A server that does not accept a connection
    is an error of the call, and leaves no run.
    """
    written = text(line, options)
    secrets = os.environ if env is None else env
    with beginning():
        plan = plan_loader.load_text(
            written,
            Path(line.name),
            parts.installed(),
            env=secrets,
            placed=False,
            added_labels=options.labels,
        )
    if options.save_plan is not None:
        return _save(written, options.save_plan)

    how = execution.Options(out=options.out, seed=options.seed, command=line.command)
    hidden = plan_secrets.Secrets(secrets)
    runner = execution.Runner(plan, parts.installed(), how, run_command.progress(), secrets=hidden)
    try:
        target_pool.contact_external(parts.installed().targets, plan.treatments, hidden.reveal)
        ended = runner.run()
    except (layout.StoreError, TargetError) as error:
        language.show(error, of_call=True)
        return 3 if runner.begun else 2
    return _results(ended, options)


def _save(plan: str, path: Path) -> int:
    """Write the plan, over nothing that is there already."""
    if str(path) == "-":
        echo(plan, nl=False)
        return 0
    new_file.write(plan, path)
    message = messages.PLAN_SAVED(path=path, run=f"loadcell run {layout.quoted(path)}")
    echo(language.written(message), err=True)
    return 0


def _results(ended: Ended, options: LineOptions) -> int:
    """Results on standard output, reports into the run's directory."""
    stored = stored_runs.read_run(ended.path)
    run_command.say_abandoned(ended)
    reports: list[Path] = []
    # Who presses Ctrl-C does not wait for pictures of half a trial.
    drawn = [
        finished
        for finished in stored.trials
        if ended.state != "interrupted" or finished.status is trial_record.Status.OK
    ]
    if options.write_report and any(trial.totals for trial in drawn):
        reports, ended = run_command.written_report(ended)
    if options.as_json:
        echo_json(run_command.as_document(ended, stored, reports))
    elif stored.trials:
        terminal.render(adhoc_summary.of_run(stored, locales.current()))
    if ended.exit_status == 130:
        message = RUN_RESUMABLE(resume=layout.resume_command(ended.path, stored.run.resumed_by))
        echo(language.written(message), err=True)
    return ended.exit_status
