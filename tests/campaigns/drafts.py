"""Mutated recordings and descriptions of interfaces: `init` drafts a plan of each, or names its mistake."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

from campaigns.driver import call

CASES = 3_000

#: Nothing of a foreign file may bring it into a plan, whose run would send its value.
_REFERENCE = "${env:HOME}"
_PASSWORD = "sesame-17"
_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": "#/components/schemas/B"}}}
OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "x"},
    "servers": [{"url": "http://{h}/v1", "variables": {"h": {"default": "x.example"}}}],
    "security": [{"key": []}],
    "paths": {
        "/a/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "parameters": [{"name": "q", "in": "query", "required": True, "schema": {"enum": ["a"]}}]
            },
            "post": {"requestBody": {"content": {"application/json": {"schema": _SCHEMA}}}},
        }
    },
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "X-Key"}},
        "schemas": {"B": {"type": "array", "items": {"$ref": "#/components/schemas/B"}}},
    },
}


def _exchange(method: str, url: str, kind: str, answer: str, post: str | None = None) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": method, "url": url, "headers": [{"name": "X-Token", "value": "abc123def456"}],
    }  # fmt: skip
    if post is not None:
        request["postData"] = {"mimeType": "application/json", "text": post}
    headers = [{"name": "Set-Cookie", "value": "a=b; Path=/"}, {"name": "Location", "value": "/orders/7"}]
    content = {"mimeType": kind, "text": answer}
    return {
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 12.5, "request": request,
        "response": {"status": 200, "headers": headers, "content": content},
    }  # fmt: skip


HAR = {
    "log": {
        "entries": [
            _exchange("GET", "http://x.example/?a=1", "text/html", '<input name="csrf" value="q8kz0aPq77">'),
            _exchange(
                "POST", "http://x.example/login", "application/json", '{"token": "abc123def456", "id": 4711}',
                json.dumps({"user": "me", "password": _PASSWORD, "csrf": "q8kz0aPq77"}),
            ),
            _exchange("PUT", "http://x.example/orders/4711", "application/json", "[1]", '{"n": 4711}'),
        ]
    }
}  # fmt: skip
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 1e300, "", "x", "${a}", _REFERENCE, "a\nb", "\0", "\ud800", "é", "http://["),
    *(
        "http://u:p@h:99999/",
        "//",
        "?",
        "#",
        "password=x",
        "$ref",
        "#/x",
        [],
        {},
        [[]],
        {"a": {}},
        "A" * 5000,
    ),
    *(
        "query",
        "cookie",
        "application/json",
        "multipart/form-data; boundary=x",
        10**30,
        "token: abc",
        '{"password": 3}',
    ),
]


def case(random: Random, home: Path) -> None:
    """Mutate a document in one to five places, and draft its plan."""
    document = copy.deepcopy(random.choice((HAR, OPENAPI)))
    for _ in range(random.randint(1, 5)):
        _mutate(random, document)
    file = home / "source.json"
    file.write_text(json.dumps(document))
    result = call("init", file, *random.choice(((), ("--lang", "zh"))))
    assert result.exit_code in (0, 2), f"exit status {result.exit_code}"
    assert (result.exit_code == 0) == bool(result.stdout), "a plan, or a mistake"
    assert _REFERENCE not in result.stdout, "a reference of the source is in the plan"
    if '\\"password\\"' in file.read_text():
        assert _PASSWORD not in result.output, "a password is written"


def _mutate(random: Random, node: Any) -> None:
    """Change, remove or add a value somewhere in a document."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = random.choice(keys)
        inner = node[key]
        if isinstance(inner, dict | list) and inner and random.random() > 0.06:
            node = inner
            continue
        way = random.randrange(7)
        if way < 3:
            node[key] = copy.deepcopy(random.choice(ODD))
        elif way == 3:
            del node[key]
        elif way == 5 and isinstance(inner, str):
            node[key] = random.choice((inner + _REFERENCE, inner.replace('"token"', f'"{_REFERENCE}"')))
        elif way == 6 and isinstance(node, dict):
            node[key + _REFERENCE] = node.pop(key)
        elif isinstance(node, dict):
            node[random.choice(("$ref", "a b", "password", "x\n", _REFERENCE))] = random.choice(ODD)
        else:
            node.append(copy.deepcopy(random.choice(ODD)))
        return
