"""An OpenAPI document (3.x, and Swagger 2.0): references, operations, and example values of schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from loadcell.drafting.draft import DraftError
from loadcell.drafting.http_parts import is_secret_member
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode

OPENAPI_UNRESOLVED = MessageCode("openapi.unresolved", reference=str, where=str)
OPENAPI_EXTERNAL = MessageCode("openapi.external", reference=str, where=str)
OPENAPI_SHAPE = MessageCode("openapi.shape", where=str)

READING, WRITING = ("get", "head"), ("post", "put", "patch", "delete")
#: Values of an example, and how deep they are: a request that people still read.
_MOST_VALUES, _DEEPEST = 200, 8
_MOST_PROPERTIES = 20
#: Characters of a value that is neither text nor number.
_LONGEST = 1000
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "12:00:00Z",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "email": "user@example.com",
    "uri": "https://example.com/",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "ZXhhbXBsZQ==",
}
_SIMPLE = (str, int, float, bool)


@dataclass(frozen=True)
class Operation:
    """An operation of a path; `parameters` and `body` are without references at their top."""

    method: str
    path: str
    name: str
    parameters: tuple[JsonObject, ...]
    body: JsonObject


class Document:
    """The document. Every method raises DraftError for what cannot be resolved."""

    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self.is_swagger = "swagger" in root

    def resolved(self, node: Any, where: str) -> JsonObject:
        """A mapping, or the one that it refers to; empty if references lead in a circle."""
        visited: set[str] = set()
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            reference = node["$ref"]
            if reference in visited:
                return {}
            visited.add(reference)
            node = self._target(reference, where)
        if node is None:
            return {}
        if not isinstance(node, dict):
            raise DraftError(OPENAPI_SHAPE(where=where))
        return node

    def _target(self, reference: str, where: str) -> Any:
        if not reference.startswith("#"):
            raise DraftError(OPENAPI_EXTERNAL(reference=repr(reference), where=where))
        node: Any = self.root
        for part in reference[1:].lstrip("/").split("/") if reference not in ("#", "#/") else ():
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, Mapping) and key.isdigit() and int(key) in node:
                node = node[int(key)]  # YAML reads the status 200 as a number
            elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                raise DraftError(OPENAPI_UNRESOLVED(reference=repr(reference), where=where))
        return node

    def operations(self) -> Iterator[Operation]:
        """All operations in the order of the document."""
        paths = self.resolved(self.root.get("paths"), "paths")
        for path, node in paths.items():
            where = f"paths.{path}"
            item = self.resolved(node, where)
            for method in (*READING, *WRITING):
                if method in item:
                    yield self._operation(method, str(path), item, f"{where}.{method}")

    def _operation(self, method: str, path: str, item: JsonObject, where: str) -> Operation:
        operation = self.resolved(item[method], where)
        parameters: dict[tuple[str, str], JsonObject] = {}
        for listed in (item.get("parameters"), operation.get("parameters")):
            for node in items(listed):
                parameter = self.resolved(node, f"{where}.parameters")
                parameters[(str(parameter.get("in")), str(parameter.get("name")))] = parameter
        return Operation(
            method,
            path,
            str(operation.get("operationId") or ""),
            tuple(parameters.values()),
            self._body(operation, tuple(parameters.values()), where),
        )

    def _body(self, operation: JsonObject, parameters: tuple[JsonObject, ...], where: str) -> JsonObject:
        """Content type -> media type with a schema."""
        if not self.is_swagger:
            body = self.resolved(operation.get("requestBody"), f"{where}.requestBody")
            return self.resolved(body.get("content"), f"{where}.requestBody.content")
        bodies = [parameter for parameter in parameters if parameter.get("in") == "body"]
        kinds = operation.get("consumes") or self.root.get("consumes") or ["application/json"]
        return {str(kinds[0]): bodies[0]} if bodies and isinstance(kinds, list) else {}

    def base(self) -> tuple[str, str] | None:
        """The address of the first server, and the beginning of all paths; None without an address."""
        if self.is_swagger:
            host, beginning = self.root.get("host"), str(self.root.get("basePath") or "").rstrip("/")
            schemes = self.root.get("schemes")
            return _address(f"{items(schemes)[0] if items(schemes) else 'https'}://{host}", beginning)
        servers = self.root.get("servers")
        server = self.resolved(servers[0], "servers") if isinstance(servers, list) and servers else {}
        url = str(server.get("url") or "")
        for name, variable in self.resolved(server.get("variables"), "servers.variables").items():
            default = self.resolved(variable, "servers.variables").get("default", "")
            url = url.replace(f"{{{name}}}", str(default))
        return _address(url)

    # -- examples

    def example(self, media: JsonObject, where: str) -> Any:
        """An example value of a parameter or media type."""
        if "example" in media:
            return _Plain().of(media["example"])
        examples = media.get("examples")
        if isinstance(examples, Mapping) and examples:
            first = self.resolved(next(iter(examples.values())), where)
            if "value" in first:
                return _Plain().of(first["value"])
        return _Examples(self).of(media.get("schema", media), where, 0, frozenset())


class _Examples:
    """Makes one example, of bounded size."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._count = 0
        self._plain = _Plain()

    def of(self, node: Any, where: str, depth: int, open_references: frozenset[str]) -> Any:
        """An example of a schema; None where it is part of itself, or too much."""
        self._count += 1
        if depth > _DEEPEST or self._count > _MOST_VALUES or not isinstance(node, Mapping):
            return None
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in open_references:
                return None
            open_references |= {reference}
        schema = self._document.resolved(node, where)
        for key in ("example", "const", "default"):
            if key in schema:
                return self._plain.of(schema[key])
        for key in ("examples", "enum"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self._plain.of(schema[key][0])
        parts = schema.get("allOf")
        if isinstance(parts, list) and parts:
            values: list[Any] = [self.of(part, where, depth + 1, open_references) for part in parts]
            values.append(self._object(schema, where, depth, open_references))
            merged: JsonObject = {}
            for value in values:
                merged |= value if isinstance(value, dict) else {}
            if merged:
                return merged
            return next((value for value in values if value not in (None, {})), None)
        for key in ("oneOf", "anyOf"):
            for part in items(schema.get(key)):
                if (value := self.of(part, where, depth + 1, open_references)) is not None:
                    return value
        return self._of_type(schema, where, depth, open_references)

    def _of_type(self, schema: JsonObject, where: str, depth: int, open_references: frozenset[str]) -> Any:
        kind: Any = schema.get("type")
        if isinstance(kind, list):
            kind = next((name for name in kind if name != "null"), "")
        if kind == "object" or "properties" in schema:
            return self._object(schema, where, depth, open_references)
        if kind == "array" or "items" in schema:
            item = self.of(schema.get("items"), where, depth + 1, open_references)
            return [] if item is None else [item]
        if kind in ("integer", "number"):
            low = schema.get("minimum")
            return low if isinstance(low, int | float) and not isinstance(low, bool) else 1
        if kind == "boolean":
            return True
        return _text(schema)

    def _object(
        self, schema: JsonObject, where: str, depth: int, open_references: frozenset[str]
    ) -> JsonObject:
        properties = self._document.resolved(schema.get("properties"), where)
        required = schema.get("required")
        names = [name for name in properties if isinstance(required, list) and name in required]
        value: JsonObject = {}
        for name in names or list(properties)[:_MOST_PROPERTIES]:
            node = properties[name]
            if isinstance(node, Mapping) and node.get("readOnly") is True:
                continue
            inner = self.of(node, f"{where}.{name}", depth + 1, open_references)
            if isinstance(inner, str) and is_secret_member(str(name)):
                inner = f"secret {name}"
            if inner is not None:
                value[str(name)] = inner
        return value


def items(node: Any) -> list[Any]:
    """The items of a list; of another value, none."""
    return node if isinstance(node, list) else []


def _address(url: str, beginning: str = "") -> tuple[str, str] | None:
    """The address of a URL, and the beginning of its paths; None of a relative or wrong one."""
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and (parts.port or 1) > 0
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    if not is_complete or not re.fullmatch(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?", host, re.ASCII):
        return None
    return f"{parts.scheme}://{host}", beginning or parts.path.rstrip("/")


def _text(schema: JsonObject) -> str:
    text = _FORMATS.get(str(schema.get("format")), "text")
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if isinstance(shortest, int) and len(text) < shortest <= 1000:
        text = text.ljust(shortest, "x")
    return text[:longest] if isinstance(longest, int) and longest > 0 else text


class _Plain:
    """Values of the document as JSON has them (YAML has dates, too), of bounded size together.

    Aliases of YAML make a small document a large value.
    """

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        """A value; None for what is too deep, or too much."""
        self._count += 1
        if depth > _DEEPEST or self._count > _MOST_VALUES:
            return None
        if isinstance(value, Mapping):
            members = list(value.items())[: _MOST_VALUES - self._count]
            return {str(key): self.of(inner, depth + 1) for key, inner in members}
        if isinstance(value, list):
            return [self.of(inner, depth + 1) for inner in value[:_MOST_PROPERTIES]]
        return value if value is None or isinstance(value, _SIMPLE) else str(value)[:_LONGEST]


def is_supported(root: JsonObject) -> bool:
    """True of the versions that are read."""
    return re.match(r"3\.", str(root.get("openapi", ""))) is not None or str(root.get("swagger")) == "2.0"
