"""`loadcell sql DSN`: a load on a database, without a plan file."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.cli import language, messages
from loadcell.cli.adhoc import Hidden, hide, line_options, typed, words
from loadcell.cli.adhoc import dsn as adhoc_dsn
from loadcell.cli.adhoc import plan as adhoc_plan
from loadcell.cli.command import argument, command, option
from loadcell.plan import problems as plan_problems
from loadcell.workloads.sql import parameters as sql_parameters
from loadcell.workloads.sql import text as sql_text

if TYPE_CHECKING:
    from loadcell.cli.adhoc import LineOptions
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Message
    from loadcell.plan.workload import Variants

EMBEDDED = "embedded"
DEFAULT = "sysbench:oltp_read_only"


def _workloads(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes workloads, and their scripts behind the colon; those of the database that is typed
    already.
    """
    targets = tuple(adhoc_dsn.databases())
    # Behind an option without a value, click leaves the argument among the unparsed words.
    if dsn := ctx.params.get("dsn") or next(iter(ctx.args), None):
        with contextlib.suppress(language.CallError):
            targets = tuple(_target(dsn, {})[0])
    return [CompletionItem(name) for name in _variants_of(*targets) if name.startswith(incomplete)]


def _variants_of(*targets: str) -> list[str]:
    """Every workload of these databases that needs no file, as `--workload` has it; those of the default
    first.
    """
    fitting: dict[str, type[Any]] = {}
    for target in targets:
        fitting |= parts.installed().workloads_for(target)
    return [
        name_of_variant
        for name, part in sorted(fitting.items(), key=lambda item: item[0] != DEFAULT.partition(":")[0])
        if (variants := part.variants) is not None
        for name_of_variant in ([f"{name}:{variant}" for variant in variants.names] or [name])
    ]


@command("sql")
@argument("dsn", metavar="DSN", shell_complete=words(EMBEDDED, "postgresql://", "mysql://"))
@option("--workload", "-w", metavar="NAME[:SCRIPT]", shell_complete=_workloads, group="workload")
@option("--query", metavar="SQL", group="workload")
@option("--param", "-p", "parameters", multiple=True, metavar="NAME=VALUES", group="workload")
@option("--script", type=click.Path(path_type=Path), metavar="FILE", group="workload")
@line_options()
def sql(
    dsn: str,
    workload: str | None,
    query: str | None,
    parameters: tuple[str, ...],
    script: Path | None,
    options: LineOptions,
) -> int:
    """Load-test a database."""
    target, shown, secrets = _target(dsn, os.environ)
    work, described = _work(next(iter(target)), workload, query, script, options.sets, parameters)
    env = hide(secrets)
    line = adhoc_plan.Line(
        "sql",
        messages.TITLE_ON(work=described, target=shown),
        target,
        work,
        typed("sql", [dsn], secrets),
    )
    return adhoc_plan.act(line, options, env)


def _target(dsn: str, env: Mapping[str, str]) -> tuple[JsonObject, str | Message, list[Hidden]]:
    """The target, the printable form of a DSN, and its password, if any. Raises CallError for an invalid
    DSN.
    """
    if dsn == EMBEDDED:
        return {"postgres": {"server": "embedded"}}, messages.TITLE_EMBEDDED(), []
    return adhoc_dsn.target(dsn, env)


def _work(
    target: str,
    workload: str | None,
    query: str | None,
    script: Path | None,
    sets: Sequence[str],
    parameters: Sequence[str],
) -> tuple[JsonObject, str]:
    """The workload as a section of a plan, and its name. Raises CallError."""
    names = [
        name
        for name, value in (("--workload", workload), ("--query", query), ("--script", script))
        if value is not None
    ]
    if len(names) > 1:
        raise language.CallError(messages.CALL_ONE_WORKLOAD(options=language.both(names)))
    is_script = query is not None and _is_script(query, sets)
    if parameters and (query is None or is_script):
        raise language.CallError(messages.CALL_PARAMETERS_WITHOUT_QUERY())
    if query is not None and not is_script:
        statement = _statement(query)
        values = _parameters(statement, parameters)
        return {"sql": {"statements": [statement], **({"parameters": values} if values else {})}}, _short(
            query
        )
    if query is not None or script is not None:
        if "pgbench" not in parts.installed().workloads_for(target):
            raise language.CallError(
                messages.CALL_POSTGRES_ONLY(option=names[0], target=target, workload=DEFAULT)
            )
        options: JsonObject = {"scripts": [str(script and script.absolute())]}
        if query is not None:
            _check_variables(query, sets)
            options = {"scripts": ["query"], "inline": {"query": _statement(query)}}
        return {"pgbench": {**options, "init_steps": ""}}, f"{script}" if query is None else _short(query)
    name, colon, variant = (workload or DEFAULT).partition(":")
    _check(target, name, workload or DEFAULT)
    variants: Variants | None = parts.installed().workloads[name].variants
    if colon and (variants is None or not variants.option):
        error = messages.CALL_NO_SCRIPTS(
            text=workload, workload=name, target=target, names=_variants_of(target)
        )
        raise language.CallError(error)
    if not colon or variants is None:
        return {name: {}}, name
    return {name: {variants.option: [variant] if variants.listed else variant}}, f"{name} {variant}"


