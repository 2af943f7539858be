"""An OpenAPI document: its reading operations as a mix of requests, its writing ones commented out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from loadcell.drafting.bodies import body
from loadcell.drafting.contents import Contents, clean
from loadcell.drafting.databases import reference
from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import DOLLAR, OutsideTexts, path_of
from loadcell.drafting.openapi import READING, Document, Operation, is_supported, items
from loadcell.drafting.plan import load, plan
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode

OPENAPI_VERSION = MessageCode("openapi.version", path=str)
OPENAPI_NO_OPERATIONS = MessageCode("openapi.no-operations", path=str)
OPENAPI_NO_SERVER = MessageCode("openapi.no-server", "caution", url=str)
OPENAPI_TOO_MANY = MessageCode("openapi.too-many", "caution", count=Count, most=Count)
OPENAPI_ONLY_WRITING = MessageCode("openapi.only-writing", "caution")
OPENAPI_TITLE = MessageCode("openapi.title", "info", name=str)
OPENAPI_WRITING = MessageCode("openapi.writing", "caution")
OPENAPI_VALUES = MessageCode("openapi.values", "info", place=str)
OPENAPI_TARGET = MessageCode("openapi.target", "info")
OPENAPI_OPTIONAL = MessageCode("openapi.optional", "info", parameters=str)

_DEFAULT_URL = "http://127.0.0.1:8080"
#: Variables of the credentials that a document requires.
_USER, _PASSWORD, _TOKEN = "LOADCELL_USER", "LOADCELL_PASSWORD", "LOADCELL_TOKEN"
_MOST_OPERATIONS = 100
_READ_SHARE, _WRITE_SHARE = 10, 1
#: Numbers of identifiers for which the document has no bounds.
_HIGHEST = 100
#: Number of optional parameters that a comment names, and characters of each.
_MOST_OPTIONAL, _OPTIONAL_LENGTH = 12, 80
#: Names that results have for parts of requests.
_TAKEN = {"connect", "first_byte", "transaction", "request"}


def _of_query(operation: Operation, *, required: bool) -> list[JsonObject]:
    """Parameters in the query of an operation's requests."""
    return [
        parameter
        for parameter in operation.parameters
        if parameter.get("in") == "query"
        and bool(parameter.get("required")) is required
        and parameter.get("name")
    ]


def _recognises(contents: Contents) -> bool:
    return bool(contents.keys & {"openapi", "swagger"})


def _draft(origin: Origin) -> Draft:
    assert origin.contents is not None
    root = origin.contents.document
    if not is_supported(root):
        raise DraftError(OPENAPI_VERSION(path=origin.name))
    document = Document(root)
    operations = list(document.operations())
    if not operations:
        raise DraftError(OPENAPI_NO_OPERATIONS(path=origin.name))
    notes: list[Message] = []
    if len(operations) > _MOST_OPERATIONS:
        notes.append(OPENAPI_TOO_MANY(count=len(operations), most=_MOST_OPERATIONS))
        operations = sorted(operations, key=lambda operation: operation.method not in READING)
    has_reading = any(operation.method in READING for operation in operations)
    if not has_reading:
        notes.append(OPENAPI_ONLY_WRITING())
    address = document.base()
    if address is None:
        notes.append(OPENAPI_NO_SERVER(url=_DEFAULT_URL))
    url, beginning = address or (_DEFAULT_URL, "")
    requests = _Requests(document, beginning)
    for operation in operations[:_MOST_OPERATIONS]:
        requests.add(operation, active=operation.method in READING or not has_reading)
    target = Section()
    target.put("http", Section(url=url), OPENAPI_TARGET())
    title = document.resolved(root.get("info"), "info").get("title")
    name = " ".join(str(title).replace("${", "{").split()) if title else origin.name
    section = plan(OPENAPI_TITLE(name=name), target, Section(http=requests.section()), load({}))
    return Draft(section, tuple(notes), requests.variables)


