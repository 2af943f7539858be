"""Parts of drafted plans of HTTP: addresses, texts from outside, and the secrets in them."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from loadcell.drafting.contents import clean
from loadcell.drafting.databases import reference
from loadcell.drafting.draft import DraftError
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan import secret_patterns
from loadcell.plan.secret_patterns import is_secret_field
from loadcell.plan.secrets import holds_literal

ADDRESS_NO_URL = MessageCode("draft-url.no-url", url=str)
ADDRESS_INVALID = MessageCode("draft-url.invalid", url=str, reason=ForeignText)

#: Members of JSON and elements of XML in a body that is written as text.
_IN_TEXT = re.compile(
    r"""((?:\\{0,3}["'])?)(?P<name>[\w.-]{1,60})\1\s{0,5}[:=]\s{0,5}(\\{0,3}["'])"""
    r"""(?P<value>(?:(?!\3)(?:\\.|[^\\])){1,2000}?)\3"""
    r"""|<(?P<tag>[\w:.-]{1,60})(?:\s[^<>]{0,200})?>\s{0,20}"""
    r"""(?:<!\[CDATA\[(?P<data>(?:(?!\]\]>)[\s\S]){1,2000})|(?P<element>[^<>]{1,2000})</)"""
    r"""|(?:^|(?<=[&?;\s]))(?P<field>[\w.\[\]%-]{1,60})=(?P<word>[^&\s;"'<>]{1,2000})"""
)
#: A name and its value without quotes, as YAML and header fields have them: up to the end of the line, to the
#: next name or to a closing brace.
_LABEL = re.compile(r"""(?<![\w.-])(?P<label>[\w.-]{1,60})["']?\s{0,5}:[^\S\n]{0,5}(?=[^\s"'\\])""")
_LABELLED = re.compile(
    r"""[^\n"'<>]{1,2000}?(?=\s*(?:$|[\n"'<>}\]]|[,;&]\s*["']?[\w.-]{1,60}["']?\s*[:=]))"""
)
#: What JSON has without quotes.
_NO_SECRETS = ("true", "false", "null", "{", "[", "{}", "[]")
#: Shorter values are part of too many other texts.
_SHORTEST = 4
#: Stands for a dollar sign in front of a brace, which would begin a place.
DOLLAR = "dollar"
_SAFE = "!#$%&'()*+,/:;=?@[]~{}|^`\\"


def is_secret_member(name: str) -> bool:
    """True if the value of a field, parameter or member of this name is a secret."""
    words = (name, *re.findall(r"[^\[\].:]+", name))  # of `user[pin]`, and of `wsse:pin`
    return any(is_secret_field(word) for word in words)


class OutsideTexts:
    """Texts from outside on their way into a plan: secrets become variables, and `${` begins no place."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._moved: dict[str, None] = {}
        self._has_dollar = False

    def secret(self, name: str, value: str) -> str:
        """Reference to the variable that holds a secret."""
        if value in self._variables:
            return reference(self._variables[value])
        word = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_") or "SECRET"
        variable, number = f"LOADCELL_{word}"[:60], 2
        while variable in self._moved:
            variable, number = f"LOADCELL_{word}"[:57] + f"_{number}", number + 1
        self._variables[value] = variable
        self._moved[variable] = None
        return reference(variable)

    def value(self, name: str, value: str) -> str:
        """The value of a field: the variable of a secret, or the text."""
        return self.secret(name, value) if value and is_secret_member(name) else self.text(value)

    def encoded(self, name: str, value: str) -> str:
        """A value of a form or query. It and its name are percent-encoded, and so is the variable's value."""
        plain, key = unquote_plus(value), unquote_plus(name)
        if value and (is_secret_member(key) or (plain != value and self.hides(plain))):
            return self.secret(key, value)
        return self.text(value)

    def text(self, text: str) -> str:
        """A text without secrets that are known or can be seen in it."""
        text = clean(text)
        for start, end, name in self._secrets(text):
            self.secret(name, text[start:end])  # the same value may stand elsewhere in the text
        pieces: list[str] = []
        at = 0
        for start, end, name in self._secrets(text):
            pieces += [self._defused(text[at:start]), self.secret(name, text[start:end])]
            at = end
        written = "".join([*pieces, self._defused(text[at:])])
        return self.secret("secret", text) if holds_literal(written) else written

    def hides(self, text: str) -> bool:
        """True if a text has secrets."""
        return bool(self._secrets(text))

    def _secrets(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand in a text, in order and apart, each with a name."""
        spans: list[tuple[int, int, str]] = [*secret_patterns.issued(text), *secret_patterns.headers(text)]
        at = 0
        while match := _IN_TEXT.search(text, at):
            name = match["name"] or match["tag"] or match["field"]
            group = "value" if match["name"] else "word" if match["field"] else "element"
            group = "data" if match["data"] else group
            at = match.end()
            if is_secret_member(unquote(name)):
                spans.append((*match.span(group), name))
            else:
                at = match.start(group)  # a value may have names and values itself
        for match in _LABEL.finditer(text):
            labelled = _LABELLED.match(text, match.end()) if is_secret_member(match["label"]) else None
            if labelled is not None and labelled[0] not in _NO_SECRETS:
                spans.append((*labelled.span(), match["label"]))
        for value, variable in self._variables.items():
            if len(value) >= _SHORTEST:
                spans += [
                    (match.start(), match.end(), variable) for match in re.finditer(re.escape(value), text)
                ]
        apart: list[tuple[int, int, str]] = []
        for span in sorted(spans, key=lambda span: (span[0], -span[1])):
            if not apart or span[0] >= apart[-1][1]:
                apart.append(span)
        return apart

    def _defused(self, text: str) -> str:
        if "${" in text:
            self._has_dollar = True
        return text.replace("${", f"${{{DOLLAR}}}{{")

    @property
    def variables(self) -> frozenset[str]:
        """Variables that hold the secrets."""
        return frozenset(self._moved)

    @property
    def has_secrets(self) -> bool:
        """True if a text had a secret."""
        return bool(self._moved)

    def parameters(self) -> JsonObject:
        """Parameters that the texts need."""
        return {DOLLAR: {"values": ["$"]}} if self._has_dollar else {}


@dataclass(frozen=True)
class Address:
    """A URL: `base` is what a target has, `path` what a request has, `auth` its login, if there is one."""

    base: str
    path: str
    auth: JsonObject | None


def address_of(url: str, texts: OutsideTexts) -> Address:
    """The address of a URL. Raises DraftError for what is none of HTTP."""
    shown = re.sub(r"//[^/@]*@", "//...@", re.sub(r"[?#].*", "", url, flags=re.DOTALL))[:200]
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise DraftError(ADDRESS_INVALID(url=repr(shown), reason=error)) from None
    if parts.scheme not in ("http", "https") or not host:
        raise DraftError(ADDRESS_NO_URL(url=repr(shown)))
    where = f"[{host}]" if ":" in host else host
    auth = None
    if parts.username:
        auth = basic(unquote(parts.username), unquote(parts.password or ""), texts)
    base = f"{parts.scheme}://{where}" + (f":{port}" if port is not None else "")
    return Address(base, path_of(parts.path, parts.query, texts), auth)


def path_of(path: str, query: str, texts: OutsideTexts) -> str:
    """Path and query as a request has them."""
    written = texts.text(_encoded(path) or "/")
    if not query:
        return written
    pairs = (pair.partition("=") for pair in query.split("&"))
    return f"{written}?" + "&".join(
        f"{texts.text(_encoded(name))}{equals}{texts.encoded(name, _encoded(value))}"
        for name, equals, value in pairs
    )


def _encoded(text: str) -> str:
    """A part of a URL with everything percent-encoded that no request line can have."""
    return quote(clean(text), safe=_SAFE).replace("\\", "%5C").replace("`", "%60")


def basic(user: str, password: str, texts: OutsideTexts) -> JsonObject:
    """Credentials of the scheme Basic, as a plan has them."""
    return {"basic": {"user": texts.text(user) or "user", "password": texts.secret("password", password)}}


def authorization(value: str, texts: OutsideTexts) -> tuple[str, JsonObject | str]:
    """The setting for a header field `Authorization`: its key and value."""
    scheme, _, words = value.strip().partition(" ")
    if scheme.lower() == "bearer" and words:
        return "auth", {"bearer": texts.secret("token", words.strip())}
    if scheme.lower() == "basic" and words:
        try:
            user, colon, password = base64.b64decode(words.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            user = colon = password = ""
        if user and colon:
            return "auth", basic(user, password, texts)
    return "header", texts.secret("authorization", value)
