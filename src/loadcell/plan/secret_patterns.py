"""Patterns of secrets: names of settings and header fields, positions in texts, and forms of values.

The one definition for plans, files, labels, imported texts and drafts. Searches take time in proportion to
the text, however long its lines are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

#: Stands in the place of a secret, and tells a reader who removed it.
REDACTED: Final = "[redacted-by-loadcell]"

#: What names of secrets end with; values of header fields have a syntax of their own.
_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|requirepass|masterauth|rediscli_auth"
    r"|http_pass|s3[ _.-]?key|(?:api|access|secret|private|account)[ _.-]?key"
)
_ENDING = re.compile(rf"(?:{_NAMES}|authorization)$", re.IGNORECASE)
_WORD = re.compile(rf"(?<![A-Za-z0-9])(?:{_NAMES}|authorization)(?![A-Za-z0-9])", re.IGNORECASE)
#: Parts of names of header fields, form fields and options.
_PART = re.compile(
    rf"passw|(?:^|[-_])pass$|{_NAMES}|authorization|^(?:set-)?cookie$|^x-auth|^otp$|^pin$|^cv[vc]2?$"
    r"|card[-_]?number|sess(?:ion)?[-_]?id$|^sid$|^sig$|signature|security[-_]?code|^ssn$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """True if a setting or a column of this name holds a secret."""
    return _ENDING.search(name) is not None


def has_secret_word(name: str) -> bool:
    """True if a word of a label's name is that of a secret."""
    return _WORD.search(name) is not None


def is_secret_field(name: str) -> bool:
    """True if a header field, form field, parameter or option of this name holds a secret."""
    return _PART.search(name) is not None


#: What stands in the place of a value: a mask, a variable, a parameter, a type, or a word for none.
_PLACEHOLDER = re.compile(
    rf"{re.escape(REDACTED[:-1])}.*|\*+|x{{3,}}|X{{3,}}|\.{{3}}|\[|\?|-+"
    rf"|%s(?:\\n)?|%\(\w+\)s|:[A-Za-z_]\w*|<[^<>]+>|\$?\{{+[^{{}}]*\}}+"
    rf"|\$[A-Z_][A-Z0-9_]*|\$\d+|\$\(.*|\$\w*(?i:{_NAMES}|pass)"
    r"|STRING|PASSWORD|PASSWD|SECRET|TOKEN|TEXT|VALUE|(?i:null|none|nil|true|false|yes|no)"
)


def is_placeholder(value: str) -> bool:
    """True if a value only stands in the place of a secret."""
    return _PLACEHOLDER.fullmatch(value) is not None


