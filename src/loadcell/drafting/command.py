"""Command lines of other tools: each option is taken once, and what nobody takes has no counterpart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from loadcell.drafting.databases import VARIABLES
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin
from loadcell.drafting.plan import load, plan
from loadcell.ingest.commands import SYNTAXES, Syntax, Word, split_words
from loadcell.model.message import Message, MessageCode
from loadcell.plan.problems import SettingError
from loadcell.plan.secret_patterns import is_secret_field
from loadcell.plan.secrets import holds_literal
from loadcell.plan.units import Duration

COMMAND_NO_COUNTERPART = MessageCode("draft-command.no-counterpart", "caution", options=list)
COMMAND_NUMBER = MessageCode("draft-command.number", option=str, value=str)
COMMAND_MISSING = MessageCode("draft-command.missing", program=str, argument=str)
COMMAND_SECRET = MessageCode("draft-command.secret", program=str)
COMMAND_NO_FILE = MessageCode("draft-command.no-file", option=str, path=str)
COMMAND_AS_IT_IS = MessageCode("draft-command.as-it-is", "info", program=str)
COMMAND_TITLE = MessageCode("draft-command.title", "info", command=str)


class CommandLine:
    """The words behind a program. Names of options are without dashes."""

    def __init__(self, origin: Origin, syntax: Syntax | Sequence[Word]) -> None:
        """`syntax` splits the words; or they are split already."""
        self.program = origin.name
        self.words = list(origin.words[1:])
        self._origin = origin
        self._options = split_words(self.words, syntax) if isinstance(syntax, Syntax) else list(syntax)
        self._taken: set[int] = set()

    def options(self, *names: str, having: str = "") -> list[Word]:
        """Options of these names in their order, those whose values have a text in them."""
        indices = [
            index for index, word in enumerate(self._options) if word.name in names and having in word.value
        ]
        self._taken.update(indices)
        return [self._options[index] for index in indices]

    def values(self, *names: str, having: str = "") -> list[str]:
        """Values of an option in all its spellings, in their order."""
        return [word.value for word in self.options(*names, having=having)]

    def value(self, *names: str) -> str | None:
        """The last value of an option."""
        values = self.values(*names)
        return values[-1] if values else None

    def flag(self, *names: str) -> bool:
        """True if the option is there."""
        return bool(self.values(*names))

    def integer(self, *names: str) -> int | None:
        """The value of an option as an integer. Raises DraftError."""
        value = self.value(*names)
        if value is None:
            return None
        if not re.fullmatch(r"\d{1,15}", value):
            raise DraftError(COMMAND_NUMBER(option=names[0], value=repr(value)))
        return int(value)

    def seconds(self, *names: str) -> str | None:
        """The value of an option, in seconds unless it has a unit, as a duration. Raises DraftError."""
        value = self.value(*names)
        if value is None:
            return None
        written = f"{value}s" if re.fullmatch(r"\d+(\.\d+)?", value) else value
        try:
            return Duration.read(re.sub(r"(?<=\d)m$", "min", written)).text
        except SettingError:
            raise DraftError(COMMAND_NUMBER(option=names[0], value=repr(value))) from None

    def file(self, option: str, name: str) -> str:
        """A file as the plan has to name it. Raises DraftError where there is none."""
        path = self._origin.file(name)
        if not (self._origin.directory / path).is_file():
            raise DraftError(COMMAND_NO_FILE(option=option, path=name))
        return path

    def arguments(self) -> list[str]:
        """Words that are no options."""
        return self.values("")

    def needless(self, *names: str) -> None:
        """Options for which loadcell needs none: it always does what they ask for."""
        self.values(*names)

    def notes(self) -> tuple[Message, ...]:
        """The options that nothing in the plan stands for."""
        ignored = [word for index, word in enumerate(self._options) if index not in self._taken]
        options = [_written(word) for word in ignored]
        return (COMMAND_NO_COUNTERPART(options=list(dict.fromkeys(options))),) if options else ()


def _is_secret(word: Word, syntax: Syntax) -> bool:
    """True of an option whose value is a secret, and of a header field that has one."""
    if word.name in ("H", "header"):
        name, colon, _ = word.value.partition(":")
        return bool(colon) and is_secret_field(name.strip())
    return bool(word.value) and (word.name in syntax.secret or is_secret_field(word.name))


def _written(word: Word) -> str:
    """The option as a command line has it, without its value, which may be a secret."""
    if not word.name:
        return word.value
    return f"{'-' if len(word.name) == 1 else '--'}{word.name}"


def numbers(**values: Value) -> dict[str, Value]:
    """The settings that the command line gives."""
    return {name: value for name, value in values.items() if value is not None}


def as_it_is(
    origin: Origin,
    tool: str,
    arguments: Sequence[str],
    settings: Mapping[str, Value],
    target: Section,
    notes: Sequence[Message] = (),
) -> Draft:
    """The plan that calls the tool itself, with these arguments; `settings` are those of the load.

    Raises DraftError for a secret among the arguments.
    """
    if holds_literal(" ".join(arguments)) or any(
        _is_secret(word, SYNTAXES[tool]) for word in split_words(arguments, SYNTAXES[tool])
    ):
        raise DraftError(COMMAND_SECRET(program=tool))
    workload = Section()
    workload.put("tool", Section(**{tool: shlex.join(arguments)}), COMMAND_AS_IT_IS(program=tool))
    section = plan(
        COMMAND_TITLE(command=origin.name),
        target,
        workload,
        load(settings, open_loop=False),
        levels=None,
        expect=(),
    )
    return Draft(section, tuple(notes), VARIABLES)
