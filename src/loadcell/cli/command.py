"""Commands, groups and options whose help pages take their texts from the folder `help`.

A command declares names and types of its parameters alone. Its help page has the options by groups, then
examples, in the language of the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import click

from loadcell.cli import click_texts, display, help_page, help_texts, locales

F = TypeVar("F", bound=Callable[..., Any])
#: The group of the options that every command has; it stands last.
GENERAL = "general"
#: The group of options that name none.
OPTIONS = "options"
#: Options of other load generators, and those here with the same meaning.
_SYNONYMS = {
    "--connections": "--clients", "--concurrency": "--clients", "--users": "--clients", "--vus": "--clients",
    "--time": "--duration",
}  # fmt: skip
#: Options of other tools for what is an argument here, and the names of that argument.
_ADDRESS_OPTIONS = ("--host", "--hostname", "--server", "--port", "-p")
_ADDRESSES = ("HOST:PORT", "DSN", "URL")
#: Width of help pages where the terminal is wider.
MAX_WIDTH = 100


class Context(click.Context):
    """A context for help pages with Chinese text and on narrow terminals."""

    formatter_class = help_page.Formatter


class Option(click.Option):
    """An option of a group of the help page."""

    def __init__(self, *declarations: Any, group: str = OPTIONS, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Default and requirement; the range of a number is part of its error only."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def option(*declarations: str, group: str = OPTIONS, **attributes: Any) -> Callable[[F], F]:
    """Declare an option of a command; `group` is the heading under which its help page lists it."""
    return click.option(*declarations, cls=Option, group=group, **attributes)


argument = click.argument


def command(
    name: str, cls: type[Command] | None = None, **values: str
) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command; its help page is `help/NAME.toml`, whose placeholders stand for `values`."""
    return click.command(name, cls=cls or Command, values=values)


def group(
    name: str, cls: type[Group] | None = None, *, invoke_without_command: bool = False
) -> Callable[[Callable[..., Any]], Group]:
    """Declare a group of commands."""
    return click.group(name, cls=cls or Group, invoke_without_command=invoke_without_command)


def general_options() -> list[click.Parameter]:
    """The options that every command has."""

    def flag(*names: str, callback: Callable[[click.Context, click.Parameter, Any], None]) -> Option:
        return Option(
            names, is_flag=True, is_eager=True, expose_value=False, callback=callback, group=GENERAL
        )

    return [
        Option(
            ["--lang"], type=click.Choice(locales.LANGUAGES), is_eager=True, expose_value=False,
            callback=locales.note, group=GENERAL,
        ),
        flag("--quiet", "-q", callback=display.note_quiet),
        flag("--verbose", "-v", callback=display.note_verbose),
        flag("--no-color", callback=display.note_no_color),
    ]  # fmt: skip


class Command(click.Command):
    """A command with a help page of texts in two languages."""

    context_class = Context

    def __init__(self, *names: Any, values: Mapping[str, str] | None = None, **attributes: Any) -> None:
        super().__init__(*names, **attributes | {"help": None})
        self.params += general_options()
        self._values = values or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an option of another tool is answered with the one of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from loadcell.cli import language, messages  # noqa: PLC0415 - only errors need them

            option_name, address = error.option_name, self._address()
            synonym = _SYNONYMS.get(option_name, "")
            if address and option_name in _ADDRESS_OPTIONS:
                call = messages.CALL_ADDRESS(option=option_name, argument=address)
            elif any(synonym in parameter.opts for parameter in self.params):
                call = messages.CALL_SYNONYM(option=option_name, synonym=synonym)
            else:
                raise
            raise language.CallError(call, ctx) from None

    def _address(self) -> str | None:
        """The name of the argument that is the server's address."""
        names = (item.metavar for item in self.params if isinstance(item, click.Argument))
        return next((name for name in names if name in _ADDRESSES), None)

    def description(self, ctx: click.Context) -> str:
        """Description with the values that its placeholders stand for."""
        text = _in_language(texts(ctx).description)
        for name, value in self._values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Parts of the usage line."""
        return [click_texts.translated(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self.description(ctx))

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: descriptions explain arguments."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by their groups."""
        for name, rows in option_rows(self, ctx).items():
            with formatter.section(_in_language(help_texts.heading(name))):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        examples = texts(ctx).examples
        if not examples:
            return
        with formatter.section(_in_language(help_texts.heading("examples"))):
            for number, example in enumerate(examples):
                formatter.write("\n" if number else "")
                formatter.write_text(_in_language(example.purpose))
                for line in folded(example.command, formatter.width - formatter.current_indent - 2):
                    formatter.write(f"{' ' * (formatter.current_indent + 2)}{line}\n")


class Group(Command, click.Group):
    """A group of commands with the same help page, and the list of its commands."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section(_in_language(help_texts.heading("commands"))):
            formatter.write_dl([(name, self.summary(ctx, name)) for name in self.list_commands(ctx)])

    def summary(self, ctx: click.Context, name: str) -> str:
        """One line about a command: the first sentence of its description."""
        description = help_page.joined(_in_language(help_texts.of((*path(ctx), name)).description))
        return re.split(r"(?<=[.。])(?:\s|(?<=。))|(?<=[:：]) ", description)[0]


def texts(ctx: click.Context) -> help_texts.Help:
    """Texts of the command of a context."""
    return help_texts.of(path(ctx))


def path(ctx: click.Context) -> tuple[str, ...]:
    """Names of a command and of its groups, without the root."""
    names: list[str] = []
    inner: click.Context | None = ctx
    while inner is not None:
        if not getattr(inner.command, "is_root", False):
            names.insert(0, str(inner.command.name))
        inner = inner.parent
    return tuple(names)


def option_rows(command: click.Command, ctx: click.Context) -> Mapping[str, list[tuple[str, str]]]:
    """Names and texts of a command's options by group."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter, text in described(command, ctx):
        group = parameter.group if isinstance(parameter, Option) else GENERAL
        record = parameter.get_help_record(ctx)
        if record is not None:
            names, extra = record
            explanation = _in_language(text)
            groups.setdefault(group, []).append((names, f"{explanation}  {extra}" if extra else explanation))
    return {name: groups[name] for name in sorted(groups, key=help_texts.order)}


def described(command: click.Command, ctx: click.Context) -> Iterator[tuple[click.Option, help_texts.Text]]:
    """The options of a command with their texts."""
    page = texts(ctx)
    help_option = command.get_help_option(ctx)
    for parameter in command.get_params(ctx):
        if not isinstance(parameter, click.Option):
            continue
        if parameter is help_option:
            parameter.help = None
        names = ["help"] if parameter is help_option else [_long_name(parameter), str(parameter.name)]
        yield parameter, next(filter(None, map(page.parameter, names)), {})


def _long_name(parameter: click.Option) -> str:
    """`quote_formulas` of the option `--quote-formulas`: two options may set one parameter."""
    return max(parameter.opts, key=len).lstrip("-").replace("-", "_")


def folded(command: str, width: int) -> list[str]:
    """A command line as lines that a shell joins again."""
    word = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+"
    # an option stays with its value
    words = [part[0] for part in re.finditer(rf"--?\w[\w-]*\s(?!-){word}|{word}", command)]
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def _in_language(text: help_texts.Text) -> str:
    return text.get(locales.current(), "")