#: Longest secret in characters; without bounds a search takes quadratic time in long texts.
MOST_OF_SECRET: Final = 1000
_MOST = f"{{1,{MOST_OF_SECRET}}}"
#: A value in quotes, or up to a space: separators are part of it unless another setting or the end follows.
_VALUE = (
    rf"(?:\"(?P<double>(?:\\.|[^\"\\\r\n]){_MOST})\"|'(?P<single>(?:\\.|[^'\\\r\n]){_MOST})'"
    rf"|(?P<plain>(?:\\[ ]|\$?\{{{{1,2}}[\w.: -]{{1,100}}\}}{{1,2}}|[^\s\"'<&,;)\]}}]"
    rf"|[\"'](?![\s,;:)\]}}>]|\Z)|<(?!/)"
    rf"|[&,;)\]}}](?![\w.-]{{1,40}}=)(?!\s|\"|'|\Z)){_MOST}))"
)
_ASSIGNED = r"[\"']?\]?[ \t]{0,9}(?:=>|:=|[=:])[ \t]{0,9}"
_SETTING = re.compile(
    rf"(?<![A-Za-z])(?:identified[ \t]{{1,9}}by|password)[ \t]{{1,9}}(?=')(?:{_VALUE})"
    rf"|(?P<name>{_NAMES})(?![\w.-])(?:{_ASSIGNED}|(?P<space>[ \t]{{1,9}}))",
    re.IGNORECASE,
)
_SETTING_VALUE = re.compile(_VALUE)
_BEFORE_NAME = re.compile(r"[\w.-]{0,40}\Z")
#: Settings whose values stand behind a space: options, and lines of Redis' configuration.
_SPACED = re.compile(r"--?[\w.-]*|requirepass|masterauth", re.IGNORECASE)
_DIRECTORIES = ("PWD", "OLDPWD")
#: Header fields, whose values reach to the end of the line or the quotation.
_HEADER = re.compile(
    r"(?P<name>authorization|(?<![\w-])x-auth[\w-]{0,40}"
    r"|(?<![\w-])(?:set-)?cookie(?=[\"']?\]?[ \t]{0,9}[=:][ \t]{0,9}[\"']?[^\s=:;\"']{1,100}=))"
    rf"{_ASSIGNED}(?P<quote>[\"'])?(?:(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)[ \t]+)?",
    re.IGNORECASE,
)
_IN_HEADER = re.compile(r"(?:\\.|[^\\\r\n])+")
#: Password of a URL: up to the last `@` before the path, or up to an `@` where it has a slash and no port.
_IN_URL = re.compile(
    r"://[^/:\s\"'<>]{0,100}:(?P<url>[^\s/?#\"'<>]{1,256}|(?!\d{1,5}[/?#])[^\s@\"'<>]{1,256})@"
)
#: As issuers write them: GitHub, GitLab, Slack, AWS, Stripe, others with `sk-`, a JSON Web Token, and values
#: of the field Authorization.
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<token>gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}"
    r"|xox[abeprs]-[\w-]{10,255}|(?:AKIA|ASIA)[A-Z0-9]{16}|[sr]k_(?:live|test)_[A-Za-z0-9]{8,255}"
    r"|sk-[A-Za-z0-9_-]{16,255}|eyJ[\w-]{8,4000}\.[\w-]{8,4000}\.?[\w-]{0,4000}"
    r"|(?<=Bearer )(?=[^\s\"']{0,99}[0-9=._])[A-Za-z0-9+/=._~-]{8,4000}"
    r"|(?<=Basic )(?=[^\s\"']{0,99}[0-9=])[A-Za-z0-9+/]{8,4000}={0,2})"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,9}"
    r"(?:-----)?(?P<key>(?:(?:Proc-Type|DEK-Info)[^\n]{0,200}|[A-Za-z0-9+/=\\\s>]){0,20000})"
)
#: In lower case: one of these stands in each line with a secret.
_SIGNS = (
    "://", "passw", "passphrase", "passcode", "pwd", "secret", "token", "authorization", "identified",
    "credential", "requirepass", "masterauth", "rediscli_auth", "http_pass", "apikey", "accesskey",
    "privatekey", "accountkey", "s3key", "_key", "-key", "api key", "access key",
    "secret key", "private key", "cookie", "x-auth", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "glpat-", "xox", "akia", "asia", "k_live_", "k_test_", "sk-", "eyj", "bearer ", "basic ",
)  # fmt: skip
#: Characters before and behind a sign in which patterns are tried.
_BEFORE, _STEP = 200, 2000
_BEHIND = 8 * MOST_OF_SECRET


class Span(NamedTuple):
    """Place of a secret in a text, and the name of the setting or field."""

    begin: int
    end: int
    name: str


def spans(text: str) -> list[Span]:
    """Places of all secrets in a text, in order and apart."""
    positions = [
        Span(*match.span("key"), "private_key")
        for match in _PRIVATE_KEY.finditer(text)
        if match["key"].strip()
    ]
    for begin, end in _merged(_windows(text.lower())):
        positions += _settings(text, begin, end)
        positions += headers(text, begin, end)
        positions += login_passwords(text, begin, end)
        positions += issued(text, begin, end)
    return apart(positions)


