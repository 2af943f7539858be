"""Sources of drafted plans: the contract of a source, the registry of all, and the draft itself.

A source is a module of `drafting.sources` that defines `DRAFT`. A word of the call names it (`postgres`,
`pgbench`), or it recognises the contents of the file that the call names.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from loadcell.drafting import sources
from loadcell.drafting.contents import Contents, read_contents
from loadcell.drafting.document import Section
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode, MessageError
from loadcell.plan.problems import nearest

DRAFT_UNKNOWN = MessageCode("draft.unknown", name=str, names=list)
DRAFT_UNKNOWN_NEAR = MessageCode("draft.unknown-near", name=str, near=str, names=list)
DRAFT_NO_FILE = MessageCode("draft.no-file", path=str)
DRAFT_UNKNOWN_FILE = MessageCode("draft.unknown-file", path=str, kinds=list)
DRAFT_WORD_TOO_MANY = MessageCode("draft.word-too-many", word=str, source=str)
DRAFT_NO_DSN = MessageCode("draft.no-dsn", source=str, names=list)
DRAFT_DSN_KIND = MessageCode("draft.dsn-kind", source=str, kind=str)


class DraftError(MessageError):
    """No plan can be drafted from the source."""


@dataclass(frozen=True)
class Origin:
    """The call: its words, and what else is known of the source.

    `directory` is where the plan will lie, from which it names files. `external` are the options of the
    target `external_kind` for an existing server, and `password` is that server's. `host` is the host of a
    recording whose requests become steps; None: the one with the most.
    """

    words: tuple[str, ...]
    directory: Path
    external_kind: str | None = None
    external: JsonObject = field(default_factory=dict)
    password: str | None = None
    host: str | None = None
    contents: Contents | None = None

    @property
    def name(self) -> str:
        """The source as the call names it, without the directory of a file or program."""
        return Path(self.words[0]).name

    def without_more_words(self) -> None:
        """Raises DraftError where words follow the name of the source."""
        if len(self.words) > 1:
            raise DraftError(DRAFT_WORD_TOO_MANY(word=self.words[1], source=self.words[0]))

    def file(self, name: str) -> str:
        """A file that the call names from the current directory, as the plan has to name it."""
        path = Path(name).expanduser().absolute()
        home = self.directory.absolute()
        return str(path.relative_to(home)) if path.is_relative_to(home) else str(path)


@dataclass(frozen=True)
class Draft:
    """A drafted plan. `notes` are what a reader must know of it: its head has them, and standard error.

    `variables` are the environment variables that the source has put into the plan. A reference to any other
    one comes from outside, and such a plan is refused.
    """

    plan: Section
    notes: tuple[Message, ...] = ()
    variables: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Source:
    """A kind of source: `names` are words that name it, `recognises` its files.

    `with_dsn` is the target whose DSN it can look at. `draft` raises DraftError, and TargetError of a server.
    """

    draft: Callable[[Origin], Draft]
    names: tuple[str, ...] = ()
    recognises: Callable[[Contents], bool] | None = None
    file_kind: str = ""
    with_dsn: str | None = None


@cache
def all_sources() -> Mapping[str, Source]:
    """All sources by the names of their modules."""
    modules = pkgutil.iter_modules(sources.__path__, f"{sources.__name__}.")
    return {module.name.rpartition(".")[2]: import_module(module.name).DRAFT for module in modules}


def names() -> list[str]:
    """All words that name a source."""
    return sorted(name for source in all_sources().values() for name in source.names)


def draft(origin: Origin) -> Draft:
    """The draft of the source that the call names. Raises DraftError, and TargetError of a server."""
    named = [source for source in all_sources().values() if origin.name in source.names]
    path = Path(origin.words[0])
    if named:
        source = named[0]
    else:
        origin, source = _of_file(origin, path)
    if origin.external_kind is not None and source.with_dsn != origin.external_kind:
        if source.with_dsn is None:
            with_dsn = [name for name, item in all_sources().items() if item.with_dsn is not None]
            raise DraftError(DRAFT_NO_DSN(source=origin.words[0], names=with_dsn))
        raise DraftError(DRAFT_DSN_KIND(source=origin.words[0], kind=origin.external_kind))
    return source.draft(origin)


def _of_file(origin: Origin, path: Path) -> tuple[Origin, Source]:
    """The call with the contents of its file, and the source that recognises them."""
    if not path.is_file():
        name = origin.words[0]
        if "/" in name or path.suffix:
            raise DraftError(DRAFT_NO_FILE(path=name))
        near = nearest(name, names())
        code = DRAFT_UNKNOWN_NEAR if near else DRAFT_UNKNOWN
        raise DraftError(code.pick(name=repr(name), near=near or "", names=names()))
    origin.without_more_words()
    contents = read_contents(path)
    for source in all_sources().values():
        if source.recognises is not None and source.recognises(contents):
            return (
                Origin(**{**vars(origin), "contents": contents}),
                source,
            )
    kinds = [source.file_kind for source in all_sources().values() if source.file_kind]
    raise DraftError(DRAFT_UNKNOWN_FILE(path=path, kinds=kinds))
