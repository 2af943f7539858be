"""A flame graph as the page's script draws it: every name once, and the tree as nested lists."""

from __future__ import annotations

from typing import Any

from loadcell.analysis.flames import Node, kind, plain
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import Flame

#: Kinds of bars, in the order that the script knows them by; the outermost ones are processes.
KIND = Labels("kind", ("process", "user", "kernel", "jit", "unresolved"))


def drawn(flame: Flame) -> JsonObject:
    """`names` and `kinds` by number; `tree` is `[number, samples, [...]]`, calls in alphabetical order."""
    numbers: dict[tuple[str, str], int] = {}

    def listed(node: Node, kind: str) -> list[Any]:
        number = numbers.setdefault((plain(node.name), kind), len(numbers))
        return [number, node.samples, []]

    root = listed(flame.root, "process")
    waiting = [(flame.root, root)]
    while waiting:
        node, parent = waiting.pop()
        for name in sorted(node.below):
            below = node.below[name]
            made = listed(below, "process" if node is flame.root else kind(name))
            parent[2].append(made)
            waiting.append((below, made))
    return {
        "id": flame.id,
        "names": [name for name, _ in numbers],
        "kinds": [KIND.names.index(kind_of_number) for _, kind_of_number in numbers],
        "tree": root,
    }