def _check(target: str, name: str, text: str) -> None:
    """Raises CallError for an unknown workload, or one of another database."""
    installed_parts = parts.installed()
    fitting = installed_parts.workloads_for(target)
    if name in fitting:
        return
    names = _variants_of(target)
    if name in installed_parts.workloads:
        error = messages.CALL_OTHER_TARGET(text=text, workload=name, target=target, names=names)
        raise language.CallError(error)
    near = plan_problems.nearest(name, fitting)
    code = messages.CALL_NO_WORKLOAD_NEAR if near else messages.CALL_NO_WORKLOAD
    raise language.CallError(code.pick(text=text, workload=repr(name), near=near, names=names))


def _statement(query: str) -> str:
    """A query as a script."""
    if not query.strip():
        raise language.CallError(messages.CALL_EMPTY_QUERY())
    return query.strip()


def _is_script(query: str, sets: Sequence[str]) -> bool:
    """True if it is in pgbench's language: it has commands, or variables that are set as pgbench's."""
    return bool(_COMMAND.search(query)) or any(item.startswith("workload.pgbench.") for item in sets)


def _parameters(statement: str, texts: Sequence[str]) -> JsonObject:
    """Values of the parameters as a section of a plan. Raises CallError."""
    used = list(dict.fromkeys(sql_text.places(statement)))
    values: JsonObject = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not (equals and name.isidentifier() and written):
            raise language.CallError(messages.CALL_QUERY_PARAMETER(text=text))
        if name not in used:
            near = plan_problems.nearest(name, used)
            code = messages.CALL_PARAMETER_UNUSED_NEAR if near else messages.CALL_PARAMETER_UNUSED
            raise language.CallError(code.pick(name=name, near=near))
        values[name] = sql_parameters.of_line(written)
    for name in used:
        if name not in values:
            raise language.CallError(messages.CALL_NO_VALUE(name=f":{name}", setting=f"-p {name}=1..1000"))
    return values


#: A command of a script.
_COMMAND = re.compile(r"(?:^|\s)\\[a-z]")
#: Text in which a colon begins no variable: strings, names in quotes, dollar quotes and comments.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/", re.DOTALL)
#: A variable where a value may stand; `::` casts, and `[1:n]` is a slice.
_VARIABLE = re.compile(r"(?:^|(?<=[\s(,=<>+*/%|-])):([A-Za-z_]\w*)")
#: Commands of a script that give variables values: of the first by name, of the second by columns.
_SET, _RESULT_VARIABLES = re.compile(r"\\set(?:shell)?\s+(\w+)"), re.compile(r"\\[ga]set\b")
#: The variables that pgbench defines itself.
_BUILT_IN = {"client_id", "scale", "random_seed", "default_seed"}


def _check_variables(query: str, sets: Sequence[str]) -> None:
    """Refuse a variable without a value, which pgbench would send to the server. Raises CallError."""
    prefix = "workload.pgbench.variables."
    if _RESULT_VARIABLES.search(query):
        return
    defined = {item.removeprefix(prefix).partition("=")[0] for item in sets if item.startswith(prefix)}
    defined |= {*_BUILT_IN, *_SET.findall(query)}
    for name in _VARIABLE.findall(_QUOTED.sub(" ", query)):
        if name not in defined:
            raise language.CallError(
                messages.CALL_NO_VALUE(name=f":{name}", setting=f"--set {prefix}{name}=1")
            )


#: What a title holds of a query.
_SHORT = 60


def _short(query: str) -> str:
    text = " ".join(query.split())
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
