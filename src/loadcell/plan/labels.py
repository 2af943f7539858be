"""Labels of a run (`labels:`, `--label NAME=VALUE`), and facts that loadcell cannot see (`about:`).

Both are shown in lists and reports, so that neither may hold a secret, and both are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan.nodes import Keys, Node, Scalar, plain
from loadcell.plan.problems import INVALID, Mark, Problem, SettingError, shown
from loadcell.plan.secret_patterns import has_secret_word, holds_private_key, is_secret_name, spans
from loadcell.plan.secrets import REFERENCE

ALLOWED_LABELS = MessageCode("allowed.labels", example=str)
ALLOWED_LABEL_NAME = MessageCode("allowed.label-name", longest=Count)
ALLOWED_ABOUT_NAME = MessageCode("allowed.about-name", longest=Count)
ALLOWED_LABEL_VALUE = MessageCode("allowed.label-value", longest=Count)
ALLOWED_LABEL_OPTION = MessageCode("allowed.label-option")
LABEL_TOO_LONG = MessageCode("label.too-long", name=str, length=Count, longest=Count)
LABEL_SECRET = MessageCode("label.secret", name=str)
LABELS_TOO_MANY = MessageCode("label.too-many", count=Count, most=Count)

LABELS: Final = "labels"
ABOUT: Final = "about"
#: Characters of a value: a sentence or two. What is longer belongs into a file beside the plan.
LONGEST_VALUE = 1000
#: Names of one section: a table that a reader still takes in.
MOST = 64
#: Characters of a name of `about`, which heads a row of a table.
LONGEST_NAME = 64
#: As an option and a filter take it without quotes.
_LABEL_NAME = re.compile(rf"[^\W\d_][\w.-]{{0,{LONGEST_NAME - 1}}}")


@dataclass(frozen=True)
class _Section:
    """A section of a plan that maps names to texts."""

    key: str

    def allows(self, name: str) -> bool:
        """True for a name that may stand there."""
        if self.key == LABELS:
            return _LABEL_NAME.fullmatch(name) is not None
        return bool(name.strip()) and name.isprintable() and len(name) <= LONGEST_NAME

    def misnamed(self, name: str) -> Message:
        """The mistake in a name."""
        allowed = (
            ALLOWED_LABEL_NAME(longest=LONGEST_NAME)
            if self.key == LABELS
            else ALLOWED_ABOUT_NAME(longest=LONGEST_NAME)
        )
        return INVALID(value=shown(name), allowed=allowed)


def read(root: Keys, section: str, problems: list[Problem]) -> dict[str, str]:
    """The section `labels` or `about` of a plan: name to text as written.

    Mistakes are added to `problems`.
    """
    node = root.get(section)
    if node is None or plain(node) is None:
        return {}
    if not isinstance(node, Keys):
        message = INVALID(
            value=shown(plain(node)), allowed=ALLOWED_LABELS(example=f"{section}: {{storage: nvme}}")
        )
        problems.append(Problem(node.mark, section, message))
        return {}
    if len(node.entries) > MOST:
        message = LABELS_TOO_MANY(count=len(node.entries), most=MOST)
        problems.append(Problem(root.mark_of(section), section, message))
        return {}
    texts: dict[str, str] = {}
    for name, entry in node.entries.items():
        problem = _problem(_Section(section), name, entry.node)
        if problem is not None:
            path = f"{section}.{name}" if _Section(section).allows(name) else section
            problems.append(Problem(entry.mark, path, problem))
        else:
            assert isinstance(entry.node, Scalar)
            texts[name] = entry.node.text
    return texts


def _problem(section: _Section, name: str, node: Node) -> Message | None:
    if not section.allows(name):
        return section.misnamed(name)
    if not isinstance(node, Scalar) or node.value is None:
        return INVALID(value=shown(plain(node)), allowed=ALLOWED_LABEL_VALUE(longest=LONGEST_VALUE))
    return _unfit(name, node.text)


def _unfit(name: str, text: str) -> Message | None:
    """The mistake in a value: its length, its characters, or a secret. None for a good one."""
    if len(text) > LONGEST_VALUE:
        return LABEL_TOO_LONG(name=name, length=len(text), longest=LONGEST_VALUE)
    secret_name = has_secret_word(name) or is_secret_name(name)
    if secret_name or REFERENCE.search(text) or holds_private_key(text) or spans(text):
        return LABEL_SECRET(name=name)
    if not all(character.isprintable() or character == "\n" for character in text):
        return INVALID(value=shown(text), allowed=ALLOWED_LABEL_VALUE(longest=LONGEST_VALUE))
    return None


def of_options(texts: Iterable[str]) -> dict[str, str]:
    """Labels of the command line, `NAME=VALUE` or `NAME` alone, the last of a name. Raises SettingError."""
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not _Section(LABELS).allows(name):
            raise SettingError(INVALID(value=shown(name), allowed=ALLOWED_LABEL_OPTION()))
        if (problem := _unfit(name, value if equals else "")) is not None:
            raise SettingError(problem)
        labels[name] = value
    if len(labels) > MOST:
        raise SettingError(LABELS_TOO_MANY(count=len(labels), most=MOST))
    return labels


def problems_of_options(texts: Iterable[str]) -> Iterator[Problem]:
    """The mistake in labels of the command line, if there is one."""
    try:
        of_options(texts)
    except SettingError as error:
        yield error.at(Mark("--label"), "")


def holds(labels: Mapping[str, str], wanted: Mapping[str, str | None]) -> bool:
    """True if each label that is wanted is there, with its value if one is given."""
    return all(name in labels and (value is None or labels[name] == value) for name, value in wanted.items())
