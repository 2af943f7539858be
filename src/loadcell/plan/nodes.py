"""A plan's text as a tree that remembers where each of its values was written.

Trees are never changed: `put` gives a new one that shares all but the path to what was put. A level of a
factor put into the tree brings its own mark along, so a mistake in a treatment points at the level that made
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadcell.plan.problems import Mark

#: a value that YAML's core schema knows
Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Scalar:
    """A single value, and how it was written."""

    mark: Mark
    value: Plain
    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    mark: Mark
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Entry:
    """One key of a mapping with what stands under it; `mark` is the key's.

    `implied` is a default of loadcell's that holds where it fits; what is put below makes it explicit.
    """

    mark: Mark
    node: Node
    implied: bool = False


@dataclass(frozen=True)
class Keys:
    """A mapping, in the order written."""

    mark: Mark
    entries: Mapping[str, Entry]

    def get(self, key: str) -> Node | None:
        """The node under `key`."""
        entry = self.entries.get(key)
        return entry.node if entry else None

    def mark_of(self, key: str) -> Mark:
        """The mark of `key`; that of the mapping where it has no such key."""
        entry = self.entries.get(key)
        return entry.mark if entry else self.mark

    def without(self, *keys: str) -> Keys:
        """All but `keys`."""
        return Keys(self.mark, {key: entry for key, entry in self.entries.items() if key not in keys})


Node = Scalar | Items | Keys


def plain(node: Node) -> Any:
    """The tree as plain values."""
    match node:
        case Scalar():
            return node.value
        case Items():
            return [plain(item) for item in node.nodes]
        case Keys():
            return {key: plain(entry.node) for key, entry in node.entries.items()}


def at(root: Node, keys: tuple[str, ...]) -> Node | None:
    """The node at a path of keys; None if there is none."""
    node: Node | None = root
    for key in keys:
        node = node.get(key) if isinstance(node, Keys) else None
    return node


def put(root: Node, keys: tuple[str, ...], value: Node) -> Node:
    """A tree like `root` with `value` at the path; mappings missing (or null) on the way are made."""
    if not keys:
        return value
    key, *subkeys = keys
    entries = dict(root.entries) if isinstance(root, Keys) else {}
    there = entries.get(key)
    below = there.node if there else Keys(value.mark, {})
    entries[key] = Entry(there.mark if there and subkeys else value.mark, put(below, tuple(subkeys), value))
    return Keys(root.mark, entries)


def scalars(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """Every single value with its path; a list's items carry the list's path."""
    match node:
        case Scalar():
            yield path, node
        case Items():
            for item in node.nodes:
                yield from scalars(item, path)
        case Keys():
            for key, entry in node.entries.items():
                yield from scalars(entry.node, (*path, key))
