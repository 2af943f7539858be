"""`loadcell compare A B`: compare runs, levels of one run's factor, or two machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from loadcell.analysis.compare import metrics as compared_metrics
from loadcell.analysis.compare.metrics import LeastEffects
from loadcell.cli import call, language, locales, messages, output
from loadcell.cli.arguments import baselines, runs
from loadcell.cli.command import Command, argument, command, option
from loadcell.cli.streams import echo
from loadcell.report.comparison import build as run_comparison
from loadcell.report.comparison import gather as gathering
from loadcell.report.hosts import comparison as machine_comparison
from loadcell.report.hosts import gather as machine_pair
from loadcell.report.hosts import gather as machines
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from loadcell.report.publish import ComparisonDocument

VERDICTS = ("slower", "faster", "ambiguous", "insufficient")


class _CompareCommand(Command):
    """`--against` takes every run that follows it, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each of its runs, as click wants it."""
        expanded: list[str] = []
        repeating = False
        for position, word in enumerate(args):
            if word.startswith("-"):
                repeating = word == "--against"
            elif repeating and args[position - 1] != "--against":
                expanded.append("--against")
            expanded.append(word)
        return super().parse_args(ctx, expanded)


def _factors(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The factors of the run typed so far."""
    return [CompletionItem(key) for key, _ in _varied(ctx) if key.startswith(incomplete)]


def _levels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The levels of the factor typed so far, or of the only one."""
    varied = dict(_varied(ctx))
    factor = ctx.params.get("factor") or (next(iter(varied)) if len(varied) == 1 else "")
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{level}")
        for level in varied.get(factor, [])
        if level.startswith(last)
    ]


def _metrics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Metrics that every run has."""
    return [CompletionItem(name) for name in compared_metrics.METRICS if name.startswith(incomplete)]


def _varied(ctx: click.Context) -> list[tuple[str, list[str]]]:
    """Factors with their levels, of the run typed so far; nothing where it cannot be read."""
    named = [*(ctx.params.get("named") or ()), *ctx.args]
    try:
        factors = stored_runs.read_run(run_finder.find_run(named[0])).run.factors if named else ()
    except layout.StoreError:
        return []
    return [(factor.key, [level.label for level in factor.levels]) for factor in factors]


@command("compare", cls=_CompareCommand)
@argument("named", metavar="RUN...", nargs=-1, shell_complete=runs)
@option("--baseline", metavar="NAME", shell_complete=baselines, group="runs")
@option("--against", metavar="RUN...", multiple=True, shell_complete=runs, group="runs")
@option("--factor", metavar="NAME", shell_complete=_factors, group="runs")
@option("--levels", shell_complete=_levels, metavar="A,B,...", group="runs")
@option("--metric", "metrics", multiple=True, metavar="METRIC", shell_complete=_metrics, group="criteria")
@option("--least-effect", "least_effects", metavar="PERCENT", multiple=True, group="criteria")
@option("--noise", metavar="RUN", shell_complete=runs, group="runs")
@option("--workload", "workloads", nargs=2, multiple=True, metavar="RUN RUN", group="runs")
@option("--anyway", is_flag=True, group="runs")
@option("--fail-on", multiple=True, type=click.Choice(VERDICTS), group="criteria")
@option(
    "--format", "formats", type=click.Choice(["html", "md", output.SUMMARY]), multiple=True, group="output"
)
@option("--link", metavar="URL", group="output")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def compare(
    named: tuple[str, ...],
    baseline: str | None,
    against: tuple[str, ...],
    factor: str | None,
    levels: str | None,
    metrics: tuple[str, ...],
    least_effects: tuple[str, ...],
    noise: str | None,
    workloads: tuple[tuple[str, str], ...],
    anyway: bool,
    fail_on: tuple[str, ...],
    formats: tuple[str, ...],
    link: str | None,
    out: str | None,
    as_json: bool,
) -> int:
    """Compare runs, levels or machines."""
    command_line = call.command_line()
    summarised, (formats, path) = output.of_comparison(formats, out, link)
    lang = locales.DEFAULT if as_json and path is None else locales.current()
    try:
        machines = _machines(named, baseline)
        of_runs = {
            "--against": against,
            "--factor": factor,
            "--levels": levels,
            "--metric": metrics,
            "--noise": noise,
        }
        alone = not any(of_runs.values())
        if workloads and not alone:
            option = next(option for option, values in of_runs.items() if values)
            raise language.CallError(messages.CALL_WORKLOAD_OF_MACHINES(option=option))
        if workloads or (alone and _are_machines(machines)):
            for option, values in (("--least-effect", least_effects), ("--fail-on", fail_on)):
                if values:
                    raise language.CallError(messages.CALL_MACHINES_NO_VERDICT(option=option))
            document = _of_machines(machines, workloads, anyway, lang, command_line)
        else:
            wanted = _wanted(named, baseline, against, factor, levels, metrics, least_effects, noise, anyway)
            _say_unfinished(path for path, _ in (*wanted.runs, *wanted.against))
            document = run_comparison.document(gathering.gather(wanted), lang, command_line)
        if summarised and not as_json:
            output.show_summary(document, formats, path, command_line, link)
        else:
            output.show(document, formats, path, command_line, as_json=as_json)
    except compared_metrics.CannotCompareError as error:
        raise click.ClickException(error.written(language.written)) from None
    if document.verdicts & set(fail_on):
        return 1
    if fail_on and document.undecided:
        return 3
    return 3 if document.incomplete else 0


