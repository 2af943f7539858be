"""The command line: a table of commands, each in a separate module that is imported only when it is called.

Exit status: 0 success; 1 an expectation was missed or could not be judged, or a comparison has a verdict of
--fail-on; 2 the plan or the call is wrong; 3 some trials did not complete; 4 a fault could not
be undone; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import itertools
import keyword
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
from click import shell_completion

from loadcell.cli import call, click_texts, display, help_texts, language, locales, messages
from loadcell.cli.command import GENERAL, MAX_WIDTH, Group, option
from loadcell.cli.streams import echo, show_error
from loadcell.plan import problems

EXIT_MISSED = 1
EXIT_WRONG = 2
EXIT_INCOMPLETE = 3
EXIT_INTERRUPTED = 130
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
#: Errors of a write to standard output; files of loadcell have error classes with their paths.
_OUTPUT_FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
#: Options whose answer a wrong setting must not keep from the user.
_ANSWERED_IN_ANY_CASE = frozenset({"-h", "--help", "--version"})

#: Every command, in the order of `loadcell --help`. `loadcell.cli.<name>` holds the command of that name
#: (`import_` that of `import`, which Python keeps for itself), and `help/<name>.toml` its help page.
COMMANDS = (
    "run",
    "check",
    "http",
    "redis",
    "sql",
    "stream",
    "init",
    "report",
    "compare",
    "recommend",
    "doctor",
    "baseline",
    "faults",
    "host",
    "import",
    "list",
    "clean",
    "show",
    "history",
    "query",
    "plans",
    "completion",
    "version",
)


class _ReaderGoneError(Exception):
    """Write to a closed pipe. click ends a BrokenPipeError with exit status 1."""


@contextlib.contextmanager
def _closed_pipe() -> Iterator[None]:
    """Turn a BrokenPipeError into one that click passes on."""
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGoneError from error


class LazyGroup(Group):
    """The root command, which knows its commands' names and help without importing them."""

    is_root = True

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module_name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"loadcell.cli.{module_name}")
        for value in vars(module).values():
            if isinstance(value, click.Command) and value.name == cmd_name:
                return value
        raise LookupError(f"loadcell.cli.{cmd_name} defines no command named {cmd_name}")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = problems.nearest(name, COMMANDS)
        code = messages.CALL_NO_COMMAND_NEAR if near else messages.CALL_NO_COMMAND
        error = code.pick(name=repr(name), near=near, commands=[*COMMANDS])
        raise language.CallError(error, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        names = [
            shell_completion.CompletionItem(name, help=self.summary(ctx, name))
            for name in COMMANDS
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def summary(self, ctx: click.Context, name: str) -> str:  # noqa: ARG002
        """One line about a command, without its module and help page."""
        return help_texts.summaries()[name][locales.current()]

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """A parsed call; `--help` prints here."""
        with _closed_pipe():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its errors become those of click, in the command's language."""
        try:
            with _closed_pipe():
                return super().invoke(ctx)
        except (_ReaderGoneError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            shown = language.shown(error)
            if shown is error:
                raise
            raise shown from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; every error ends in an exit status and a few lines, never in a traceback."""
        # Most objects that a command makes at its start stay until its end: repeated searches for cycles
        # among them take a tenth of the time of `check`.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        # The matrices of an analysis are small: a second thread of OpenBLAS only waits in a loop, for a tenth
        # of a report's CPU time. Programs under test do not get the variable (`plain_environment`).
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        words = sys.argv[1:] if args is None else args
        # The language of the command is kept with this context, which outlives that of the command.
        with click.Context(self) as root:
            call.note(root, words)
            locales.choose(root, locales.of_words(words) or locales.of_environment())
            display.adapt_streams(keep_utf8=locales.is_chosen(words), language=locales.current())
            if locales.current() != locales.DEFAULT:
                click_texts.install()
            try:
                _check_language_variable(words)
                status = super().main(
                    args, prog_name, complete_var, standalone_mode=False, parent=root, **extra
                )
                sys.stdout.flush()
            except BaseException as error:
                status = _status_of(error)
        # The remaining objects go with the process: a search for cycles among them would take a third of a
        # second where altair is loaded. Only DuckDB complains of remaining objects.
        if "duckdb" not in sys.modules:
            gc.freeze()
        sys.exit(status if isinstance(status, int) else 0)


def _check_language_variable(words: Sequence[str]) -> None:
    """Raise CallError for a value of LOADCELL_LANG that is not a language; only warn if help or the
    version is requested. With `--lang` the variable has no meaning.
    """
    value = os.environ.get(locales.VARIABLE, "")
    if not value or value in locales.LANGUAGES or locales.of_words(words) is not None:
        return
    languages = [*locales.LANGUAGES]
    if words and not _ANSWERED_IN_ANY_CASE.intersection(
        itertools.takewhile(lambda word: word != "--", words)
    ):
        raise language.CallError(messages.CALL_UNKNOWN_LANGUAGE(value=value, languages=languages))
    warning = messages.UNKNOWN_LANGUAGE_IGNORED(value=value, languages=languages)
    echo(language.written(warning), err=True)


def _status_of(error: BaseException) -> int:
    """Exit status of an exception, after its message was printed on standard error."""
    if isinstance(error, (BrokenPipeError, _ReaderGoneError)):
        # The reader (`| head`) has enough; the interpreter must not complain when it closes standard output.
        _discard_output()
        return 0
    if isinstance(error, OSError) and error.errno in _OUTPUT_FAILURES and error.filename is None:
        _discard_output()
        show_error(language.CallError(messages.CALL_OUTPUT_LOST(reason=error.strerror or "")))
        return EXIT_INCOMPLETE
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else EXIT_WRONG if error.code else 0
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        show_error(error)
        return EXIT_WRONG
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        note = " ".join(getattr(error.__cause__ or error, "__notes__", ()))
        message = messages.INTERRUPTED_NOTE(note=note) if note else messages.INTERRUPTED()
        echo(language.written(message), err=True)
        return EXIT_INTERRUPTED
    if display.is_verbose():
        echo(language.trace(error), nl=False, err=True)
    echo(language.written(language.unexpected(error)), err=True)
    return EXIT_INCOMPLETE


def _discard_output() -> None:
    """Discard the buffer of standard output, which the interpreter would write at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        importlib.import_module("loadcell.cli.version").show(ctx, param, wanted)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH},
)
@option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, group=GENERAL)
def main() -> None:
    """Controlled performance experiments."""


__all__ = ["COMMANDS", "EXIT_INCOMPLETE", "EXIT_INTERRUPTED", "EXIT_MISSED", "EXIT_WRONG", "main"]