class _Requests:
    """The workload: requests by name, and the values of their parameters."""

    def __init__(self, document: Document, beginning: str) -> None:
        self._document = document
        self._beginning = beginning
        self._texts = OutsideTexts()
        self._requests = Section()
        self._names = set(_TAKEN)
        self._values: dict[str, tuple[JsonObject, bool]] = {}
        self._has_writing = False
        self._key_of_query = ""

    def add(self, operation: Operation, *, active: bool) -> None:
        """Add a request, commented out unless it is active."""
        if not self._requests.entries:
            self._read_security()
        request = Section()
        if operation.method != "get":
            request.put("method", operation.method.upper())
        request.put("path", self._path(operation, active))
        headers = {
            self._texts.text(str(parameter["name"])): self._header(parameter)
            for parameter in operation.parameters
            if parameter.get("in") == "header"
            and parameter.get("required")
            and re.fullmatch(r"[!-9;-~]+", str(parameter.get("name")))
        }
        text, kind = self._body(operation)
        if text is not None:
            written = kind.strip() if kind.strip().isprintable() else "application/json"
            headers["Content-Type"] = self._texts.text(written)
        if headers:
            request.put("headers", headers)
        if text is not None:
            request.put("body", text)
        request.put("share", _READ_SHARE if operation.method in READING else _WRITE_SHARE)
        comments = [] if active or self._has_writing else [OPENAPI_WRITING()]
        self._has_writing |= not active
        if optional := self._optional(operation):
            comments.append(OPENAPI_OPTIONAL(parameters=optional))
        self._requests.put(self._name(operation), request, *comments, active=active)

    def section(self) -> Section:
        """The options of the workload."""
        section = self._credentials
        parameters = Section()
        for name, value in self._texts.parameters().items():
            parameters.put(name, value)
        for name, (values, active) in self._values.items():
            parameters.put(name, values, active=active)
        if parameters:
            section.put("parameters", parameters, OPENAPI_VALUES(place="${name}"))
        section.put("requests", self._requests)
        return section

    @property
    def variables(self) -> frozenset[str]:
        """Variables that the requests refer to."""
        return self._texts.variables | {_USER, _PASSWORD, _TOKEN}

    def _path(self, operation: Operation, active: bool) -> str:
        declared = {
            str(parameter.get("name")): parameter
            for parameter in operation.parameters
            if parameter.get("in") == "path"
        }
        pieces = re.split(r"\{([^{}]*)\}", operation.path)
        path = ""
        for index, piece in enumerate(pieces):
            if index % 2:
                path += f"${{{self._parameter(operation, declared.get(piece, {'name': piece}), active)}}}"
            elif piece:
                path += path_of(piece, "", self._texts)
        query = [
            f"{path_of(str(parameter['name']), '', self._texts)}="
            f"${{{self._parameter(operation, parameter, active)}}}"
            for parameter in _of_query(operation, required=True)
        ]
        query += [self._key_of_query] if self._key_of_query else []
        target = f"{path_of(self._beginning, '', self._texts) if self._beginning else ''}{path}"
        target = target if target.startswith("/") else f"/{target}"
        return f"{target}?{'&'.join(query)}" if query else target

    def _optional(self, operation: Operation) -> str:
        """The parameters that requests may have in their query, each with a value from the document."""
        examples = []
        for parameter in _of_query(operation, required=False)[:_MOST_OPTIONAL]:
            values = self._values_of(operation, parameter)
            listed = values.get("values") or [values["from"]]
            name = quote(clean(str(parameter["name"])), safe="[]")
            examples.append(f"{name}={quote(clean(str(listed[0])), safe='')}"[:_OPTIONAL_LENGTH])
        return ", ".join(examples)

    def _parameter(self, operation: Operation, parameter: JsonObject, active: bool) -> str:
        """The name of the place for a parameter; parameters with equal values share one."""
        values = self._values_of(operation, parameter)
        base = re.sub(r"[^A-Za-z0-9_]", "_", str(parameter.get("name")))[:24] or "value"
        base = base if base[0].isalpha() or base[0] == "_" else f"p_{base}"
        name, number = base, 2
        while name == DOLLAR or (name in self._values and self._values[name][0] != values):
            name, number = f"{base}_{number}", number + 1
        _, was_active = self._values.get(name, (values, False))
        self._values[name] = (values, active or was_active)
        return name

    def _values_of(self, operation: Operation, parameter: JsonObject) -> JsonObject:
        where = f"{operation.path}.{parameter.get('name')}"
        schema = self._document.resolved(parameter.get("schema", parameter), where)
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return {"values": [self._value(str(value)) for value in schema["enum"][:50]]}
        is_free = not {"example", "examples", "const", "default"} & {*schema, *parameter}
        if schema.get("type") == "integer" and is_free:
            low, high = schema.get("minimum"), schema.get("maximum")
            low = max(0, low) if isinstance(low, int) else 1
            return {"from": low, "to": high if isinstance(high, int) and high >= low else low + _HIGHEST - 1}
        example = self._document.example(parameter, where)
        value = example[0] if isinstance(example, list) and example else example
        text = (
            "1"
            if value is None
            else json.dumps(value)
            if isinstance(value, dict | list | bool)
            else str(value)
        )
        return {"values": [self._value(text)]}

    def _value(self, text: str) -> str:
        """A value of a parameter. It is no template, so that `${` in it cannot be written."""
        return "text" if "${" in text else self._texts.text(text)

    def _header(self, parameter: JsonObject) -> str:
        name = str(parameter["name"])
        example = self._document.example(parameter, name)
        return self._texts.value(name, "text" if example is None else str(example))

    def _body(self, operation: Operation) -> tuple[str | None, str]:
        """The body of a request and its content type, of JSON if there is one."""
        kinds = sorted(operation.body, key=lambda kind: "json" not in str(kind))
        for kind in kinds[:1]:
            where = f"{operation.path}.{operation.method}"
            example = self._document.example(self._document.resolved(operation.body[kind], where), where)
            if example is None:
                continue
            text = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
            if "urlencoded" in str(kind) and isinstance(example, dict):
                text = "&".join(f"{name}={value}" for name, value in example.items())
            return body(text, self._texts, str(kind)), str(kind)
        return None, ""

    def _name(self, operation: Operation) -> str:
        word = operation.name or f"{operation.method}_{operation.path}"
        word = re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") or operation.method
        base = (word if word[0].isalpha() else f"{operation.method}_{word}")[:28]
        name, number = base, 2
        while name in self._names:
            name, number = f"{base}_{number}", number + 1
        self._names.add(name)
        return name

    def _read_security(self) -> None:
        """Put the credentials of the first scheme that the document requires."""
        self._credentials = Section()
        root = self._document.root
        components = self._document.resolved(root.get("components"), "components")
        listed = (
            root.get("securityDefinitions")
            if self._document.is_swagger
            else components.get("securitySchemes")
        )
        schemes = self._document.resolved(listed, "securitySchemes")
        required = [
            name for item in items(root.get("security")) if isinstance(item, Mapping) for name in item
        ]
        for name in [*required, *schemes][:1]:
            scheme = self._document.resolved(schemes.get(name), f"securitySchemes.{name}")
            kind, inner = scheme.get("type"), str(scheme.get("scheme", "")).lower()
            key = str(scheme.get("name") or name)
            if kind == "apiKey":
                secret = self._texts.secret(key, f"key {key}")
                match scheme.get("in"):
                    case "query":
                        self._key_of_query = f"{quote(clean(key), safe='[]')}={secret}"
                    case "cookie":
                        self._credentials.put("headers", {"Cookie": f"{self._texts.text(key)}={secret}"})
                    case _:
                        self._credentials.put("headers", {self._texts.text(key): secret})
            elif kind == "basic" or (kind == "http" and inner == "basic"):
                user, password = reference(_USER), reference(_PASSWORD)
                self._credentials.put("auth", {"basic": {"user": user, "password": password}})
            elif kind in ("http", "oauth2", "openIdConnect"):
                self._credentials.put("auth", {"bearer": reference(_TOKEN)})


DRAFT = Source(_draft, recognises=_recognises, file_kind="OpenAPI")