def _of_machines(
    named: Sequence[str],
    workloads: Sequence[tuple[str, str]],
    anyway: bool,
    lang: str,
    command: Sequence[str],
) -> ComparisonDocument:
    """Two machines, and the runs of workloads that ran on both. Raises StoreError and CannotCompareError."""
    if len(named) != 2:
        raise language.CallError(messages.CALL_TWO_MACHINES(count=len(named)))
    return machine_comparison.document(
        machine_pair.compared(named[0], named[1], workloads, lang, anyway=anyway), lang, command
    )


def _say_unfinished(paths: Iterable[Path]) -> None:
    """Note on standard error which runs have not ended, and how many of their trials have."""
    for path in dict.fromkeys(paths):
        if stored_runs.state_of(path, stored_runs.read_record(path)) == "running":
            stored = stored_runs.read_run(path)
            done = sum(trial.status == "ok" for trial in stored.trials)
            note = messages.RUN_STILL_RUNNING(run=path.name, done=done, count=len(stored.run.trials))
            echo(language.written(note), err=True)


def _machines(named: tuple[str, ...], baseline: str | None) -> tuple[str, ...]:
    """All named runs, those of a baseline first."""
    return named if baseline is None else (*map(str, run_finder.find_baseline(baseline)), *named)


def _are_machines(named: Sequence[str]) -> bool:
    """True if these are machines rather than runs of a target: JSON of `loadcell host`, or two baselines."""
    if any(machines.is_document(name) for name in named):
        return True
    return len(named) == 2 and all(machines.is_baseline(run_finder.find_run(name)) for name in named)


def _wanted(
    named: tuple[str, ...],
    baseline: str | None,
    against: tuple[str, ...],
    factor: str | None,
    levels: str | None,
    metrics: tuple[str, ...],
    least_effects: tuple[str, ...],
    noise: str | None,
    anyway: bool,
) -> gathering.Wanted:

    base = () if baseline is None else run_finder.find_baseline(baseline)
    first: list[tuple[Path, str | None]] = [(path, baseline if len(base) == 1 else None) for path in base]
    first += [(run_finder.find_run(name), None) for name in against]
    chosen: list[tuple[Path, str | None]] = [(run_finder.find_run(name), None) for name in named]
    if not named:
        raise language.CallError(messages.CALL_NO_RUN())
    return gathering.Wanted(
        runs=chosen if against or len(base) > 1 else [*first, *chosen],
        against=first if against or len(base) > 1 else (),
        against_label=None if against else baseline,
        factor=factor,
        levels=tuple(part.strip() for part in levels.split(",")) if levels else (),
        metrics=metrics,
        least_effects=_least_effects(least_effects),
        noise=None if noise is None else run_finder.find_run(noise),
        anyway=anyway,
    )


def _least_effects(texts: Sequence[str]) -> LeastEffects:
    """`1%` for all metrics, `p99=10%` for one."""
    named: dict[str, float] = {}
    everywhere: float | None = None
    for text in texts:
        metric, equals, share = text.rpartition("=")
        if equals:
            named[metric] = _fraction(share)
        else:
            everywhere = _fraction(text)
    return LeastEffects(everywhere, named)


def _fraction(text: str) -> float:
    """`2%` as 0.02."""
    try:
        value = float(text.removesuffix("%")) / 100 if text.endswith("%") else float("nan")
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise language.CallError(messages.CALL_PERCENTAGE_BETWEEN(option="--least-effect", text=text))
    return value