def apart(positions: Iterable[Span]) -> list[Span]:
    """Places in order, those joined that overlap."""
    joined: list[Span] = []
    for position in sorted(set(positions)):
        if joined and position.begin < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(position.end, joined[-1].end))
        else:
            joined.append(position)
    return joined


def without_secrets(text: str) -> str:
    """The text with `REDACTED` in the place of each secret that is recognised in it."""
    return cut_out(text, spans(text))


def cut_out(text: str, positions: list[Span]) -> str:
    """The text with `REDACTED` in these positions, which are in order and apart."""
    parts, at = [], 0
    for position in positions:
        parts += [text[at : position.begin], REDACTED]
        at = position.end
    return "".join([*parts, text[at:]])


def _settings(text: str, begin: int, end: int) -> Iterator[Span]:
    at = begin
    while match := _SETTING.search(text, at, end):
        at = match.end()
        name = match["name"]
        if name is not None:
            before = _BEFORE_NAME.search(text, max(begin, match.start() - 40), match.start())
            name = (before[0] if before else "") + name
            value = _SETTING_VALUE.match(text, match.end(), end)
            if value is None or (match["space"] and not _is_spaced(name, value[0])):
                continue
        else:
            value = match
        group = value.lastgroup or ""
        at = max(at, value.end())
        if not is_placeholder(value[group]) and not _is_directory(name, value[group]):
            yield Span(*value.span(group), name or "password")


def _is_spaced(name: str, value: str) -> bool:
    return _SPACED.fullmatch(name) is not None and not value.startswith("-")


def _is_directory(name: str | None, value: str) -> bool:
    return name in _DIRECTORIES and value.startswith("/")


def headers(text: str, begin: int = 0, end: int | None = None) -> Iterator[Span]:
    """Places of the values of header fields that log in, without the scheme."""
    end = len(text) if end is None else end
    at = begin
    while match := _HEADER.search(text, at, end):
        start = at = match.end()
        before = text[match.start() - 1 : match.start()]
        quote = match["quote"]
        if quote is None and before in ("'", '"') and not match[0][len(match["name"]) :].startswith(before):
            quote = before
        elif quote is None and text.count('"', max(begin, match.start() - _BEFORE), match.start()) % 2:
            quote = '"'
        value = (_IN_HEADER if quote is None else _quoted(quote)).match(text, start, end)
        at = value.end() if value else at
        stripped = value[0].rstrip() if value else ""
        if stripped and not is_placeholder(stripped):
            yield Span(start, start + len(stripped), match["name"].lower())


def _merged(windows: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Windows in order and apart, so that each part of a text is searched once."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _quoted(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?:\\.|[^{quote}\\\r\n])+")


def login_passwords(text: str, begin: int = 0, end: int | None = None) -> Iterator[Span]:
    """Places of passwords in URLs."""
    for match in _IN_URL.finditer(text, begin, len(text) if end is None else end):
        if not is_placeholder(match["url"]):
            yield Span(*match.span("url"), "password")


def issued(text: str, begin: int = 0, end: int | None = None) -> Iterator[Span]:
    """Places of values that look like secrets whatever their names are."""
    for match in _ISSUED.finditer(text, begin, len(text) if end is None else end):
        yield Span(*match.span("token"), "token")


def holds_private_key(text: str) -> bool:
    """True if a private key in PEM begins in the text."""
    return _PRIVATE_KEY.search(text) is not None


def _windows(lower: str) -> Iterator[tuple[int, int]]:
    """Parts of lines around signs of secrets, each with the whole secret."""
    for sign in _SIGNS:
        at = lower.find(sign)
        while at >= 0:
            begin = max(lower.rfind("\n", max(0, at - _BEFORE), at) + 1, at - _BEFORE, 0)
            line_end = lower.find("\n", at, at + _BEHIND)
            end = line_end if line_end >= 0 else min(len(lower), at + _BEHIND)
            yield begin, end
            at = lower.find(sign, max(at + len(sign), min(end, at + _STEP)))
